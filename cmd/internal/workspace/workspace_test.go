package workspace_test

import (
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/render/codes"
)

// source gives files without a machine.
type source fstest.MapFS

func (s source) Inputs() (fs.FS, io.Reader) { return fstest.MapFS(s), strings.NewReader("") }

const (
	runtimeText = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: " +
		"{name: r}\nspec: {template: {spec: {}}}\n"
	jobText = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " +
		"j}\nspec: {runtimeRef: {kind: TrainingRuntime, name: r}}\n"
)

// TestDuplicates wants a finding on the second object of a name, with the place of the first one. A
// recorded message names that place without folder and line.
func TestDuplicates(t *testing.T) {
	files := source{}
	for _, name := range []string{"in/a.yaml", "in/b.yaml"} {
		files[name] = &fstest.MapFile{Data: []byte(runtimeText + "---\n" + jobText)}
	}
	for _, tc := range []struct {
		name         string
		steady, last bool
		want         []string
	}{
		{"command", false, false, []string{
			"duplicate object: TrainingRuntime default/r; the other one is at in/a.yaml:3:12",
			"duplicate object: TrainJob default/j; the other one is at in/a.yaml:8:12",
		}},
		{"recorded", true, false, []string{
			"duplicate object: TrainingRuntime default/r; the other one is at a.yaml",
			"duplicate object: TrainJob default/j; the other one is at a.yaml",
		}},
		{"last text counts", false, true, []string{
			"duplicate object: TrainJob default/j; the other one is at in/a.yaml:8:12",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := workspace.New(workspace.Flags{Steady: tc.steady})
			for _, d := range in.ReadDocuments(files, []string{"in/a.yaml", "in/b.yaml"}) {
				if tc.last && workspace.IsRuntime(d.ID) {
					in.AddText(d, true)
				} else {
					in.Add(d, true)
				}
			}
			var got []string
			for _, f := range in.Findings {
				if f.Code != codes.DuplicateObject || f.Position.File != "in/b.yaml" {
					t.Errorf("found %s %s, want a duplicate in b.yaml", f.Code, f.Position)
				}
				got = append(got, f.Message)
			}
			if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
			at := "in/a.yaml"
			if tc.last {
				at = "in/b.yaml"
			}
			if s := in.SourceOf(in.Jobs[0]); len(in.Jobs) != 1 || s == nil ||
				s.Document.File != at {
				t.Errorf("%d TrainJobs, the runtime is %v, want the runtime of %s", len(in.Jobs),
					s, at)
			}
		})
	}
}

// TestRuntimeOf wants a finding on a missing runtime. A broken runtime has findings of its own, and
// gets no other.
func TestRuntimeOf(t *testing.T) {
	for _, tc := range []struct {
		name, runtime    string
		found, isMissing bool
	}{
		{"there", runtimeText, true, false},
		{"missing", strings.Replace(runtimeText, "name: r", "name: s", 1), false, true},
		{"broken", strings.Replace(runtimeText, "spec: {}", "spec: []", 1), false, false},
	} {
		in := workspace.Read(source{"in.yaml": {Data: []byte(tc.runtime + "---\n" + jobText)}},
			workspace.Flags{Files: []string{"in.yaml"}})
		spec, missing := in.RuntimeOf(in.Jobs[0])
		if (spec != nil) != tc.found || (missing != nil) != tc.isMissing {
			t.Errorf("%s: got %v, %v", tc.name, spec, missing)
		}
	}
}

// TestLayers wants a TrainJob of today to have no layers at all, and one of Trainer 2.1 to have
// some.
func TestLayers(t *testing.T) {
	for text, want := range map[string]bool{
		jobText: false, jobText[:len(jobText)-2] + ", labels: {a: b}}\n": true} {
		in := workspace.Read(source{"in.yaml": {Data: []byte(text)}},
			workspace.Flags{Files: []string{"in.yaml"}})
		if layers := in.Jobs[0].Layers(); (layers != nil) != want {
			t.Errorf("%s has the layers %v", text, layers)
		}
	}
}
