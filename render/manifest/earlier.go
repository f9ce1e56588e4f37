package manifest

import (
	"encoding/json"
	"reflect"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/release"
)

// earlierTrainJob is a TrainJob with the fields of all releases (Trainer v2.0.1 and v2.1.0 pkg/apis/trainer/v1alpha1).
type earlierTrainJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   earlierTrainJobSpec    `json:"spec,omitempty"`
	Status trainer.TrainJobStatus `json:"status,omitempty"`
}

type earlierTrainJobSpec struct {
	trainer.TrainJobSpec `json:",inline"`
	legacy.Overrides     `json:",inline"`
	Trainer              *earlierTrainer `json:"trainer,omitempty"`
}

type earlierTrainer struct {
	trainer.Trainer `json:",inline"`
	NumProcPerNode  *intstr.IntOrString `json:"numProcPerNode,omitempty"`
}

// earlierRuntime is a runtime of either kind with the fields of all releases.
type earlierRuntime struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec earlierRuntimeSpec `json:"spec,omitempty"`
}

type earlierRuntimeSpec struct {
	trainer.TrainingRuntimeSpec `json:",inline"`
	MLPolicy                    *earlierMLPolicy `json:"mlPolicy,omitempty"`
}

type earlierMLPolicy struct {
	trainer.MLPolicy `json:",inline"`
	Torch            *earlierTorch `json:"torch,omitempty"`
}

type earlierTorch struct {
	trainer.TorchMLPolicySource `json:",inline"`
	NumProcPerNode              *intstr.IntOrString `json:"numProcPerNode,omitempty"`
	// No controller read it.
	ElasticPolicy map[string]any `json:"elasticPolicy,omitempty"`
}

// split returns the TrainJob of today's API, and the fields of earlier ones.
func (j *earlierTrainJob) split() (*trainer.TrainJob, *legacy.Overrides, legacy.Earlier) {
	today := &trainer.TrainJob{TypeMeta: j.TypeMeta, ObjectMeta: j.ObjectMeta, Spec: j.Spec.TrainJobSpec, Status: j.Status}
	var earlier legacy.Earlier
	if t := j.Spec.Trainer; t != nil {
		today.Spec.Trainer, earlier.NumProcPerNode = &t.Trainer, t.NumProcPerNode
	}
	overrides := &j.Spec.Overrides
	if reflect.ValueOf(*overrides).IsZero() {
		overrides = nil
	}
	return today, overrides, earlier
}

// split returns the runtime of a kind of today's API, and the fields of earlier ones with their defaults.
func (r *earlierRuntime) split(kind string, fields *release.Field) (any, legacy.Earlier) {
	spec := r.Spec.TrainingRuntimeSpec
	var earlier legacy.Earlier
	if p := r.Spec.MLPolicy; p != nil {
		spec.MLPolicy = &p.MLPolicy
		if p.Torch != nil {
			spec.MLPolicy.Torch, earlier.TorchNumProcPerNode = &p.Torch.TorchMLPolicySource, p.Torch.NumProcPerNode
			if f := fields.Find("spec", "mlPolicy", "torch", "numProcPerNode"); earlier.TorchNumProcPerNode == nil && f.Default != nil {
				// A definition's default fits its type.
				_ = json.Unmarshal(f.Default, &earlier.TorchNumProcPerNode)
			}
		}
	}
	if kind == trainer.TrainingRuntimeKind {
		return &trainer.TrainingRuntime{TypeMeta: r.TypeMeta, ObjectMeta: r.ObjectMeta, Spec: spec}, earlier
	}
	return &trainer.ClusterTrainingRuntime{TypeMeta: r.TypeMeta, ObjectMeta: r.ObjectMeta, Spec: spec}, earlier
}
