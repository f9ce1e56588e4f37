package diff_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
)

func TestMain(m *testing.M) { os.Exit(testenv.Tests{M: m}.Run()) }

// TestLaws holds the laws of the package for the JobSets of recorded inputs at random. It compares
// each with another one, one that lacks something, or one with lists in another order. It compares
// the JobSets, the Jobs and the Pods.
func TestLaws(t *testing.T) {
	t.Parallel()
	cases, seed := int(testenv.Cases(t, 600)), testenv.Seed(t)
	seen, inputs := kinds{}, recorded(t)
	for n := seed << 32; n < seed<<32+uint64(cases); n++ {
		old, new := twoJobSets(t, inputs, n)
		if old == nil || new == nil {
			continue
		}
		if broken := family(old, new, seen); broken != "" {
			t.Fatalf("case %d: %s", n, broken)
		}
	}
	t.Logf("changes by kind: %v", seen)
	for _, kind := range []diff.Kind{diff.Added, diff.Removed, diff.Changed, diff.Moved} {
		if seen[kind] < cases/10 {
			t.Errorf("only %d changes of kind %s in %d cases: the generator no longer tests it",
				seen[kind], kind, cases)
		}
	}
}

// twoJobSets returns the JobSet of a recorded input and a similar one: another, one that lacks
// something, or one with lists in another order.
func twoJobSets(t *testing.T, inputs []string, n uint64) (*jobset.JobSet, *jobset.JobSet) {
	rng := rand.New(rand.NewPCG(n, 1))
	old := renderRecorded(t, inputs[rng.IntN(len(inputs))])
	if old == nil {
		return nil, nil
	}
	new := old.DeepCopy()
	switch rng.IntN(3) {
	case 0:
		new = renderRecorded(t, inputs[rng.IntN(len(inputs))])
	case 1:
		tree := generic(encoded(new))
		for range 1 + rng.IntN(4) {
			drop(rng, tree)
		}
		text, err := json.Marshal(tree)
		if new = (&jobset.JobSet{}); err != nil || json.Unmarshal(text, new) != nil {
			return nil, nil // without what its type needs
		}
	}
	if new != nil {
		shuffle(rng, new)
	}
	return old, new
}

// drop removes a field or an item at random from a tree of JSON.
func drop(rng *rand.Rand, tree any) {
	var removals []func()
	var visit func(any)
	visit = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				removals = append(removals, func() { delete(v, name) })
				visit(v[name])
				if list, ok := v[name].([]any); ok && len(list) > 1 {
					removals = append(removals, func() { v[name] = list[1:] })
				}
			}
		case []any:
			for _, item := range v {
				visit(item)
			}
		}
	}
	visit(tree)
	removals[rng.IntN(len(removals))]()
}

// marker begins values of variables that no masked report may hold.
const marker = "MARKER"

// shuffle puts some lists into another order, some items into a list twice, and markers into
// variables.
func shuffle(rng *rand.Rand, js *jobset.JobSet) {
	swap := func(n int, swap func(i, j int)) {
		if n > 1 && rng.IntN(3) == 0 {
			swap(rng.IntN(n), rng.IntN(n))
		}
	}
	for i := range js.Spec.ReplicatedJobs {
		pod := &js.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec
		swap(len(pod.Volumes), reflect.Swapper(pod.Volumes))
		swap(len(pod.InitContainers), reflect.Swapper(pod.InitContainers))
		swap(len(pod.Tolerations), reflect.Swapper(pod.Tolerations))
		for _, list := range [][]corev1.Container{pod.Containers, pod.InitContainers} {
			for c := range list {
				env := list[c].Env
				for range 3 {
					swap(len(env), reflect.Swapper(env))
				}
				for e := range env {
					if env[e].Value != "" && rng.IntN(2) == 0 {
						env[e].Value = fmt.Sprintf("%s-%d", marker, rng.IntN(3))
					}
				}
				if len(env) > 0 && rng.IntN(20) == 0 {
					list[c].Env = append(env, env[0])
				}
				if rng.IntN(4) == 0 {
					list[c].Command = []string{
						"sh", "-c", fmt.Sprintf("set -e\ntrain %d\n\nexit 0\n", rng.IntN(3))}
				}
			}
		}
	}
}

// TestLawsForTheRecordedInputs renders each recorded input and compares it with its neighbour, and
// the Jobs and Pods of every fourth.
func TestLawsForTheRecordedInputs(t *testing.T) {
	t.Parallel()
	seen := kinds{}
	var last *jobset.JobSet
	compared := 0
	every := testenv.Every(8)
	for i, dir := range recorded(t) {
		if i%every > 0 {
			continue
		}
		js := renderRecorded(t, dir)
		if js == nil {
			continue
		}
		if last != nil {
			hold := family
			if compared%4 > 0 {
				// The Jobs and Pods of a quarter of the cases are enough: all take long.
				hold = func(old, new *jobset.JobSet, seen kinds) string {
					return laws(old, new, seen)
				}
			}
			if broken := hold(last, js, seen); broken != "" {
				t.Errorf("%s and the case before it: %s", dir, broken)
			}
			compared++
		}
		last = js
	}
	t.Logf("%d comparisons, changes by kind: %v", compared, seen)
	if compared < 90/every {
		t.Errorf("%d comparisons; too few inputs render", compared)
	}
}

// family holds the laws for two JobSets, and for their Jobs and Pods.
func family(old, new *jobset.JobSet, seen kinds) string {
	pairs := [][2]any{{old, new}, {new, old}}
	jobs := func(js *jobset.JobSet) (jobs []any) {
		out, err := render.Jobs(js, render.JobsOptions{Stored: true})
		if err != nil {
			return nil // the controller makes no Job of what a generator changed so
		}
		for _, child := range out.Jobs {
			jobs = append(jobs, child.Job)
		}
		return jobs
	}
	pods := func(js *jobset.JobSet) (pods []any) {
		for pod, err := range render.Pods(
			js, render.PodsOptions{JobsOptions: render.JobsOptions{Stored: true}}) {
			if err != nil || len(pods) == 2 {
				break
			}
			pods = append(pods, pod)
		}
		return pods
	}
	for _, children := range []func(*jobset.JobSet) []any{jobs, pods} {
		a, b := children(old), children(new)
		for i := range min(len(a), len(b), 2) {
			pairs = append(pairs, [2]any{a[i], b[i]})
		}
	}
	for _, p := range pairs {
		if broken := laws(p[0], p[1], seen); broken != "" {
			return fmt.Sprintf("%T: %s", p[0], broken)
		}
	}
	return ""
}

// laws holds every law for two objects, and says which one is broken.
func laws(old, new any, seen kinds) string {
	before, want := encoded(old), encoded(new)
	if changes, err := diff.Compare(old, old, diff.Options{}); err != nil || len(changes) > 0 {
		return fmt.Sprintf("an object differs from itself: %v %v", changes, err)
	}
	changes, err := diff.Compare(old, new, diff.Options{})
	if err != nil {
		return err.Error()
	}
	for _, c := range changes {
		seen[c.Kind]++
	}
	made, err := changes.Apply(old)
	if err != nil {
		return err.Error()
	}
	if got := encoded(made); got != want {
		return "the changes do not make the new object of the old one:\n" +
			cmp.Diff(generic(want), generic(got)) + fmt.Sprint(changes)
	}
	if equal := before == want; equal != (len(changes) == 0) {
		return fmt.Sprintf("the encodings are equal: %t, and there are %d changes", equal,
			len(changes))
	}
	if broken := linesAreTrue(old, new); broken != "" {
		return broken
	}
	if broken := maskingKeepsChanges(old, new, changes); broken != "" {
		return broken
	}
	if encoded(old) != before || encoded(new) != want {
		return "an object was changed"
	}
	return ""
}

// linesAreTrue checks that the lines of each object hold that object.
func linesAreTrue(old, new any) string {
	pair, err := diff.Read(old, new, diff.Options{})
	if err != nil {
		return err.Error()
	}
	before, after, err := pair.Lines()
	if err != nil {
		return err.Error()
	}
	text := func(lines []diff.Line) string {
		var b strings.Builder
		for _, l := range lines {
			b.WriteString(l.Text + "\n")
		}
		return b.String()
	}
	for _, side := range []struct {
		name, text string
		object     any
	}{{"old", text(before), old}, {"new", text(after), new}} {
		var got any
		if err := yaml.Unmarshal([]byte(side.text), &got); err != nil {
			return fmt.Sprintf("the lines of the %s object are not YAML: %v\n%s", side.name, err,
				side.text)
		}
		var shown strings.Builder
		if err := manifest.Encode(&shown, manifest.JSON, side.object); err != nil {
			return err.Error()
		}
		want := generic(shown.String())
		diff.DropNulls(want)
		if got == nil { // an object without fields has no lines
			got = map[string]any{}
		}
		if !reflect.DeepEqual(want, got) {
			d := cmp.Diff(want, got)
			return fmt.Sprintf("the lines are not the %s object (-object +lines):\n%s\n%s",
				side.name, d, side.text)
		}
	}
	return ""
}

// maskingKeepsChanges checks that a masked value changes exactly where its real value changes.
func maskingKeepsChanges(old, new any, changes diff.Changes) string {
	pair, err := diff.Read(old, new, diff.Options{Mask: true})
	if err != nil {
		return err.Error()
	}
	before, after, err := pair.Lines()
	if err != nil {
		return err.Error()
	}
	masked := pair.Changes()
	for _, shown := range []any{masked, before, after, pair.Old, pair.New} {
		text, err := json.Marshal(shown)
		if err != nil || bytes.Contains(text, []byte(marker)) {
			return fmt.Sprintf("a value shows (%v): %s", err, text)
		}
	}
	name := func(c diff.Change) string {
		return fmt.Sprintf("%s %s %d %d", c.Kind, c.Path, c.From, c.To)
	}
	var want, got []string
	for _, c := range changes {
		want = append(want, name(c))
	}
	for _, c := range masked {
		got = append(got, name(c))
	}
	if !slices.Equal(want, got) {
		return "masking changes the changes (-plain +masked):\n" + cmp.Diff(want, got)
	}
	return ""
}

type kinds map[diff.Kind]int

// encoded returns an object's JSON with sorted keys and without nulls. A null says nothing: a
// pointer to a zero time is written as null, and a nil pointer is omitted.
func encoded(object any) string {
	data, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	value := generic(string(data))
	diff.DropNulls(value)
	if data, err = json.Marshal(value); err != nil {
		return err.Error()
	}
	return string(data)
}

func generic(text string) any {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return err.Error()
	}
	return value
}

// recorded are the folders of the inputs that a real control plane was given.
func recorded(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(
		filepath.Join(casefile.Shared(t, "../../../testdata/cluster", "input.yaml"), "*",
			"input.yaml"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recorded inputs: %v", err)
	}
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	return dirs
}

// renderRecorded returns the JobSet of a recorded input. It returns nil if the input has no runtime
// of its own or does not render.
func renderRecorded(t *testing.T, dir string) *jobset.JobSet {
	t.Helper()
	if out := outputOf(t, dir); out != nil {
		return out.JobSet
	}
	return nil
}

func outputOf(t *testing.T, dir string) *render.Objects {
	t.Helper()
	file := filepath.Join(dir, "input.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	documents, _ := manifest.Decode(file, data)
	var in render.Input
	for _, d := range documents {
		switch o := d.Object.(type) {
		case *trainer.TrainJob:
			render.DefaultTrainJob(o, nil)
			in.TrainJob = o
		case *trainer.TrainingRuntime:
			render.DefaultRuntime(&o.Spec, d.Has)
			in.Runtime = &o.Spec
		case *trainer.ClusterTrainingRuntime:
			render.DefaultRuntime(&o.Spec, d.Has)
			in.Runtime = &o.Spec
		}
	}
	if in.TrainJob == nil || in.Runtime == nil {
		return nil
	}
	out, _ := render.JobSet(in, render.Options{OnConflict: render.Last, As: render.Stored})
	return out
}
