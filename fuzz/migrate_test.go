package fuzz_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/legacy"
)

// TestMigrate migrates generated TrainJobs of Trainer 2.1. Each is rejected for a reason that one
// patch really cannot say, or both forms render to the same JobSet. A second rendering of both
// shows that the proof does not depend on its caller. The module fuzz/upstream holds both sides
// against the Trainer's own code.
func TestMigrate(t *testing.T) {
	t.Parallel()
	if seed, ok := testenv.Number(t, "TRAINWELD_CASE"); ok {
		checkMigrate(t, seed, map[string]int{})
		return
	}
	n := cases(t) / 5
	count := map[string]int{}
	for seed := range uint64(n/2 + 1) {
		checkMigrate(t, seed, count)
	}
	fresh := rand.New(rand.NewPCG(testenv.Seed(t), 3))
	for range n / 2 {
		checkMigrate(t, fresh.Uint64(), count)
	}
	t.Logf("%d TrainJobs: %v", n, count)
	if count["proved"] < n*3/4 {
		t.Errorf("only %d of %d TrainJobs were migrated: the generator makes too much that is "+
			"refused", count["proved"], n)
	}
}

func checkMigrate(t *testing.T, seed uint64, count map[string]int) {
	t.Helper()
	pair := fuzz.Old(seed)
	outcome, broken := migrate(pair)
	count[outcome]++
	if broken == "" {
		return
	}
	kind, _, _ := strings.Cut(broken, "\n")
	for n := 0; ; n++ {
		small := *pair
		small.Overrides, small.TrainJob, small.Runtime = pair.Overrides.DeepCopy(),
			pair.TrainJob.DeepCopy(), pair.Runtime.DeepCopy()
		if !fuzz.Drop(n, small.Overrides, &small.TrainJob.Spec, &small.Runtime.Spec) {
			break
		}
		if _, text := migrate(&small); strings.HasPrefix(text, kind) {
			pair, broken, n = &small, text, -1
		}
	}
	var text strings.Builder
	for _, o := range []any{pair.Runtime.Spec, pair.TrainJob.Spec, pair.Overrides} {
		data, err := yaml.Marshal(o)
		text.WriteString(fmt.Sprintf("---\n%s%v\n", data, err))
	}
	t.Fatalf("%v: %s\n\nthe smallest that still does:\n%s\nrun it again: GOWORK=off "+
		"TRAINWELD_CASE=%d go test -C fuzz . -run '^TestMigrate$'", pair, broken, text.String(),
		seed)
}

const migrateManager = "example.com/migrated"

// migrate returns the outcome for the TrainJob, and the fault in it or "".
func migrate(pair *fuzz.OldPair) (outcome, broken string) {
	job, runtime := pair.TrainJob.DeepCopy(), pair.Runtime.DeepCopy()
	render.DefaultTrainJob(job, nil)
	render.DefaultRuntime(&runtime.Spec, nil)
	in := render.Input{TrainJob: job, Runtime: &runtime.Spec}
	m := render.Migrate(in, pair.Overrides, migrateManager)
	switch {
	case m.TrainJob != nil && !m.Proved:
		return "", "it is neither proved nor refused"
	case m.TrainJob == nil && m.Findings.Err() == nil:
		return "", "it is refused, and nobody says why"
	case m.TrainJob == nil:
		for _, f := range m.Findings {
			switch {
			case f.Severity < finding.Error:
			case !slices.Contains(rejections, f.Code):
				return "", fmt.Sprintf("refused with %s\n%s", f.Code, f.Error())
			default:
				outcome = "refused with " + string(f.Code)
			}
		}
		return outcome, ""
	}
	if len(m.TrainJob.Spec.RuntimePatches) > 1 {
		return "", "several patches"
	}
	before := overridden(in, pair.Overrides)
	render.DefaultPatches(m.TrainJob.Spec.RuntimePatches, nil)
	after, _ := render.JobSet(render.Input{TrainJob: m.TrainJob, Runtime: in.Runtime},
		render.Options{})
	one, err := yaml.Marshal(before)
	if err != nil {
		return "", err.Error()
	}
	other, err := yaml.Marshal(after.JobSet)
	if err != nil {
		return "", err.Error()
	}
	if string(one) != string(other) {
		return "", fmt.Sprintf("it is called proved, and is not\n%s---\n%s", one, other)
	}
	return "proved", ""
}

// rejections are the reasons for which a generated TrainJob cannot be migrated. Either two
// overrides give one volume two sources, which no cluster takes, or one patch cannot say the same.
var rejections = []finding.Code{codes.Union, codes.NotMigrated}

func overridden(in render.Input, overrides *legacy.Overrides) any {
	layers := overrides.DeepCopy()
	render.DefaultPatches(layers.Patches(), nil)
	out, _ := render.JobSet(
		render.Input{TrainJob: in.TrainJob, Runtime: in.Runtime, Layers: layers}, render.Options{})
	return out.JobSet
}

// TestMigrateWithoutRuntime migrates TrainJobs without a runtime, and so without a proof. That
// works whenever the order of new items does not depend on the runtime.
func TestMigrateWithoutRuntime(t *testing.T) {
	t.Parallel()
	migrated := 0
	for seed := range uint64(300) {
		pair := fuzz.Old(seed)
		render.DefaultTrainJob(pair.TrainJob, nil)
		m := render.Migrate(render.Input{TrainJob: pair.TrainJob}, pair.Overrides, migrateManager)
		if m.Proved {
			t.Fatalf("%v is proved without a runtime", pair)
		}
		if m.TrainJob != nil {
			migrated++
		}
	}
	if migrated < 200 {
		t.Errorf("%d of 300 were migrated", migrated)
	}
}
