package upstream21_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fuzz/upstream21"
)

// TestMain lets the heap grow: much of the time went into collecting the garbage of small cases.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

// TestPairs compares what generated TrainJobs of Trainer 2.1 render to: half of them the same in every run, half
// of them new. TRAINWELD_PAIRS says how many, TRAINWELD_SEED which new ones, and TRAINWELD_PAIR asks for
// a single one.
func TestPairs(t *testing.T) {
	p := start(t)
	if seed, ok := number(t, "TRAINWELD_PAIR"); ok {
		p.check(t, seed)
		return
	}
	n, ok := number(t, "TRAINWELD_PAIRS")
	if !ok {
		n = 2000
		if testing.Short() {
			n = 100
		}
	}
	for seed := range (n + 1) / 2 {
		p.check(t, seed)
	}
	series, ok := number(t, "TRAINWELD_SEED")
	if !ok {
		series = 1 // as a run of CI has it each time: this module cannot link internal/testenv
		if os.Getenv("CI") == "" {
			series = rand.Uint64()
		}
	}
	t.Logf("new pairs of this run: TRAINWELD_SEED=%d", series)
	fresh := rand.New(rand.NewPCG(series, 0))
	for range n / 2 {
		p.check(t, fresh.Uint64())
	}
	t.Logf("%d pairs: %d equal, %d of them with several overrides for one job, %d that Trainer 2.1 fails on", n, p.equal, p.overlapping, p.failed)
	if p.equal < int(n)*3/4 || p.overlapping < int(n)/4 {
		t.Errorf("only %d of %d pairs were compared, %d of them with several overrides for one job: the generator makes too little", p.equal, n, p.overlapping)
	}
}

func number(t *testing.T, variable string) (uint64, bool) {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: want a number: %v", variable, text, err)
	}
	return n, true
}

type pairs struct {
	oracle                     *upstream21.Oracle
	trainweld                  *upstream21.Trainweld
	equal, overlapping, failed int
}

func start(t *testing.T) *pairs {
	t.Helper()
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubeflow/trainer/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	oracle, err := upstream21.New(strings.TrimSpace(string(module)))
	if err != nil {
		t.Fatal(err)
	}
	trainweld, err := upstream21.StartTrainweld("../..", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := trainweld.Stop(); err != nil {
			t.Error(err)
		}
	})
	return &pairs{oracle: oracle, trainweld: trainweld}
}

// check compares one pair. It fails the test with the smallest pair that still differs.
func (p *pairs) check(t *testing.T, seed uint64) {
	t.Helper()
	pair, err := p.trainweld.Generate(seed)
	if err != nil {
		t.Fatal(err)
	}
	job, runtime := pair.TrainJob, pair.Runtime
	broken := p.broken(job, runtime)
	if broken == "" {
		return
	}
	for next := upstream21.Smaller(job, runtime); ; {
		small, ok := next()
		if !ok {
			break
		}
		if text := p.broken(small[0], small[1]); kindOf(text) == kindOf(broken) {
			job, runtime, broken = small[0], small[1], text
			next = upstream21.Smaller(job, runtime)
		}
	}
	t.Fatalf("pair %d: %s\n\nthe smallest pair that still does:\n%s\nrun it again: cd fuzz/upstream21 && TRAINWELD_PAIR=%d go test -run '^TestPairs$' .",
		seed, broken, text(job, runtime), seed)
}

// kindOf is the first line of what is wrong: shrinking keeps to it.
func kindOf(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// broken says what is wrong with the pair's rendering, or "".
func (p *pairs) broken(job, runtime upstream21.Object) string {
	// Neither side is given what the CRDs of Trainer 2.1 do not have: the API server drops it.
	job, err := p.oracle.Prune(job)
	if err != nil {
		return "cannot be pruned\n" + err.Error()
	}
	if runtime, err = p.oracle.Prune(runtime); err != nil {
		return "cannot be pruned\n" + err.Error()
	}
	got, err := p.trainweld.Render(job, runtime)
	if err != nil {
		return "cannot be read\n" + err.Error()
	}
	want := p.oracle.Render(job, runtime)
	for _, refusal := range want.Refused {
		if strings.HasPrefix(refusal, "spec.podTemplateOverrides") && len(got.Refused) == 0 {
			return "trainweld takes overrides that Trainer 2.1 rejects\n" + refusal
		}
	}
	switch {
	case want.Err != nil:
		p.failed++
		return ""
	case got.JobSet == nil:
		return fmt.Sprintf("trainweld has no JobSet\n%v", got.Refused)
	}
	if diff := cmp.Diff(want.JobSet, got.JobSet); diff != "" {
		return "trainweld renders something else than Trainer 2.1\n" + diff
	}
	p.equal++
	if overlaps(job) {
		p.overlapping++
	}
	return ""
}

// overlaps reports whether two overrides are for one job.
func overlaps(job upstream21.Object) bool {
	seen := map[any]bool{}
	spec, _ := job["spec"].(upstream21.Object)
	overrides, _ := spec["podTemplateOverrides"].([]any)
	for _, override := range overrides {
		own := map[any]bool{}
		targets, _ := override.(upstream21.Object)["targetJobs"].([]any)
		for _, target := range targets {
			name := target.(upstream21.Object)["name"]
			if seen[name] {
				return true
			}
			own[name] = true
		}
		for name := range own {
			seen[name] = true
		}
	}
	return false
}

func text(objects ...upstream21.Object) string {
	var b strings.Builder
	for _, object := range objects {
		data, err := yaml.Marshal(object)
		if err != nil {
			return err.Error()
		}
		b.WriteString("---\n" + string(data))
	}
	return b.String()
}
