package workspace_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

func patchText(manager string) string {
	return "manager: " + manager + "\ntrainingRuntimeSpec: {template: {metadata: {labels: {from: " +
		manager[:1] + "}}}}\n"
}

// ruled has two TrainJobs under one policy, and one under another.
func ruled() fstest.MapFS {
	files := fstest.MapFS{
		"trainweld.yaml": {
			Data: []byte("patches: [{file: p/a.yaml}, {file: p/b.yaml, for: {names: [b*]}}]\n")},
		"p/a.yaml":  {Data: []byte(patchText("a.example.com/a"))},
		"p/b.yaml":  {Data: []byte(patchText("b.example.com/b"))},
		"flag.yaml": {Data: []byte(patchText("f.example.com/f"))},
		"c/c.yaml":  {Data: []byte(strings.Replace(plainJob, "NAME", "c", 1))},
		"c/trainweld.yaml": {
			Data: []byte(
				"managers: [{name: f.example.com/f}, {name: z.example.com/z, required: true}]\n" +
					"severities: {TW400: error, TW230: note, TW541: off}\n")},
	}
	for _, name := range []string{"a", "b"} {
		files["jobs/"+name+".yaml"] = &fstest.MapFile{
			Data: []byte(strings.Replace(plainJob, "NAME", name, 1))}
	}
	return files
}

func managersOf(in *workspace.Input, j workspace.Job) []string {
	var names []string
	for _, p := range in.PatchesFor(j) {
		names = append(names, p.Manager)
	}
	return names
}

// TestPatchesFor wants the patches of the TrainJob's policy, then the patches of the flag, from
// many goroutines at once.
func TestPatchesFor(t *testing.T) {
	in := workspace.Read(source(ruled()),
		workspace.Flags{Files: []string{"jobs", "c"}, Patches: []string{"flag.yaml"}})
	want := map[string][]string{
		"a": {"a.example.com/a", "f.example.com/f"},
		"b": {"a.example.com/a", "b.example.com/b", "f.example.com/f"}, "c": {"f.example.com/f"},
	}
	var wg sync.WaitGroup
	for range 8 {
		for _, j := range in.Jobs {
			wg.Go(func() {
				if got := managersOf(in, j); !slices.Equal(got, want[j.Name]) {
					t.Errorf("PatchesFor(%s) = %q, want %q", j.Name, got, want[j.Name])
				}
			})
		}
	}
	wg.Wait()
	if got, all := in.Managers(),
		[]string{"a.example.com/a", "b.example.com/b", "f.example.com/f"}; !slices.Equal(got, all) {
		t.Errorf("Managers() = %q, want %q", got, all)
	}
	one := workspace.Read(source(ruled()),
		workspace.Flags{Files: []string{"jobs", "c"}, Policy: "c/trainweld.yaml"})
	for _, j := range one.Jobs {
		if got := managersOf(one, j); got != nil {
			t.Errorf("PatchesFor(%s) = %q, want none: the flag names a policy without patches",
				j.Name, got)
		}
	}
}

// TestLocate_Policy wants the position of a patch of the policy, and the severities of the
// TrainJob's own policy.
func TestLocate_Policy(t *testing.T) {
	for _, advisory := range []bool{false, true} {
		in := workspace.Read(source(ruled()),
			workspace.Flags{Files: []string{"jobs", "c"}, Patches: []string{"flag.yaml"},
				Advisory: advisory})
		b, c := in.Jobs[1], in.Jobs[2]
		label := fieldpath.Fields("metadata", "labels").Append(fieldpath.Key("from"))
		found := in.Locate(b, finding.List{
			{Code: codes.IdlePatch, Severity: finding.Warning,
				Object: fieldpath.Object{Kind: trainer.TrainJobKind},
				Path:   runtimepatch.PatchPath("b.example.com/b").Append(label...)},
			{Code: codes.IdlePatch, Severity: finding.Warning,
				Object: fieldpath.Object{Kind: trainer.TrainJobKind},
				Path: fieldpath.Fields("spec", "runtimePatches").Append(fieldpath.Index(0),
					fieldpath.Field("manager"))},
		})
		for i, want := range []string{"p/b.yaml:2:54", "p/a.yaml:1:1"} {
			if got := found[i].Position.String(); got != want {
				t.Errorf("the position is %s, want %s", got, want)
			}
		}
		found = in.Locate(
			c, append(in.ReleaseFindings(c, render.Fail),
				finding.Finding{Code: codes.IdlePatch, Severity: finding.Warning},
				finding.Finding{Code: codes.NoRuntime, Severity: finding.Note}))
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprintf("%s %s", f.Code, f.Severity))
		}
		// the first one is the note on the runtime
		want := []string{"TW400 error", "TW233 error", "TW400 error"}
		if advisory {
			want = []string{"TW400 warning", "TW233 warning", "TW400 warning"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("advisory %t: found %q, want %q", advisory, got, want)
		}
	}
}
