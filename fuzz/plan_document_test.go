package fuzz_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestMinimalIn changes whole TrainJobs. Nothing outside a manager's entry changes.
func TestMinimalIn(t *testing.T) {
	cases := testenv.Cases(t, 1200)
	first, planned, rejected := testenv.Seed(t), 0, 0
	for seed := first; seed < first+cases; seed++ {
		d := fuzz.Document(seed, fuzz.DocumentOptions{Managers: int(1 + seed%4)})
		job, runtime := &trainer.TrainJob{}, &trainer.TrainingRuntime{}
		if !decodes(d.TrainJob, job) || !decodes(d.Runtime, runtime) ||
			len(job.Spec.RuntimePatches) == 0 {
			continue
		}
		before := encode(d.TrainJob)
		want := job.Spec.RuntimePatches[int(seed)%len(job.Spec.RuntimePatches)]
		for _, manager := range []string{want.Manager, "new.example/manager"} {
			want.Manager = manager
			got, err := runtimepatch.MinimalIn(&runtime.Spec.Template, d.TrainJob, want)
			var conflicts conflict.Conflicts
			var failed *runtimepatch.PatchError
			if err != nil && !errors.As(err, &conflicts) && !errors.As(err, &failed) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if err != nil {
				rejected++
				if got, err = runtimepatch.UpsertIn(d.TrainJob, want); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			} else {
				planned++
			}
			if x, y := without(d.TrainJob, manager), without(got, manager); !bytes.Equal(x, y) {
				t.Errorf("seed %d: something outside the entry changes:\n%s\n%s", seed, x, y)
			}
			if entry, ok := entryOf(encode(got), manager); ok {
				if again, err := runtimepatch.UpsertIn(got, entry); err != nil ||
					!bytes.Equal(encode(again), encode(got)) {
					t.Errorf("seed %d: the same entry again gives %v\n%s", seed, err, encode(again))
				}
			}
		}
		if removed, err := runtimepatch.RemoveIn(d.TrainJob, "new.example/manager"); err != nil ||
			!bytes.Equal(encode(removed), before) {
			t.Errorf("seed %d: RemoveIn without an entry gives %v\n%s", seed, err, encode(removed))
		}
		if with, err := runtimepatch.UpsertIn(d.TrainJob, want); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		} else if removed, err := runtimepatch.RemoveIn(with, want.Manager); err != nil ||
			!bytes.Equal(encode(removed), before) {
			t.Errorf("seed %d: RemoveIn after UpsertIn gives %v\n%s", seed, err, encode(removed))
		}
		if !bytes.Equal(encode(d.TrainJob), before) {
			t.Errorf("seed %d: the given TrainJob changes", seed)
		}
	}
	if planned < int(cases) || rejected < int(cases)/20 {
		t.Errorf("%d plans and %d refusals; the test looks at the wrong cases", planned, rejected)
	}
}

// without is a TrainJob's encoding without a manager's entry, nor an empty list.
func without(document map[string]any, manager string) []byte {
	copied := decode(encode(document)).(map[string]any)
	spec := copied["spec"].(map[string]any)
	list, _ := spec["runtimePatches"].([]any)
	list = slices.DeleteFunc(list, func(entry any) bool {
		return entry.(map[string]any)["manager"] == manager
	})
	if spec["runtimePatches"] = list; len(list) == 0 {
		delete(spec, "runtimePatches")
	}
	return encode(copied)
}

// entryOf returns the manager's entry in a TrainJob.
func entryOf(text []byte, manager string) (trainer.RuntimePatch, bool) {
	job := &trainer.TrainJob{}
	must(json.Unmarshal(text, job))
	for _, p := range job.Spec.RuntimePatches {
		if p.Manager == manager {
			return p, true
		}
	}
	return trainer.RuntimePatch{}, false
}
