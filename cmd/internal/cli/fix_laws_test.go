package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/diff"
	"github.com/trainweld/trainweld/render/fuzz"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestFix_Laws repairs the conflicts of random TrainJobs. No conflict of a preferred manager remains. The merged template differs only
// at or below the fields of the conflicts. A conflict hid each new finding. A second run changes nothing.
func TestFix_Laws(t *testing.T) {
	t.Parallel()
	cases, seed := testenv.Cases(t, 800), testenv.Seed(t)
	repaired := map[string]int{}
	for n := range cases {
		f := &fixCase{t: t, dir: t.TempDir(), rng: rand.New(rand.NewPCG(seed, n))}
		f.write(seed<<32 + n)
		if broken := f.laws(repaired); broken != "" {
			t.Fatalf("case %d: %s: %s\n%s", n, strings.Join(f.flags, " "), broken, f.diff())
		}
	}
	t.Logf("repaired: %v", repaired)
	if repaired["prefer"] < int(cases)/10 || repaired["union"] == 0 {
		t.Errorf("repaired %v of %d cases: the generator no longer tests it", repaired, cases)
	}
}

// fixCase is a random TrainJob in files, and the flags that repair it.
type fixCase struct {
	t        *testing.T
	dir      string
	rng      *rand.Rand
	managers []string
	before   map[string]string
	flags    []string
}

// write writes the TrainJob, its runtime, and some of its patches in a file of their own.
func (f *fixCase) write(seed uint64) {
	pair := fuzz.Render(seed, fuzz.PairOptions{Managers: 2})
	job := pair.TrainJob
	for _, p := range job.Spec.RuntimePatches {
		f.managers = append(f.managers, p.Manager)
	}
	f.rng.Shuffle(len(f.managers), func(i, j int) { f.managers[i], f.managers[j] = f.managers[j], f.managers[i] })
	own := len(job.Spec.RuntimePatches)
	if f.rng.IntN(3) == 0 {
		own = f.rng.IntN(own + 1)
	}
	var patches bytes.Buffer
	for i, p := range job.Spec.RuntimePatches[own:] {
		if i > 0 {
			patches.WriteString("---\n")
		}
		f.encode(&patches, manifest.YAML, &p)
	}
	job.Spec.RuntimePatches = job.Spec.RuntimePatches[:own]
	format := manifest.YAML
	if f.rng.IntN(4) == 0 {
		format = manifest.JSON
	}
	for name, object := range map[string]any{"job.yaml": job, "runtime.yaml": pair.Runtime} {
		var b bytes.Buffer
		f.encode(&b, format, object)
		testenv.WriteIn(f.t, f.dir, name, b.String())
	}
	if patches.Len() > 0 {
		testenv.WriteIn(f.t, f.dir, "patches.yaml", patches.String())
	}
	f.before = testenv.Tree(f.t, f.dir)
}

func (f *fixCase) encode(b *bytes.Buffer, format manifest.Format, object any) {
	if err := manifest.Encode(b, format, object); err != nil {
		f.t.Fatal(err)
	}
}

// diff shows the changes of the repair.
func (f *fixCase) diff() string { return cmp.Diff(f.before, testenv.Tree(f.t, f.dir)) }

// fixFinding is a finding of a report.
type fixFinding struct {
	Code, Path, Message, Object string
	Claims                      []struct {
		Layer string
		Value any
	}
}

// run runs a command on the files, and returns its findings.
func (f *fixCase) run(command string, flags ...string) ([]fixFinding, string) {
	f.t.Helper()
	args := append([]string{command, filepath.Join(f.dir, "job.yaml"), "-r", filepath.Join(f.dir, "runtime.yaml"), "-o", "json", "--show-values"}, flags...)
	if file := filepath.Join(f.dir, "patches.yaml"); f.before["patches.yaml"] != "" {
		args = append(args, "--patch", file)
	}
	var stdout, stderr bytes.Buffer
	p := host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: host.Files{}}
	root := Root(&p, args)
	root.SetArgs(args)
	if err := root.Execute(); err != nil && !errors.Is(err, exit.Status(exit.Findings)) {
		f.t.Fatalf("%q: %v\n%s", args, err, stderr.String())
	}
	var report struct{ Findings []fixFinding }
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		f.t.Fatalf("%q: %v\n%s%s", args, err, stdout.String(), stderr.String())
	}
	return report.Findings, stderr.String()
}

// template merges all patches of the files in their order.
func (f *fixCase) template() *trainer.JobSetTemplateSpec {
	f.t.Helper()
	var runtime *trainer.ClusterTrainingRuntime
	var patches []trainer.RuntimePatch
	for _, name := range []string{"runtime.yaml", "job.yaml"} {
		documents, found := manifest.Decode(name, f.read(name))
		if found.Err() != nil {
			f.t.Fatalf("%v\n%s", found, f.diff())
		}
		switch o := documents[0].Object.(type) {
		case *trainer.ClusterTrainingRuntime:
			runtime = o
		case *trainer.TrainJob:
			patches = o.Spec.RuntimePatches
		}
	}
	if f.before["patches.yaml"] != "" {
		further, found := manifest.DecodePatches("patches.yaml", f.read("patches.yaml"))
		if found.Err() != nil {
			f.t.Fatalf("%v\n%s", found, f.diff())
		}
		for _, p := range further {
			patches = append(patches, p.Patch)
		}
	}
	merged, err := runtimepatch.Apply(&runtime.Spec.Template, patches, runtimepatch.Options{})
	if err != nil {
		f.t.Fatalf("%v\n%s", err, f.diff())
	}
	return &merged.Template
}

func (f *fixCase) read(name string) []byte {
	data, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		f.t.Fatal(err)
	}
	return data
}

// laws repairs the files, and returns the law that the repair breaks.
func (f *fixCase) laws(repaired map[string]int) string {
	conflicts, _ := f.run("conflicts")
	if !slices.ContainsFunc(conflicts, isConflict) {
		return ""
	}
	mode := "prefer"
	f.flags = []string{"--fix"}
	isList := func(c fixFinding) bool {
		return strings.HasSuffix(c.Path, ".tolerations") || strings.Contains(c.Path, "ffinity.")
	}
	if f.rng.IntN(4) < 3 && slices.ContainsFunc(conflicts, isList) {
		mode, f.flags = "union", []string{"--fix=union"}
	} else {
		for _, name := range f.managers[:1+f.rng.IntN(len(f.managers))] {
			f.flags = append(f.flags, "--prefer", name)
		}
	}
	checked, _ := f.run("check", "--on-conflict=last", "--show-notes")
	template := f.template()
	left, summary := f.run("conflicts", f.flags...)
	if strings.HasPrefix(summary, "repaired nothing") {
		if mode == "prefer" && slices.ContainsFunc(left, f.isPreferred) && !slices.ContainsFunc(left, isRejection) {
			return "nothing is repaired, and nothing refused"
		}
		return ""
	}
	repaired[mode]++
	again, summary := f.run("conflicts", f.flags...)
	if !strings.HasPrefix(summary, "repaired nothing") || len(again) != len(left) {
		return "a second run changes something: " + summary
	}
	for _, c := range left {
		if mode == "prefer" && f.isPreferred(c) && !slices.ContainsFunc(left, isRejection) {
			return fmt.Sprintf("%s on %s is left", c.Code, c.Path)
		}
	}
	if broken := f.differsElsewhere(template, conflicts); broken != "" {
		return broken
	}
	return f.isNew(checked, conflicts)
}

// differsElsewhere names a field of the merged template that differs although no conflict is on it or above it.
func (f *fixCase) differsElsewhere(before *trainer.JobSetTemplateSpec, conflicts []fixFinding) string {
	asJobSet := func(t *trainer.JobSetTemplateSpec) *jobset.JobSet {
		return &jobset.JobSet{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
	}
	changes, err := diff.Compare(asJobSet(before), asJobSet(f.template()), diff.Options{})
	if err != nil {
		return err.Error()
	}
	for _, change := range changes {
		if change.Kind == diff.Moved && !hasOrder(change.Path) {
			continue // a patch that names an item also places it, and these items have no order
		}
		if !slices.ContainsFunc(conflicts, func(c fixFinding) bool {
			path, err := fieldpath.ParsePath(c.Path)
			if last := len(path) - 1; err == nil && path[last] == fieldpath.Field("type") {
				path = path[:last] // the choice of a union's member hides a conflict on the members
			}
			return err == nil && change.Path.HasPrefix(path)
		}) {
			return fmt.Sprintf("%s differs, which no conflict names\n%v -> %v\n%v", change.Path, change.Old, change.New, conflicts)
		}
	}
	return ""
}

// hasOrder reports whether an item is in a list whose order carries meaning.
func hasOrder(path fieldpath.Path) bool {
	return len(path) > 1 && slices.Contains([]fieldpath.Step{fieldpath.Field("env"), fieldpath.Field("initContainers")}, path[len(path)-2])
}

// isNew names a finding that the repair causes. A conflict may hide another conflict on one of its fields, and a patch that does
// nothing. It may also hide findings on a controller's objects with the preferred value.
func (f *fixCase) isNew(before, conflicts []fixFinding) string {
	known := map[[2]string]bool{}
	for _, one := range before {
		known[[2]string{one.Code, one.Path}] = true
	}
	after, _ := f.run("check", "--on-conflict=last", "--show-notes")
	for _, one := range after {
		hidden := slices.ContainsFunc(conflicts, func(c fixFinding) bool {
			path, field := inPod(one.Path), inPod(c.Path)
			return strings.HasPrefix(path, field) || strings.HasPrefix(field, path)
		})
		if !known[[2]string{one.Code, one.Path}] && !hidden && one.Code != "TW541" && (f.isUnion() || one.Code < "TW500") {
			return fmt.Sprintf("new: %s %s %s %s", one.Code, one.Object, one.Path, one.Message)
		}
	}
	return ""
}

func (f *fixCase) isUnion() bool { return f.flags[0] == "--fix=union" }

// inPod returns the part of a path in the Pod: controllers copy the template of Pods into their objects.
func inPod(path string) string {
	if i := strings.LastIndex(path, ".template.spec."); i >= 0 {
		return path[i:]
	}
	return path
}

func isConflict(s fixFinding) bool { return s.Code == "TW300" || s.Code == "TW301" }

func isRejection(s fixFinding) bool { return strings.HasPrefix(s.Code, "TW81") }

// isPreferred reports whether a preferred manager takes part in a conflict.
func (f *fixCase) isPreferred(s fixFinding) bool {
	return isConflict(s) && slices.ContainsFunc(s.Claims, func(c struct {
		Layer string
		Value any
	}) bool {
		return slices.Contains(f.flags, strings.TrimPrefix(c.Layer, "manager/"))
	})
}
