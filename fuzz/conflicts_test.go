package fuzz_test

import (
	"encoding/json"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
)

// TestConflictsWithoutRuntime checks that managers disagree in the same fields whatever the runtime
// is. If a TrainJob's runtime is missing, the command conflicts compares its patches over an empty
// runtime.
func TestConflictsWithoutRuntime(t *testing.T) {
	const cases = 1000
	first, conflicts := testenv.Seed(t), 0
	for seed := first; seed < first+cases; seed++ {
		d := fuzz.Document(seed, fuzz.DocumentOptions{Managers: int(2 + seed%4)})
		job, runtime := &trainer.TrainJob{}, &trainer.TrainingRuntime{}
		if !decodes(d.TrainJob, job) || !decodes(d.Runtime, runtime) {
			continue
		}
		with := disagreements(
			render.Conflicts(render.Input{TrainJob: job, Runtime: &runtime.Spec}, render.Options{}))
		for key := range disagreements(
			render.Conflicts(render.Input{TrainJob: job, Runtime: &trainer.TrainingRuntimeSpec{}},
				render.Options{})) {
			conflicts++
			if !with[key] {
				t.Errorf("seed %d: without the runtime there is a conflict more: %s\n%s", seed, key,
					d.YAML())
			}
		}
	}
	if conflicts < cases/20 {
		t.Errorf("%d cases have %d conflicts", cases, conflicts)
	}
}

func decodes(document, into any) bool {
	text, err := json.Marshal(document)
	return err == nil && json.Unmarshal(text, into) == nil
}

func disagreements(found finding.List) map[string]bool {
	keys := map[string]bool{}
	for _, f := range found {
		if f.Code == codes.Overlap || f.Code == codes.Union {
			keys[string(f.Code)+" "+f.Path.String()+" "+f.Message] = true
		}
	}
	return keys
}
