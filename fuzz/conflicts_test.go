package fuzz_test

import (
	"encoding/json"
	"maps"
	"slices"
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
// runtime. There, upstream takes the first patch's list as it is. A patch that names an item twice
// keeps both only if it is the first, so over an empty runtime the order decides.
func TestConflictsWithoutRuntime(t *testing.T) {
	const cases = 1000
	first, conflicts, settled := testenv.Seed(t), 0, 0
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
			if !with[key] && slices.ContainsFunc(job.Spec.RuntimePatches, namesTwice) {
				settled++
			} else if !with[key] {
				t.Errorf("seed %d: without the runtime there is a conflict more: %s\n%s", seed, key,
					d.YAML())
			}
		}
	}
	if conflicts < cases/20 || settled > conflicts/20 {
		t.Errorf("%d cases have %d conflicts; a runtime settles %d", cases, conflicts, settled)
	}
}

// namesTwice reports whether a patch names an item of a list twice.
func namesTwice(patch trainer.RuntimePatch) bool {
	text, _ := json.Marshal(patch)
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return false
	}
	var within func(v any) bool
	within = func(v any) bool {
		switch v := v.(type) {
		case map[string]any:
			return slices.ContainsFunc(slices.Collect(maps.Values(v)), within)
		case []any:
			seen := map[[2]any]bool{}
			for _, item := range v {
				fields, _ := item.(map[string]any)
				for _, key := range []string{"name", "mountPath", "devicePath", "containerPort", "ip"} {
					if fields[key] != nil && seen[[2]any{key, fields[key]}] {
						return true
					}
					seen[[2]any{key, fields[key]}] = true
				}
			}
			return slices.ContainsFunc(v, within)
		}
		return false
	}
	return within(tree)
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
