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
		name   string
		steady bool
		want   []string
	}{
		{"command", false, []string{
			"Duplicate value: TrainingRuntime default/r; the other one is at in/a.yaml:3:12",
			"Duplicate value: TrainJob default/j; the other one is at in/a.yaml:8:12",
		}},
		{"recorded", true, []string{
			"Duplicate value: TrainingRuntime default/r; the other one is at a.yaml",
			"Duplicate value: TrainJob default/j; the other one is at a.yaml",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := workspace.New(workspace.Flags{Steady: tc.steady})
			for _, d := range in.ReadDocuments(files, []string{"in/a.yaml", "in/b.yaml"}) {
				in.Add(d, true)
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
			if s := in.SourceOf(in.Jobs[0]); len(in.Jobs) != 1 || s == nil ||
				s.Document.File != "in/a.yaml" {
				t.Errorf("%d TrainJobs, the runtime is %v, want that of a.yaml", len(in.Jobs), s)
			}
		})
	}
}
