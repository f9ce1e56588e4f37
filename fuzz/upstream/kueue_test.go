package upstream_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
)

// kueue is the program of the module kueue, with Kueue's own code, as it runs.
type kueue struct {
	program, definitions string

	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func startKueue(t *testing.T) *kueue {
	t.Helper()
	goIn := func(args ...string) string {
		command := exec.Command("go", args...)
		command.Dir, command.Env, command.Stderr = filepath.Join("..", "kueue"),
			append(os.Environ(), "GOWORK=off"), os.Stderr
		out, err := command.Output()
		if err != nil {
			t.Fatalf("go %s: %v", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(out))
	}
	k := &kueue{program: filepath.Join(t.TempDir(), "kueue")}
	goIn("build", "-o", k.program, ".")
	k.definitions = filepath.Join(goIn("list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue"),
		"config", "components", "crd", "bases")
	k.start(t)
	t.Cleanup(func() { k.stop(t) })
	return k
}

func (k *kueue) start(t *testing.T) {
	t.Helper()
	k.command = exec.Command(k.program, "-definitions", k.definitions)
	k.command.Stderr = os.Stderr
	out, err := k.command.StdoutPipe()
	if err == nil {
		k.out = bufio.NewReader(out)
		k.in, err = k.command.StdinPipe()
	}
	if err == nil {
		err = k.command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (k *kueue) stop(t *testing.T) {
	t.Helper()
	k.in.Close()
	if err := k.command.Wait(); err != nil {
		t.Error(err)
	}
}

// again asks a new process. The Trainer's policies run in an order that is random in each process;
// an item replaced in place shows it.
func (k *kueue) again(t *testing.T, question any) kueueAnswer {
	t.Helper()
	k.stop(t)
	k.start(t)
	return k.ask(t, question)
}

type kueueAnswer struct {
	PodSets []any              `json:"podSets"`
	Totals  []map[string]int64 `json:"totals"`
	Fits    [][]bool           `json:"fits"`
	Patch   any                `json:"patch"`
	Error   string             `json:"error"`
}

func (k *kueue) ask(t *testing.T, question any) (a kueueAnswer) {
	t.Helper()
	if err := json.NewEncoder(k.in).Encode(question); err != nil {
		t.Fatal(err)
	}
	line, err := k.out.ReadBytes('\n')
	if err == nil || err == io.EOF && len(line) > 0 {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// eachCase calls the function with seeds: half of them the same in every run.
func eachCase(t *testing.T, variable string, cases uint64, check func(seed uint64)) {
	t.Helper()
	if seed, ok := testenv.Number(t, variable); ok {
		check(seed)
		return
	}
	fresh := rand.New(rand.NewPCG(testenv.Seed(t), 1))
	for i := range testenv.Cases(t, cases) {
		seed := i
		if i%2 == 1 {
			seed = fresh.Uint64()
		}
		check(seed)
	}
}

// TestPodSets compares the Pod sets of generated pairs, and what they request, with Kueue's own.
// TRAINWELD_PODSET asks for one pair.
func TestPodSets(t *testing.T) {
	k := startKueue(t)
	compared, failed, rejected, warned, cases := 0, 0, 0, 0, 0
	eachCase(t, "TRAINWELD_PODSET", 8000, func(seed uint64) {
		cases++
		pair := queuedPair(t, seed)
		sets, err := render.PodSets(
			render.Input{TrainJob: pair.TrainJob, Runtime: &pair.Runtime.Spec},
			render.Options{OnConflict: render.Last})
		list, _ := err.(finding.List)
		if err != nil && (len(list) != 1 || list[0].Code != codes.NoPodSets) {
			rejected++
			return
		}
		question := map[string]any{"trainJob": pair.TrainJob, "runtime": pair.Runtime}
		a := k.ask(t, question)
		if (err == nil) != (a.Error == "") {
			t.Errorf("pair %d: PodSets() = %v, Kueue: %s", seed, err, a.Error)
		}
		if err != nil {
			failed++
			return
		}
		var want []any
		for i, set := range sets {
			if set.Findings != nil {
				warned++
			}
			totals := map[string]int64{}
			for name, q := range render.Totals(sets[i : i+1]) {
				totals[string(name)] = q.Value()
				if name == corev1.ResourceCPU {
					totals[string(name)] = q.MilliValue()
				}
			}
			if i < len(a.Totals) {
				if diff := cmp.Diff(a.Totals[i], totals, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("pair %d, set %s: totals (-Kueue +ours):\n%s", seed, set.Name, diff)
				}
			}
			set.Requests, set.Limits = nil, nil
			want = append(want, plainJSON(t, set))
		}
		diff := cmp.Diff(a.PodSets, want)
		for range 10 {
			if diff != "" {
				diff = cmp.Diff(k.again(t, question).PodSets, want)
			}
		}
		if diff != "" {
			t.Errorf("pair %d: Pod sets (-Kueue +ours):\n%s", seed, diff)
		}
		compared++
	})
	t.Logf("%d pairs: %d equal to Kueue, %d where both fail, %d rejected by the cluster; %d sets "+
		"with findings", cases, compared, failed, rejected, warned)
	if cases > 100 && (compared < cases/3 || failed == 0 || warned == 0) {
		t.Errorf("%d compared, %d failed, %d warned: the generator makes too little of one kind",
			compared, failed, warned)
	}
}

func plainJSON(t *testing.T, v any) (plain any) {
	t.Helper()
	reencode(t, v, &plain)
	return plain
}

func reencode(t *testing.T, from, into any) {
	t.Helper()
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// queuedPair returns a pair as an API server stores it, with annotations of Kueue, resources and
// replicas.
func queuedPair(t *testing.T, seed uint64) *fuzz.Pair {
	pair := fuzz.Render(seed, fuzz.PairOptions{Policies: upstream.Policies()})
	r := rand.New(rand.NewPCG(seed, 2))
	render.DefaultTrainJob(pair.TrainJob, nil)
	render.DefaultRuntime(&pair.Runtime.Spec, nil)
	runtime, job := plainJSON(t, pair.Runtime), plainJSON(t, pair.TrainJob)
	lay := func(at any, name string) { fuzz.Overlay(at.(upstream.Object), queued(r, name)) }
	for _, job := range list(runtime, "spec", "template", "spec", "replicatedJobs") {
		lay(job, "job")
		pod := within(job, "template", "spec", "template")
		lay(pod, "pod")
		for _, c := range list(pod, "spec", "containers") {
			lay(c, "container")
		}
	}
	lay(job, "trainJob")
	pair = &fuzz.Pair{Runtime: &trainer.ClusterTrainingRuntime{}, TrainJob: &trainer.TrainJob{}}
	reencode(t, runtime, pair.Runtime)
	reencode(t, job, pair.TrainJob)
	stored := &fuzz.Pair{Seed: seed, Runtime: &trainer.ClusterTrainingRuntime{},
		TrainJob: &trainer.TrainJob{}}
	reencode(t, pair.Runtime, stored.Runtime) // Go types lose empty lists
	reencode(t, pair.TrainJob, stored.TrainJob)
	return stored
}

// queued draws a part of testdata/kueue.yaml.
func queued(r *rand.Rand, name string) upstream.Object {
	part, _ := fuzz.Expand(r, kueueTemplates()[name]).(upstream.Object)
	return part
}

var kueueTemplates = sync.OnceValue(func() upstream.Object {
	return readTemplate("testdata/kueue.yaml").(upstream.Object)
})

// TestAdmissions compares the patch of generated admissions, and the flavors that fit, with Kueue's
// own. TRAINWELD_ADMISSION asks for one.
func TestAdmissions(t *testing.T) {
	k := startKueue(t)
	admitted, rejected, either, fit, unfit, cases := 0, 0, 0, 0, 0, 0
	eachCase(t, "TRAINWELD_ADMISSION", 8000, func(seed uint64) {
		pair := queuedPair(t, seed)
		in := render.Input{TrainJob: pair.TrainJob, Runtime: &pair.Runtime.Spec}
		sets, err := render.PodSets(in, render.Options{OnConflict: render.Last})
		if err != nil {
			return
		}
		cases++
		r := rand.New(rand.NewPCG(seed, 3))
		flavors, w := someFlavors(t, r), someAdmission(t, r, pair.TrainJob, sets)
		at := slices.IndexFunc(pair.TrainJob.Spec.RuntimePatches,
			func(p trainer.RuntimePatch) bool { return p.Manager == render.KueueManager })
		got, err := render.Admit(in, sets, w, flavors)
		if at < 0 { // as Kueue's webhook leaves it
			at = len(pair.TrainJob.Spec.RuntimePatches)
			pair.TrainJob.Spec.RuntimePatches = append(pair.TrainJob.Spec.RuntimePatches,
				trainer.RuntimePatch{Manager: render.KueueManager})
		}
		// Kueue crashes on an entry of its own without it
		spec := &pair.TrainJob.Spec.RuntimePatches[at].TrainingRuntimeSpec
		if *spec == nil {
			*spec = &trainer.TrainingRuntimeSpecPatch{}
		}
		if (*spec).Template == nil {
			(*spec).Template = &trainer.JobSetTemplatePatch{}
		}
		if (*spec).Template.Spec == nil {
			(*spec).Template.Spec = &trainer.JobSetSpecPatch{}
		}
		question := map[string]any{"trainJob": pair.TrainJob, "runtime": pair.Runtime,
			"flavors": flavors, "workload": w}
		a := k.ask(t, question)
		if len(a.Fits) != len(sets) {
			t.Fatalf("admission %d: Kueue counts no Pod sets: %s", seed, a.Error)
		}
		for i := range sets {
			for n, flavor := range flavors {
				set := sets[i]
				set.TopologyRequest = nil
				_, err := render.Assign(pair.TrainJob, []render.PodSet{set},
					map[string]string{set.Name: flavor.Name}, flavors)
				if (err == nil) != a.Fits[i][n] {
					t.Errorf("admission %d, set %s, flavor %s: Assign() = %v, Kueue fits %t", seed,
						set.Name, flavor.Name, err, a.Fits[i][n])
				}
				if fit++; err != nil {
					fit, unfit = fit-1, unfit+1
				}
			}
		}
		if err != nil {
			disagree := strings.Contains(err.Error(), "Kueue takes either value")
			for n := 0; disagree && n < 100; n++ {
				if b := k.ask(t, question); a.Error != b.Error || !cmp.Equal(a.Patch, b.Patch) {
					either++
					return
				}
			}
			if a.Error == "" {
				t.Errorf("admission %d: Admit() = %v, Kueue admits", seed, err)
			}
			rejected++
			return
		}
		want := plainJSON(t, got.TrainJob.Spec.RuntimePatches[at])
		// the flavors of a set come in random order
		for n := 0; n < 100 && a.Error == "" && !cmp.Equal(a.Patch, want); n++ {
			a = k.ask(t, question)
		}
		if diff := cmp.Diff(a.Patch, want); diff != "" || a.Error != "" {
			t.Errorf("admission %d: %s\n(-Kueue +ours)\n%s", seed, a.Error, diff)
		}
		admitted++
	})
	t.Logf("%d admissions: %d patches equal to Kueue's, %d fail in both, %d with either value; "+
		"%d flavors fit, %d do not", cases, admitted, rejected, either, fit, unfit)
	if cases > 100 && (admitted < cases/4 || rejected == 0 || either == 0 || fit == 0 ||
		unfit == 0) {
		t.Error("the generator makes too little of one kind")
	}
}

func someFlavors(t *testing.T, r *rand.Rand) []render.ResourceFlavor {
	flavors := make([]render.ResourceFlavor, 4)
	for i := range flavors {
		reencode(t, queued(r, "flavor"), &flavors[i])
		flavors[i].Name = fmt.Sprint("flavor-", i)
	}
	return flavors
}

func someAdmission(t *testing.T, r *rand.Rand, job *trainer.TrainJob,
	sets []render.PodSet) *render.Workload {
	w := &render.Workload{}
	reencode(t, queued(r, "workload"), w)
	w.Namespace = job.Namespace
	w.OwnerReferences = []metav1.OwnerReference{
		{Kind: trainer.TrainJobKind, Name: job.Name, UID: job.UID}}
	for _, set := range sets {
		a := render.PodSetAssignment{Name: set.Name}
		reencode(t, queued(r, "assignment"), &a)
		w.Status.Admission.PodSetAssignments = append(w.Status.Admission.PodSetAssignments, a)
	}
	for c := range r.IntN(3) {
		check := render.AdmissionCheck{Name: fmt.Sprint("check-", c)}
		for _, set := range sets {
			if of := queued(r, "update"); of != nil {
				update := render.PodSetUpdate{Name: set.Name}
				reencode(t, of, &update)
				check.PodSetUpdates = append(check.PodSetUpdates, update)
			}
		}
		w.Status.AdmissionChecks = append(w.Status.AdmissionChecks, check)
	}
	return w
}
