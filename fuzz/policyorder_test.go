package fuzz_test

import (
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	policies "github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestPolicyOrder runs the policies of generated pairs in every order. They write to different
// fields: all orders give one template, up to the order inside lists.
func TestPolicyOrder(t *testing.T) {
	t.Parallel()
	first, several := testenv.Seed(t), 0
	for seed := first; seed < first+uint64(cases(t)/8); seed++ {
		pair := fuzz.Render(
			seed, fuzz.PairOptions{
				Policies: []fuzz.Policy{fuzz.Plain, fuzz.Torch, fuzz.MPI, fuzz.JAX, fuzz.XGBoost,
					fuzz.Flux}})
		in := policies.Input{TrainJob: pair.TrainJob, Runtime: &pair.Runtime.Spec,
			StatusServer: &policies.StatusServer{}}
		names := policies.Acting(in)
		if len(names) < 2 {
			continue
		}
		several++
		var given *trainer.JobSetTemplateSpec
		for order := range ordersOf(names) {
			now, ok := enforced(t, in, pair.TrainJob.Spec.RuntimePatches, order)
			if !ok {
				break
			}
			if given == nil {
				given = now
			}
			if diff := cmp.Diff(unordered(given), unordered(now)); diff != "" {
				t.Errorf("case %d, policies %v: another template (-want +got):\n%s", seed, order,
					diff)
			}
		}
	}
	if several == 0 {
		t.Error("no pair has several policies")
	}
}

// ordersOf yields all orders of some names, the given one first.
func ordersOf(names []string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		if len(names) == 0 {
			yield(nil)
			return
		}
		for i, name := range names {
			for rest := range ordersOf(slices.Delete(slices.Clone(names), i, i+1)) {
				if !yield(append([]string{name}, rest...)) {
					return
				}
			}
		}
	}
}

// enforced returns the merged template after the policies in an order and after spec.trainer.env,
// and whether all of them succeed.
func enforced(t *testing.T, in policies.Input, patches []trainer.RuntimePatch,
	order []string) (*trainer.JobSetTemplateSpec, bool) {
	t.Helper()
	merged, err := runtimepatch.Apply(&in.Runtime.Template, patches, runtimepatch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in.Template, in.Order = &merged.Template, order
	j := policies.NewJob(in)
	if !policies.Enforce(j) {
		return nil, false
	}
	for _, set := range j.Sets {
		j.SetCounts(set)
		if c := set.Container(policies.Node); c != nil && set.Ancestor == policies.Trainer &&
			in.TrainJob.Spec.Trainer != nil {
			j.UpsertEnv(policies.Copied("spec", "trainer", "env"), set.In("containers", c),
				policies.Env(in.TrainJob.Spec.Trainer.Env)...)
		}
	}
	return &merged.Template, true
}
