package upstream_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/admission"
)

// longRun is how many cases meet every rule, with some to spare.
const longRun = 10_000

// TestVerdicts compares verdicts on new and on changed runtimes and TrainJobs. One verdict comes
// from the Trainer's shipped definitions and its own webhooks. The other comes from package
// admission, without the findings that docs/differences.md calls stricter. TRAINWELD_VERDICTS sets
// the number of cases. TRAINWELD_SEED sets the first seed, so that a long run can be cut into
// pieces. TRAINWELD_VERDICT selects a single case.
func TestVerdicts(t *testing.T) {
	v := newVerdicts(t)
	if seed, ok := testenv.Number(t, "TRAINWELD_VERDICT"); ok {
		v.check(seed)
		return
	}
	n, ok := testenv.Number(t, "TRAINWELD_VERDICTS")
	if !ok {
		n = 1000
		if testing.Short() {
			n = 100
		}
	}
	first, _ := testenv.Number(t, "TRAINWELD_SEED")
	for seed := range n {
		if v.check(first + seed); v.wrong >= mostWrong {
			t.Fatalf("%d cases differ: the others are omitted", v.wrong)
		}
	}
	t.Logf("%d cases from seed %d on, verdicts:", n, first)
	for _, key := range slices.Sorted(maps.Keys(v.steps)) {
		t.Logf("%7d  %s", v.steps[key], key)
	}
	t.Logf("the objects that both sides refuse, by rule:")
	v.coverage.report(t, rejectionsOf(v.server.Release), n >= longRun && v.server.latest())
	t.Logf("the objects that upstream takes, by the codes that are stricter:")
	for _, code := range admission.StricterCodes() {
		t.Logf("%7d  %s", v.stricter[code], code)
		if n >= longRun && v.server.latest() && v.stricter[code] == 0 {
			t.Errorf("no object that upstream takes has %s: either the generator misses it, or "+
				"the code is not stricter", code)
		}
	}
}

// mostWrong is after how many differing cases a run gives up.
const mostWrong = 5

// TestVerdictRegressions compares the verdicts on cases that once had two.
func TestVerdictRegressions(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(casefile.Unpack(t, verdictRegressions), "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases in %s: %v", verdictRegressions, err)
	}
	v := newVerdicts(t)
	for _, dir := range dirs {
		if text := v.compare(readVerdictCase(t, dir)); text != "" {
			t.Errorf("%s: %s", filepath.Base(dir), text)
		}
	}
}

type verdicts struct {
	t         *testing.T
	server    *apiServer
	generator *generator
	coverage  coverage
	steps     map[string]int
	stricter  map[finding.Code]int
	wrong     int
}

func newVerdicts(t *testing.T) *verdicts {
	server := newAPIServer(t)
	return &verdicts{
		t: t, server: server, generator: newGenerator(t, server),
		coverage: coverage{map[string]int{}}, steps: map[string]int{},
		stricter: map[finding.Code]int{},
	}
}

// check compares the verdicts on one case, and fails the test with the smallest one that still
// differs.
func (v *verdicts) check(seed uint64) {
	v.t.Helper()
	c := v.generator.generate(seed)
	text := v.compare(c)
	if text == "" {
		return
	}
	v.wrong++
	quiet := newCounts(v)
	small := c.clone(v.t).shrink(v.t, func(small *verdictCase) bool {
		return kindOf(quiet.compare(small)) == kindOf(text)
	})
	v.t.Errorf("seed %d (aimed at %v): %s\n\nthe smallest case that still does: %s\nrun it "+
		"again: cd fuzz/upstream && TRAINWELD_VERDICT=%d go test -run '^TestVerdicts$' .%s",
		seed, c.aims, quiet.compare(small), small.keep(v.t, seed, v.server.latest()), seed, again())
}

// newCounts is for comparisons that do not count.
func newCounts(v *verdicts) *verdicts {
	return &verdicts{
		t: v.t, server: v.server,
		coverage: coverage{map[string]int{}}, steps: map[string]int{},
		stricter: map[finding.Code]int{},
	}
}

// compare applies the objects of the case to both sides, one after the other. It says where they
// differ, in its first line in the same words for the same difference.
func (v *verdicts) compare(c *verdictCase) string {
	ctx := v.t.Context()
	v.server.hold()
	stored, rejected := v.server.apply(c.runtime, nil)
	runtime, found := admission.AdmitRuntime(ctx, v.server.Release, c.runtime, serverNamespace)
	if text := v.step("create a runtime", rejected, found); text != "" {
		return text
	}
	if runtime == nil {
		return "" // that the runtime is missing is for the caller to say, who looks for it
	}
	v.server.hold(stored)
	in := admission.Input{Release: v.server.Release, TrainJob: c.job, Runtime: runtime,
		Namespace: serverNamespace}
	job, rejected := v.server.apply(c.job, nil)
	if text := v.step("create a TrainJob", rejected, admission.Check(ctx, in)); text != "" {
		return text
	}
	changed := runtime
	held := stored
	if stored != nil && c.changedRuntime != nil {
		updated, rejected := v.server.apply(c.changedRuntime, stored)
		after, found := admission.UpdateRuntime(ctx, v.server.Release, c.runtime, c.changedRuntime,
			serverNamespace)
		if text := v.step("update a runtime", rejected, found); text != "" {
			return text
		}
		if updated != nil {
			v.server.hold(updated)
			changed, held = after, updated
		}
	}
	if job == nil || c.changedJob == nil {
		return ""
	}
	v.server.hold(append(v.jobSetsOf(job), held)...)
	_, rejected = v.server.apply(c.changedJob, job)
	out := in
	out.TrainJob, out.Runtime = c.changedJob, changed
	return v.step("update a "+state(job)+" TrainJob to be "+state(c.changedJob), rejected,
		admission.Update(ctx, in, out))
}

// jobSetsOf returns the JobSet of a TrainJob that runs in this cluster: its Pods are active.
func (v *verdicts) jobSetsOf(job upstream.Object) []upstream.Object {
	spec, _ := job["spec"].(upstream.Object)
	elsewhere := v.server.Release.ManagedBy &&
		spec["managedBy"] != "trainer.kubeflow.org/trainjob-controller"
	if state(job) != "running" || elsewhere {
		return nil
	}
	metadata, _ := job["metadata"].(upstream.Object)
	return []upstream.Object{{
		"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
		"metadata": upstream.Object{"name": metadata["name"], "namespace": metadata["namespace"]},
		"status": upstream.Object{
			"replicatedJobsStatus": []any{upstream.Object{"name": "node", "active": int64(1)}}},
	}}
}

func state(job upstream.Object) string {
	spec, _ := job["spec"].(upstream.Object)
	if spec["suspend"] == true {
		return "suspended"
	}
	return "running"
}

// step compares the verdicts on one object.
func (v *verdicts) step(what string, rejected []string, found finding.List) string {
	var errs, stricter finding.List
	for _, f := range found {
		switch {
		case f.Severity != finding.Error:
		case admission.Stricter(v.server.Release, f):
			stricter = append(stricter, f)
		default:
			errs = append(errs, f)
		}
	}
	switch {
	case len(rejected) > 0 && len(errs) == 0:
		return fmt.Sprintf("%s: upstream refuses it\n%s\nfound:\n%v", what,
			strings.Join(rejected, "\n"), found)
	case len(rejected) == 0 && len(errs) > 0:
		return fmt.Sprintf("%s: upstream takes it\n%v", what, errs)
	case len(rejected) == 0:
		v.steps[what+": taken"]++
		for _, f := range stricter {
			v.stricter[f.Code]++
		}
		return ""
	}
	v.steps[what+": refused"]++
	if missing := v.coverage.count(rejectionsOf(v.server.Release), rejected, errs); len(
		missing) > 0 {
		return fmt.Sprintf("%s: refused for other reasons %q\n%s\nfound:\n%v", what, missing,
			strings.Join(rejected, "\n"), errs)
	}
	return ""
}
