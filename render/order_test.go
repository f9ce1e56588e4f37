package render_test

import (
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/mlpolicy"
)

// TestOrderConflicts_Policies holds the case of https://github.com/kubeflow/trainer/issues/3887 and 3957: the order of the
// controller's plugins changes the meaning of a variable.
func TestOrderConflicts_Policies(t *testing.T) {
	for _, c := range []struct {
		name, value string
		source      trainer.MLPolicySource
		gates       render.FeatureGates
		want        []string // the effects of both orders
	}{
		{"a variable of xgboost", "$(DMLC_TRACKER_URI):1", trainer.MLPolicySource{XGBoost: &trainer.XGBoostMLPolicySource{}}, render.FeatureGates{},
			[]string{"$(DMLC_TRACKER_URI) stays as written", "$(DMLC_TRACKER_URI) is expanded"}},
		{"an escaped reference", "$$(DMLC_TRACKER_URI)", trainer.MLPolicySource{XGBoost: &trainer.XGBoostMLPolicySource{}}, render.FeatureGates{}, nil},
		{"a variable of torch, which sets spec.trainer.env first", "$(PET_NNODES)", trainer.MLPolicySource{Torch: &trainer.TorchMLPolicySource{}}, render.FeatureGates{}, nil},
		{"a variable of TrainJobStatus", "$(KUBEFLOW_TRAINER_SERVER_URL)", trainer.MLPolicySource{}, render.FeatureGates{TrainJobStatus: true},
			[]string{"$(KUBEFLOW_TRAINER_SERVER_URL) stays as written", "$(KUBEFLOW_TRAINER_SERVER_URL) is expanded"}},
		{"without its feature gate", "$(KUBEFLOW_TRAINER_SERVER_URL)", trainer.MLPolicySource{}, render.FeatureGates{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			runtime := &trainer.TrainingRuntimeSpec{
				MLPolicy: &trainer.MLPolicy{MLPolicySource: c.source},
				Template: trainer.JobSetTemplateSpec{Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{{
					Name: "node",
					Template: batchv1.JobTemplateSpec{
						ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{mlpolicy.Ancestor: mlpolicy.Trainer}},
						Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: mlpolicy.Node}}}}},
					},
				}}}},
			}
			job := &trainer.TrainJob{Spec: trainer.TrainJobSpec{Trainer: &trainer.Trainer{Env: []corev1.EnvVar{{Name: "ADDRESS", Value: c.value}}}}}
			var got []string
			for _, f := range render.OrderConflicts(render.Input{TrainJob: job, Runtime: runtime}, render.Options{FeatureGates: c.gates}) {
				if f.Code != codes.PolicyOrder || f.Severity != finding.Error {
					t.Errorf("a finding %v", f)
				}
				for _, order := range f.Orders {
					got = append(got, order.Effect)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("OrderConflicts() = %q, want %q", got, c.want)
			}
		})
	}
}
