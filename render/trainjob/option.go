package trainjob

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

// Name is the TrainJob's name, the SDK's Name. It starts with a lower-case letter and consists of
// such letters, digits and hyphens, up to 63.
type Name string

// Namespace is the TrainJob's namespace. The SDK takes it from its client. Without it, the TrainJob
// names none.
type Namespace string

// RuntimeKind is the kind of the runtime, one of RuntimeKinds. The SDK never sends it. By default,
// the API server sets ClusterTrainingRuntime.
type RuntimeKind string

// Labels are the labels of the TrainJob, the SDK's Labels. They do not reach its JobSet.
type Labels map[string]string

// Annotations are the annotations of the TrainJob, the SDK's Annotations. They do not reach its
// JobSet.
type Annotations map[string]string

// TrainerImage is the image of the trainer's container, as in the SDK's CustomTrainerContainer.
type TrainerImage string

// TrainerCommand is the command of the trainer's container, the SDK's TrainerCommand. An empty one
// clears the runtime's.
type TrainerCommand []string

// TrainerArgs are the arguments of the trainer's container, the SDK's TrainerArgs. An empty list
// clears the runtime's.
type TrainerArgs []string

// NumNodes is the number of training nodes, 1 or more. It is num_nodes of the SDK's trainers, which
// treat 0 as unset.
type NumNodes int32

// TrainerEnv adds a variable to the trainer's container, an entry of env of the SDK's trainers. The
// value may be empty.
type TrainerEnv struct {
	Name, Value string
}

// TrainerEnvFrom adds a variable with a value from the cluster, the SDK's TrainerEnvFrom. The
// source has exactly one member of KnownSources.
type TrainerEnvFrom struct {
	Name   string
	Source corev1.EnvVarSource
}

// ActiveDeadlineSeconds ends the TrainJob after that many seconds, 1 or more. The SDK has an option
// of that name.
type ActiveDeadlineSeconds int64

// RuntimeKinds returns the kinds of runtimes, the API server's default first.
func RuntimeKinds() []string {
	return []string{trainer.ClusterTrainingRuntimeKind, trainer.TrainingRuntimeKind}
}

func (o Name) apply(b *builder)      { b.job.Name = string(o) }
func (o Namespace) apply(b *builder) { b.job.Namespace = string(o) }

func (o RuntimeKind) apply(b *builder) { b.job.Spec.RuntimeRef.Kind = new(string(o)) }

func (o Labels) apply(b *builder)      { b.job.Labels = filled(o) }
func (o Annotations) apply(b *builder) { b.job.Annotations = filled(o) }

// filled returns a copy of a map, or nil for an empty one.
func filled(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

func (o TrainerImage) apply(b *builder)   { b.trainer().Image = new(string(o)) }
func (o TrainerCommand) apply(b *builder) { b.trainer().Command = append([]string{}, o...) }
func (o TrainerArgs) apply(b *builder)    { b.trainer().Args = append([]string{}, o...) }
func (o NumNodes) apply(b *builder)       { b.trainer().NumNodes = new(int32(o)) }

func (o TrainerEnv) apply(b *builder) {
	t := b.trainer()
	t.Env = append(t.Env, corev1.EnvVar{Name: o.Name, Value: o.Value})
}

func (o TrainerEnvFrom) apply(b *builder) {
	t := b.trainer()
	t.Env = append(t.Env, corev1.EnvVar{Name: o.Name, ValueFrom: o.Source.DeepCopy()})
}

func (o ActiveDeadlineSeconds) apply(b *builder) { b.deadline = new(int64(o)) }
