package fuzz_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/fuzz"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestPlanIn edits whole TrainJobs, as objects and as JSON of any style. The edits change nothing outside a manager's entry.
func TestPlanIn(t *testing.T) {
	cases := testenv.Cases(t, 1200)
	first, planned, rejected := testenv.Seed(t), 0, 0
	for seed := first; seed < first+cases; seed++ {
		d := fuzz.Document(seed, fuzz.DocumentOptions{Managers: int(1 + seed%4)})
		job, runtime := &trainer.TrainJob{}, &trainer.TrainingRuntime{}
		if !decodes(d.TrainJob, job) || !decodes(d.Runtime, runtime) || len(job.Spec.RuntimePatches) == 0 {
			continue
		}
		text := styled(d.TrainJob, rand.New(rand.NewPCG(seed, 3)))
		want := job.Spec.RuntimePatches[int(seed)%len(job.Spec.RuntimePatches)]
		for _, manager := range []string{want.Manager, "new.example/manager"} {
			want.Manager = manager
			asJSON, err := runtimepatch.MinimalIn(&runtime.Spec.Template, text, want)
			asObject, errOfObject := runtimepatch.MinimalIn(&runtime.Spec.Template, d.Clone().TrainJob, want)
			if (err == nil) != (errOfObject == nil) {
				t.Fatalf("seed %d: PlanIn returns %v for JSON, %v for an object", seed, err, errOfObject)
			}
			var conflicts conflict.Conflicts
			var failed *runtimepatch.PatchError
			if err != nil && !errors.As(err, &conflicts) && !errors.As(err, &failed) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if err != nil {
				rejected++
				if asJSON, err = runtimepatch.UpsertIn(text, want); err == nil {
					asObject, err = runtimepatch.UpsertIn(d.Clone().TrainJob, want)
				}
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			} else {
				planned++
			}
			if !reflect.DeepEqual(decode(asJSON), decode(encode(asObject))) {
				t.Errorf("seed %d: JSON and an object give\n%s\n%s", seed, asJSON, encode(asObject))
			}
			if x, y := without(d.TrainJob, manager), without(asObject, manager); !bytes.Equal(x, y) {
				t.Errorf("seed %d: something outside the entry changes:\n%s\n%s", seed, x, y)
			}
			if problem := outsideOf(text, asJSON, manager); problem != "" {
				t.Errorf("seed %d: %s:\n%s\n%s", seed, problem, text, asJSON)
			}
			if entry, ok := entryOf(asJSON, manager); ok {
				if again, err := runtimepatch.UpsertIn(asJSON, entry); err != nil || !bytes.Equal(again, asJSON) {
					t.Errorf("seed %d: the same entry again gives %v\n%s", seed, err, again)
				}
			}
		}
		if removed, err := runtimepatch.RemoveIn(text, "new.example/manager"); err != nil || !bytes.Equal(removed, text) {
			t.Errorf("seed %d: RemoveIn without an entry gives %v\n%s", seed, err, removed)
		}
		if with, err := runtimepatch.UpsertIn(text, want); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		} else if removed, err := runtimepatch.RemoveIn(with, want.Manager); err != nil || !bytes.Equal(removed, text) {
			t.Errorf("seed %d: RemoveIn after UpsertIn gives %v\n%s", seed, err, removed)
		}
	}
	if planned < int(cases) || rejected < int(cases)/20 {
		t.Errorf("%d plans and %d refusals; the test looks at the wrong cases", planned, rejected)
	}
}

// styled encodes a document in one of several styles.
func styled(document any, rng *rand.Rand) []byte {
	var out bytes.Buffer
	switch text := encode(document); rng.IntN(4) {
	case 0:
		return text
	case 1:
		must(json.Indent(&out, text, "", "\t"))
	case 2:
		must(json.Indent(&out, text, "  ", "    "))
	default:
		must(json.Indent(&out, text, "", ""))
		return append(bytes.ReplaceAll(out.Bytes(), []byte("\n"), []byte(strings.Repeat(" ", rng.IntN(2)))), " \n"...)
	}
	return out.Bytes()
}

// without is a TrainJob's encoding without a manager's entry, nor an empty list.
func without(document map[string]any, manager string) []byte {
	copied := decode(encode(document)).(map[string]any)
	spec := copied["spec"].(map[string]any)
	list, _ := spec["runtimePatches"].([]any)
	list = slices.DeleteFunc(list, func(entry any) bool { return entry.(map[string]any)["manager"] == manager })
	if spec["runtimePatches"] = list; len(list) == 0 {
		delete(spec, "runtimePatches")
	}
	return encode(copied)
}

// outsideOf finds a byte that changes outside the manager's entry. A removed entry takes a comma and white space along.
func outsideOf(before, after []byte, manager string) string {
	start := 0
	for start < min(len(before), len(after)) && before[start] == after[start] {
		start++
	}
	end := 0
	for end < min(len(before), len(after))-start && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	old := before[start : len(before)-end]
	own := []byte(`"` + manager + `"`)
	switch {
	case len(bytes.TrimSpace(old)) == 0:
		return ""
	case !bytes.Contains(before, own):
		return "a new entry replaces something"
	case bytes.Count(old, []byte(`"manager"`)) > 1 && bytes.Contains(after, own):
		return "another entry changes"
	default:
		return ""
	}
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
