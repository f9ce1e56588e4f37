package fuzz_test

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/fuzz"
	policies "github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestPolicyOrder runs the policies of generated pairs in every order. They write to different fields: all orders give one
// template, up to the order inside lists. So the order decides only which references between variables are expanded. If and
// only if it does, render.OrderConflicts reports a pair of orders.
func TestPolicyOrder(t *testing.T) {
	t.Parallel()
	first, several, reported := testenv.Seed(t), 0, 0
	for seed := first; seed < first+uint64(cases(t)/8); seed++ {
		pair := fuzz.Render(seed, fuzz.PairOptions{Policies: []fuzz.Policy{fuzz.Plain, fuzz.Torch, fuzz.MPI, fuzz.JAX, fuzz.XGBoost, fuzz.Flux}})
		refer(seed, pair.TrainJob)
		in := policies.Input{TrainJob: pair.TrainJob, Runtime: &pair.Runtime.Spec, StatusServer: &policies.StatusServer{}}
		names := policies.Acting(in)
		if len(names) < 2 {
			continue
		}
		several++
		var given *trainer.JobSetTemplateSpec
		depends, failed := false, false
		for order := range ordersOf(names) {
			now, ok := enforced(t, in, pair.TrainJob.Spec.RuntimePatches, order)
			if failed = failed || !ok; failed {
				break
			}
			if given == nil {
				given = now
			}
			if diff := cmp.Diff(unordered(given), unordered(now)); diff != "" {
				t.Errorf("case %d, policies %v: another template (-want +got):\n%s", seed, order, diff)
			}
			depends = depends || len(runtimepatch.Expansions(given, now, names, order)) > 0
		}
		found := render.OrderConflicts(render.Input{TrainJob: pair.TrainJob, Runtime: &pair.Runtime.Spec}, render.Options{FeatureGates: render.FeatureGates{TrainJobStatus: true}})
		got := slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Code == codes.PolicyOrder })
		if !failed && got != depends {
			t.Errorf("case %d, policies %v: an order is reported: %v, want %v: %v", seed, names, got, depends, found)
		}
		if got {
			reported++
		}
	}
	t.Logf("%d pairs with several policies, %d of which depend on their order", several, reported)
	if several == 0 || reported == 0 || reported == several {
		t.Errorf("%d pairs have several policies, and %d depend on their order", several, reported)
	}
}

// refer adds variables that refer to others to spec.trainer.
func refer(seed uint64, job *trainer.TrainJob) {
	if job.Spec.Trainer == nil {
		return
	}
	names := []string{"DMLC_TRACKER_URI", "PET_NNODES", "KUBEFLOW_TRAINER_SERVER_URL", "OTHER", "JAX_NUM_PROCESSES"}
	job.Spec.Trainer.Env = append(job.Spec.Trainer.Env, corev1.EnvVar{Name: "REFERS", Value: fmt.Sprintf("x$(%s)", names[seed%uint64(len(names))])})
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

// enforced returns the merged template after the policies in an order and after spec.trainer.env, and whether all of them succeed.
func enforced(t *testing.T, in policies.Input, patches []trainer.RuntimePatch, order []string) (*trainer.JobSetTemplateSpec, bool) {
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
		if c := set.Container(policies.Node); c != nil && set.Ancestor == policies.Trainer && in.TrainJob.Spec.Trainer != nil {
			j.UpsertEnv(policies.Copied("spec", "trainer", "env"), set.In("containers", c), policies.Env(in.TrainJob.Spec.Trainer.Env)...)
		}
	}
	return &merged.Template, true
}
