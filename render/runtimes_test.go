package render_test

import (
	"fmt"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render"
)

// TestRuntimes_Missing holds that the finding on a missing runtime names three of many runtimes,
// the nearest first.
func TestRuntimes_Missing(t *testing.T) {
	var known render.Runtimes
	for i := range 100 {
		known.Add(fieldpath.Object{Kind: trainer.ClusterTrainingRuntimeKind,
			Name: fmt.Sprintf("torch-%d", i)}, &trainer.TrainingRuntimeSpec{})
	}
	known.Add(fieldpath.Object{Kind: trainer.TrainingRuntimeKind, Namespace: "team", Name: "mine"},
		&trainer.TrainingRuntimeSpec{})
	for _, tc := range []struct{ name, want string }{
		{"trch-50", "did you mean ClusterTrainingRuntime torch-50? Otherwise reference another " +
			"one (ClusterTrainingRuntime torch-0, ClusterTrainingRuntime torch-10, " +
			"ClusterTrainingRuntime torch-20 and 97 more), or add the runtime"},
		{"jax", "reference a known one (ClusterTrainingRuntime torch-0, ClusterTrainingRuntime " +
			"torch-1, ClusterTrainingRuntime torch-10 and 98 more), or add the runtime"},
		{"mine", "did you mean TrainingRuntime team/mine? Otherwise reference another one " +
			"(ClusterTrainingRuntime torch-0, ClusterTrainingRuntime torch-1, " +
			"ClusterTrainingRuntime torch-10 and 97 more), or add the runtime"},
	} {
		job := &trainer.TrainJob{}
		job.Spec.RuntimeRef.Name = tc.name
		if _, missing := known.Find(job); missing == nil || missing.Remedy.Text != tc.want {
			t.Errorf("Find(%q) = %v, want help %q", tc.name, missing, tc.want)
		}
	}
}
