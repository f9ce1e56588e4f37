package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/casefile"
)

// liveCase is a recorded input with its objects, which have managed fields as an API server writes them.
type liveCase struct {
	dir, input string
	inputs     []map[string]any // of the file
	dump       []map[string]any // the TrainJob, its runtime, the JobSet, the Jobs and the Pods
}

// creators are the managers that make the objects of each kind.
var creators = map[string]string{"TrainJob": "kubectl-client-side-apply", "JobSet": "trainer", "Job": "jobset", "Pod": "kube-controller-manager"}

// managed returns an entry of managed fields.
func managed(manager, operation string, fields map[string]any) map[string]any {
	return map[string]any{"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "time": "2026-11-20T09:00:00Z", "fieldsV1": fields}
}

// fieldsOf returns the fields of a value in the form FieldsV1.
func fieldsOf(value any) map[string]any {
	fields := map[string]any{}
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			fields["f:"+name] = fieldsOf(field)
		}
	case []any:
		for _, item := range v {
			o, isObject := item.(map[string]any)
			if !isObject || o["name"] == nil {
				return map[string]any{}
			}
			key, _ := json.Marshal(map[string]any{"name": o["name"]})
			of := fieldsOf(o)
			of["."] = map[string]any{}
			fields["k:"+string(key)] = of
		}
	}
	return fields
}

// own makes the creator of an object the owner of all its fields.
func own(o map[string]any) {
	fields := map[string]any{"f:spec": fieldsOf(o["spec"])}
	metadata := within(o, "metadata")
	for _, name := range []string{"labels", "annotations", "ownerReferences"} {
		if metadata[name] != nil {
			within(fields, "f:metadata")["f:"+name] = fieldsOf(metadata[name])
		}
	}
	metadata["managedFields"] = []any{managed(creators[o["kind"].(string)], "Update", fields)}
}

// add adds an entry to the managed fields of an object.
func add(o, entry map[string]any) {
	metadata := within(o, "metadata")
	list, _ := metadata["managedFields"].([]any)
	metadata["managedFields"] = append(slices.Clip(list), entry)
}

// clone returns a deep copy.
func clone[T any](t *testing.T, value T) T {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var copied T
	if err := json.Unmarshal(data, &copied); err != nil {
		t.Fatal(err)
	}
	return copied
}

// liveCases returns the recorded cases with a TrainJob and Pods.
func liveCases(t *testing.T) []liveCase {
	t.Helper()
	outcomes, err := filepath.Glob(filepath.Join(casefile.Shared(t, cluster), "*", "want", "pods.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []liveCase
	for _, file := range outcomes {
		c := liveCase{dir: filepath.Dir(filepath.Dir(file))}
		outcome, err := os.ReadFile(filepath.Join(c.dir, "want", "outcome.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(outcome), "accepted") || strings.Contains(filepath.Base(c.dir), "stock") {
			continue
		}
		c.input = filepath.Join(c.dir, "input.yaml")
		text, err := os.ReadFile(c.input)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split("\n"+string(text), "\n---\n") {
			var o map[string]any
			if err := yaml.Unmarshal([]byte(document), &o); err != nil {
				t.Fatalf("%s: %v", c.input, err)
			}
			if o != nil {
				c.inputs = append(c.inputs, o)
			}
		}
		for _, o := range c.inputs {
			if kind := o["kind"]; kind == "TrainJob" || strings.HasSuffix(fmt.Sprint(kind), "Runtime") {
				stored := clone(t, o)
				stamp(stored)
				c.dump = append(c.dump, stored)
			}
		}
		c.dump = append(c.dump, recordedObjects(t, c.dir)...)
		trainJobs := 0
		for _, o := range c.dump {
			if creators[o["kind"].(string)] != "" {
				own(o)
			}
			if o["kind"] == "TrainJob" {
				trainJobs++
			}
		}
		if trainJobs == 1 {
			cases = append(cases, c)
		}
	}
	return cases
}

// stamp sets the times of a TrainJob's patches, as its webhook does.
func stamp(o map[string]any) {
	patches, _ := within(o, "spec")["runtimePatches"].([]any)
	for _, item := range patches {
		if patch, ok := item.(map[string]any); ok && patch["time"] == nil {
			patch["time"] = "2026-11-20T09:00:00Z"
		}
	}
}

// pick returns an object of a kind, or nil.
func pick(r *rand.Rand, dump []map[string]any, kind string) map[string]any {
	var of []map[string]any
	for _, o := range dump {
		if o["kind"] == kind {
			of = append(of, o)
		}
	}
	if len(of) == 0 {
		return nil
	}
	return of[r.IntN(len(of))]
}

// container returns the first container of a Pod with its owned fields.
func container(pod map[string]any) (c, owned map[string]any) {
	c = within(pod, "spec")["containers"].([]any)[0].(map[string]any)
	entry := within(pod, "metadata")["managedFields"].([]any)[0].(map[string]any)
	key, _ := json.Marshal(map[string]any{"name": c["name"]})
	return c, within(entry, "fieldsV1", "f:spec", "f:containers", "k:"+string(key))
}

// liveMutations change a dump in one way, and return the kind and the cause of the one difference. An empty kind stands for a change
// that does not apply.
var liveMutations = map[string]func(t *testing.T, r *rand.Rand, c *liveCase) (kind, cause string){
	"a label by hand": func(_ *testing.T, r *rand.Rand, c *liveCase) (string, string) {
		kind := []string{"TrainJob", "JobSet", "Job", "Pod"}[r.IntN(4)]
		o := pick(r, c.dump, kind)
		within(o, "metadata", "labels")["by"] = "hand"
		add(o, managed("kubectl-label", "Update", map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{"f:by": map[string]any{}}}}))
		return kind, "edit/kubectl-label"
	},
	"an image by hand": func(_ *testing.T, r *rand.Rand, c *liveCase) (string, string) {
		pod := pick(r, c.dump, "Pod")
		of, owned := container(pod)
		of["image"] = "registry.example.com/other:7"
		delete(owned, "f:image")
		key, _ := json.Marshal(map[string]any{"name": of["name"]})
		fields := map[string]any{}
		within(fields, "f:spec", "f:containers", "k:"+string(key))["f:image"] = map[string]any{}
		add(pod, managed("kubectl-edit", "Update", fields))
		return "Pod", "edit/kubectl-edit"
	},
	"an annotation of a controller": func(_ *testing.T, r *rand.Rand, c *liveCase) (string, string) {
		o := pick(r, c.dump, "Pod")
		within(o, "metadata", "annotations")["k8s.v1.cni.cncf.io/network-status"] = "[]"
		add(o, managed("multus", "Update", map[string]any{"f:metadata": map[string]any{"f:annotations": map[string]any{"f:k8s.v1.cni.cncf.io/network-status": map[string]any{}}}}))
		return "Pod", "writer/multus"
	},
	"a sidecar of a webhook": func(_ *testing.T, r *rand.Rand, c *liveCase) (string, string) {
		spec := within(pick(r, c.dump, "Pod"), "spec")
		spec["containers"] = append(spec["containers"].([]any), map[string]any{"name": "mesh-proxy", "image": "mesh:1", "env": []any{map[string]any{"name": "A", "value": "b"}}})
		return "Pod", "webhook"
	},
	"an image of a webhook": func(_ *testing.T, r *rand.Rand, c *liveCase) (string, string) {
		of, _ := container(pick(r, c.dump, "Pod"))
		of["image"] = "mirror.example.com/other:7"
		return "Pod", "webhook"
	},
	"a field of a webhook in the JobSet": func(_ *testing.T, r *rand.Rand, c *liveCase) (string, string) {
		within(pick(r, c.dump, "JobSet"), "spec")["ttlSecondsAfterFinished"] = 77
		return "JobSet", "webhook"
	},
	"a label gone": func(_ *testing.T, r *rand.Rand, c *liveCase) (string, string) {
		o := pick(r, c.dump, "Job")
		delete(within(o, "metadata", "labels"), "jobset.sigs.k8s.io/replicatedjob-name")
		return "Job", "unrecorded"
	},
	"a Pod gone": func(_ *testing.T, r *rand.Rand, c *liveCase) (string, string) {
		gone := pick(r, c.dump, "Pod")
		count := map[any]int{}
		for _, o := range c.dump {
			if o["kind"] == "Pod" {
				count[within(o, "metadata")["generateName"]]++
			}
		}
		_, exclusive := within(gone, "metadata", "annotations")["alpha.jobset.sigs.k8s.io/exclusive-topology"]
		if exclusive || count[within(gone, "metadata")["generateName"]] > 1 || len(count) < 2 {
			return "", ""
		}
		c.dump = slices.DeleteFunc(c.dump, func(o map[string]any) bool { return fmt.Sprint(o) == fmt.Sprint(gone) })
		return "Pod", "missing"
	},
	"a Job too many": func(t *testing.T, r *rand.Rand, c *liveCase) (string, string) {
		o := clone(t, pick(r, c.dump, "Job"))
		within(o, "metadata")["name"] = "surplus"
		c.dump = append(c.dump, o)
		return "Job", "controller/jobset"
	},
	"a later patch": func(t *testing.T, r *rand.Rand, c *liveCase) (string, string) {
		patch := map[string]any{"manager": "late.example.com/x"}
		within(patch, "trainingRuntimeSpec", "template", "metadata", "labels")["late"] = "yes"
		job := pick(r, c.dump, "TrainJob")
		list, _ := within(job, "spec")["runtimePatches"].([]any)
		if len(list) >= 16 {
			return "", ""
		}
		within(job, "spec")["runtimePatches"] = append(slices.Clip(list), patch)
		late := managed("late-controller", "Apply", map[string]any{})
		within(late, "fieldsV1", "f:spec", "f:runtimePatches")[`k:{"manager":"late.example.com/x"}`] = map[string]any{".": map[string]any{}, "f:manager": map[string]any{}, "f:trainingRuntimeSpec": map[string]any{}}
		add(job, late)
		within(pick(r, c.dump, "JobSet"), "metadata", "labels")["late"] = "yes"
		return "JobSet", "manager/late.example.com/x"
	},
}

// liveEdits set one field of an object. A manager owns it, or nobody.
var liveEdits = []struct {
	kind, path string // names with dots between them
	value      any
	manager    string
	cause      string
}{
	{"TrainJob", "metadata.annotations.by", "hand", "kubectl-annotate", "edit/kubectl-annotate"},
	{"TrainJob", "metadata.labels.by", "git", "kustomize-controller", "writer/kustomize-controller"},
	{"JobSet", "spec.ttlSecondsAfterFinished", 4321, "kubectl-edit", "edit/kubectl-edit"},
	{"JobSet", "metadata.annotations.by", "hand", "Mozilla", "edit/Mozilla"},
	{"JobSet", "metadata.labels.by", "git", "argocd-controller", "writer/argocd-controller"},
	{"JobSet", "metadata.annotations.release", "a", "helm", "writer/helm"},
	{"JobSet", "metadata.labels.by", "hook", "", "webhook"},
	{"Job", "spec.activeDeadlineSeconds", 4321, "k9s", "edit/k9s"},
	{"Job", "spec.backoffLimit", 77, "kubectl-patch", "edit/kubectl-patch"},
	{"Job", "spec.podReplacementPolicy", "Failed", "lens", "edit/lens"},
	{"Job", "spec.ttlSecondsAfterFinished", 77, "cleaner", "writer/cleaner"},
	{"Job", "metadata.labels.queue", "a", "kueue", "writer/kueue"},
	{"Job", "spec.maxFailedIndexes", 7, "", "webhook"},
	{"Pod", "spec.activeDeadlineSeconds", 4321, "kubectl-edit", "edit/kubectl-edit"},
	{"Pod", "spec.terminationGracePeriodSeconds", 7, "oc", "edit/oc"},
	{"Pod", "metadata.annotations.safe", "no", "cluster-autoscaler", "writer/cluster-autoscaler"},
	{"Pod", "metadata.finalizers", []any{"example.com/quota"}, "quota", "writer/quota"},
	{"Pod", "spec.automountServiceAccountToken", false, "headlamp", "edit/headlamp"},
	{"Pod", "spec.shareProcessNamespace", true, "dashboard", "edit/dashboard"},
	{"Pod", "spec.hostIPC", true, "curl/8", "edit/curl/8"},
	{"Pod", "spec.enableServiceLinks", false, "", "webhook"},
	{"Pod", "spec.runtimeClassName", "gvisor", "", "webhook"},
	{"Pod", "spec.dnsPolicy", "None", "", "webhook"},
}

// edit makes one of liveEdits.
func edit(i int) func(*testing.T, *rand.Rand, *liveCase) (kind, cause string) {
	return func(t *testing.T, r *rand.Rand, c *liveCase) (string, string) {
		e := liveEdits[i]
		names := strings.Split(e.path, ".")
		o := pick(r, c.dump, e.kind)
		last := len(names) - 1
		in := within(o, names[:last]...)
		isDefault := names[last] == "podReplacementPolicy" && in["podFailurePolicy"] != nil
		if isDefault || fmt.Sprint(in[names[last]]) == fmt.Sprint(e.value) {
			return "", ""
		}
		in[names[last]] = e.value
		if e.manager != "" {
			fields := map[string]any{}
			at := fields
			for _, name := range names {
				at = within(at, "f:"+name)
			}
			add(o, managed(e.manager, "Update", fields))
		}
		return e.kind, e.cause
	}
}

// TestDiffLive_Mutated changes the recorded objects of a case in one way, and wants one difference with its cause. Untouched objects
// have none.
func TestDiffLive_Mutated(t *testing.T) {
	if testenv.Race {
		t.Skip("one goroutine, and hundreds of comparisons")
	}
	cases := liveCases(t)
	seed := testenv.Seed(t)
	mutations := maps.Clone(liveMutations)
	for i, e := range liveEdits {
		mutations[fmt.Sprintf("%s of a %s by %q", e.path, e.kind, e.manager)] = edit(i)
	}
	names := slices.Sorted(maps.Keys(mutations))
	done, next := map[string]int{}, 0
	for i, c := range cases {
		if !testenv.Long() && i%4 > 0 && next >= len(names) {
			continue
		}
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		n := r.IntN(3)
		if n == 0 {
			if report := diffLive(t, c.dump, c.input); report.status != 0 {
				text, _ := json.Marshal(report.TrainJobs)
				t.Errorf("seed %d, %s, untouched: status %d\n%s %.1500s", seed, filepath.Base(c.dir), report.status, report.stderr, text)
			}
		}
		for range n {
			name := names[next%len(names)]
			next++
			mutated := liveCase{dir: c.dir, input: c.input, inputs: c.inputs, dump: clone(t, c.dump)}
			kind, cause := mutations[name](t, r, &mutated)
			if kind == "" {
				continue
			}
			done[name]++
			report := diffLive(t, mutated.dump, c.input)
			if got := report.causes(kind); report.status != 1 || !slices.Equal(got, []string{cause}) {
				text, _ := json.Marshal(report.TrainJobs)
				t.Errorf("seed %d, %s, %s: status %d, the causes of the %s are %q, want %q\n%s %.1500s", seed, filepath.Base(c.dir), name, report.status, kind, got, cause, report.stderr, text)
			}
			if n := report.differences(); n != 1 && name != "a later patch" || name == "a later patch" && n != 2 {
				text, _ := json.Marshal(report.TrainJobs)
				t.Errorf("seed %d, %s, %s: %d differences, want 1\n%.1500s", seed, filepath.Base(c.dir), name, n, text)
			}
		}
	}
	for _, name := range names {
		if done[name] == 0 {
			t.Errorf("no case had %s", name)
		}
	}
	t.Log(done)
}

// causes returns the causes of the differences in objects of a kind.
func (r liveReport) causes(kind string) []string {
	var causes []string
	for _, job := range r.TrainJobs {
		for _, o := range job.Objects {
			if o.Kind != kind {
				continue
			}
			if o.State != "changed" {
				for _, cause := range r.Summary.Causes {
					causes = append(causes, cause.Name)
				}
			}
			for _, change := range o.Changes {
				for _, claim := range change.After {
					causes = append(causes, claim.Layer)
				}
			}
		}
	}
	return causes
}

// differences counts the changes, and the missing and extra objects.
func (r liveReport) differences() int {
	n := 0
	for _, job := range r.TrainJobs {
		for _, o := range job.Objects {
			if n += len(o.Changes); o.State != "changed" {
				n++
			}
		}
	}
	return n
}

// TestDiffLive_Broken breaks the text of a dump in random places. The command neither panics nor writes invalid JSON, and shows no
// value of a variable.
func TestDiffLive_Broken(t *testing.T) {
	if testenv.Race {
		t.Skip("one goroutine, and hundreds of comparisons")
	}
	data, err := os.ReadFile(filepath.Join(repository, "internal", "testdata", "live", "dump.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"diff", filepath.Join(repository, "internal/testdata/quickstart/job.yaml"), "-r", filepath.Join(repository, "internal/testdata/quickstart/runtime.yaml"), "--live=-"}
	seed := testenv.Seed(t)
	for i := seed; i < seed+max(5, testenv.Cases(t, 100)); i++ {
		text := mutate(rand.New(rand.NewPCG(i, 3)), string(data))
		for _, format := range []string{"text", "json", "markdown"} {
			var stdout bytes.Buffer
			p := host.Program{Stdin: strings.NewReader(text), Stdout: &stdout, Stderr: io.Discard, Files: host.Files{}}
			status := runLine(&p, append(slices.Clone(files), "-o", format))
			if status < exit.Done || status > exit.Failed {
				t.Errorf("seed %d: status %d\n%s", i, status, text)
			}
			if format == "json" && stdout.Len() > 0 && !json.Valid(stdout.Bytes()) {
				t.Errorf("seed %d: invalid JSON:\n%s", i, stdout.String())
			}
		}
	}
}
