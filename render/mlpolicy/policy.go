// Package mlpolicy, which is not promised, computes the writes of a runtime's policies to a JobSet,
// and their companions. Each policy has one file of pure functions, with the policy's name in the
// runtime.
//
//	job := policy.NewJob(policy.Input{TrainJob: trainJob, Runtime: &runtime.Spec, Template: &merged})
//	if policy.Enforce(job) {
//		policy.Schedule(job)
//		objects := policy.Companions(job, policy.Payload{})
//	}
//	report(job.Findings)
//
// The functions write the same fields as the controller's plugins (Trainer v2.3.0
// pkg/runtime/framework/plugins). Where releases differ, they read the behaviour from
// Input.Release. They keep their order and their oddities. A comment names each oddity. A finding
// reports each effect that the author of a file probably did not intend. The functions run after
// the managers' patches, so their writes win. Package render calls them.
//
// # Order
//
// The controller runs its plugins in the random order of a Go map. This affects only the order of
// environment variables, if two plugins write to the same container. So it decides whether a
// variable of spec.trainer that refers to a plugin's variable is expanded. Here the order is fixed,
// unless Input.Order changes it. It is plain (the variables of spec.trainer), then torch, mpi, jax,
// xgboost or flux, then the feature gate TrainJobStatus. A cluster may have the same variables in
// another order.
//
// Its first file to read is policy.go.
package mlpolicy

import (
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

const (
	// Ancestor is the label of a replicated job's template with the section of the TrainJob that
	// the job belongs to. Its values are Trainer, DatasetInitializer and ModelInitializer.
	Ancestor           = "trainer.kubeflow.org/trainjob-ancestor-step"
	Trainer            = "trainer"
	DatasetInitializer = "dataset-initializer"
	ModelInitializer   = "model-initializer"
	// Node is the name of the trainer's container, and of its job in most runtimes.
	Node = "node"

	port = 29500
	// indexPath is the field path of a Pod's completion index.
	indexPath = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
)

// Input is the input of the policies.
type Input struct {
	// Release is the release of the Trainer; nil means the latest one.
	Release *release.Release
	// Earlier holds fields of earlier releases. The definitions of later ones remove them.
	Earlier legacy.Earlier
	// TrainJob is the job. The policies do not change it.
	TrainJob *trainer.TrainJob
	// Runtime is the runtime's spec with the policies. They do not change it.
	Runtime *trainer.TrainingRuntimeSpec
	// Template is the runtime's template with the managers' patches. The policies take it over and
	// write to it.
	Template *trainer.JobSetTemplateSpec
	// TrainJobID and RuntimeID name the two inputs in findings.
	TrainJobID, RuntimeID fieldpath.Object
	// StatusServer is the server that Pods report their progress to under the feature gate
	// TrainJobStatus. It is nil if the gate is off.
	StatusServer *StatusServer
	// Order names the policies that act, in the order in which they run. They are the policies of
	// Acting; nil means Acting's order.
	Order []string
	// Record receives every write, unless it is nil. Its arguments are the layer, the origin of the
	// value in the input, the field, and both values. Values have the field's Go type, without a
	// pointer; nil means a missing field. The value for a list that merges by key is the whole
	// item.
	Record func(layer merge.Owner, from merge.Origin, path fieldpath.Path, before, now any)
}

// Job is the JobSet of a TrainJob while the policies write to it.
type Job struct {
	Input
	// Sets are the replicated jobs in their order.
	Sets []*PodSet
	// Command and Args belong to the trainer. spec.trainer or a policy set them; nil means that
	// neither did. CommandFrom is the writer of the command.
	Command, Args []string
	CommandFrom   Writer
	// Findings are the findings of the policies.
	Findings finding.List

	by    Writer // the runtime's policy
	slots int32  // of a node, under MPI

	claimed int // GPUs of the claims of a node
}

// PodSet is one replicated job and the number of Pods in each of its Jobs.
type PodSet struct {
	*jobset.ReplicatedJob
	// Ancestor is the value of the label Ancestor, or "" without the label.
	Ancestor string
	// Count becomes the parallelism and the completions of the Jobs.
	Count int32
	// CountFrom is the writer of Count.
	CountFrom Writer

	// replicas are the template's replicas before the controller sets them to one. An MPI hostfile
	// uses them.
	replicas int32
	// given are the resources of the node container before spec.trainer changed them, or nil. A
	// gang may count them.
	given *corev1.ResourceRequirements
}

// NewJob counts the Pods and writes resourcesPerNode into the node containers of the template.
// Trainer v2.3.0 pkg/runtime/core newRuntimeInfo does so before any policy runs. Earlier releases
// write it last, but their policies prefer resourcesPerNode to the container's resources. So the
// order makes no difference.
func NewJob(in Input) *Job {
	in.Release = in.Release.Or()
	if in.Record == nil {
		in.Record = func(merge.Owner, merge.Origin, fieldpath.Path, any, any) {}
	}
	j := &Job{Input: in, CommandFrom: Copied("spec", "trainer", "command")}
	j.by = j.writer()
	if t := in.TrainJob.Spec.Trainer; t != nil {
		j.Command, j.Args = t.Command, t.Args
	}
	mlPolicy := in.Runtime.MLPolicy
	jobs := in.Template.Spec.ReplicatedJobs
	for i := range jobs {
		rj := &jobs[i]
		set := &PodSet{ReplicatedJob: rj, Ancestor: rj.Template.Labels[Ancestor], Count: 1,
			CountFrom: j.by, replicas: rj.Replicas}
		if set.replicas == 0 {
			set.replicas = 1 // the controller loses the zero, and the JobSet API fills in one
		}
		if p := rj.Template.Spec.Parallelism; p != nil {
			set.Count, set.CountFrom = *p,
				Writer{runtimepatch.RuntimeLayer,
					merge.Origin{
						Path: inRuntime(append(set.JobPath(), fieldpath.Field("parallelism")))}}
		}
		if set.Ancestor == Trainer && mlPolicy != nil {
			// The template's own parallelism has no effect here.
			set.Count, set.CountFrom = 1, j.by
			if mlPolicy.NumNodes != nil {
				set.Count, set.CountFrom = *mlPolicy.NumNodes,
					j.by.from("spec", "mlPolicy", "numNodes")
			}
		}
		if set.Count < 1 {
			set.Count, set.CountFrom = 1, j.by
		}
		j.Sets = append(j.Sets, set)
		j.resources(set)
		j.claims(set)
	}
	j.checkTrainer()
	return j
}

// Enforce runs the runtime's machine-learning policy. It returns false if the controller would fail
// or panic on every retry. A finding then gives the cause and the remedy.
func Enforce(j *Job) bool {
	policies := j.policies()
	for _, name := range j.order() {
		for _, p := range policies {
			if p.name == name && p.isActive && !p.write(j) {
				return false
			}
		}
	}
	return true
}

// Schedule runs the runtime's gang schedulers, which mark the Pods. A runtime may have both. Call
// it last, after the TrainJob's own sections.
func Schedule(j *Job) {
	coscheduling(j)
	volcano(j)
	j.checkGang()
}

// source returns the runtime's policy. Its members are nil in a runtime without one. The CRD allows
// only one member.
func (j *Job) source() trainer.MLPolicySource {
	if j.Runtime.MLPolicy == nil {
		return trainer.MLPolicySource{}
	}
	return j.Runtime.MLPolicy.MLPolicySource
}

// policyName returns the name of the runtime's policy in ownership, or plain without a policy.
func (j *Job) policyName() string {
	for _, p := range j.policies() {
		if p.isActive && p.name != plainName && p.name != statusName {
			return p.name
		}
	}
	return plainName
}

// Layer returns the layer of the runtime's policy.
func (j *Job) Layer() merge.Owner { return runtimepatch.PolicyLayer(j.policyName()) }

// trainerSet returns the first job with the trainer's ancestor label, or nil.
func (j *Job) trainerSet() *PodSet {
	for _, set := range j.Sets {
		if set.Ancestor == Trainer {
			return set
		}
	}
	return nil
}

// trainerNode returns the node container of the first trainer job. It returns false without
// spec.trainer, since the controller then does not change the container.
func (j *Job) trainerNode() (c Place, found bool) {
	set := j.trainerSet()
	if j.TrainJob.Spec.Trainer == nil || set == nil {
		return Place{}, false
	}
	node := set.Container(Node)
	if node == nil {
		return Place{}, false
	}
	return set.In("containers", node), true
}

// set returns the job of the given name, or nil.
func (j *Job) set(name string) *PodSet {
	for _, set := range j.Sets {
		if set.Name == name {
			return set
		}
	}
	return nil
}

func (s *PodSet) pod() *corev1.PodSpec { return &s.Template.Spec.Template.Spec }

// Containers returns the job's containers without init containers.
func (s *PodSet) Containers() []corev1.Container { return s.pod().Containers }

// Container returns the job's container of the given name, or nil. It does not search init
// containers.
func (s *PodSet) Container(name string) *corev1.Container {
	containers := s.Containers()
	for i := range containers {
		if containers[i].Name == name {
			return &containers[i]
		}
	}
	return nil
}

// containerOrInit searches the containers first, and then the init containers.
func (s *PodSet) containerOrInit(name string) (Place, bool) {
	if c := s.Container(name); c != nil {
		return s.In("containers", c), true
	}
	inits := s.pod().InitContainers
	for i := range inits {
		if inits[i].Name == name {
			return s.In("initContainers", &inits[i]), true
		}
	}
	return Place{}, false
}

// setNumNodes sets a job's count from spec.trainer.numNodes. The controller accepts zero and
// negative numbers.
func (j *Job) setNumNodes(set *PodSet) {
	if t := j.TrainJob.Spec.Trainer; set != nil && t != nil && t.NumNodes != nil {
		set.Count, set.CountFrom = *t.NumNodes, Copied("spec", "trainer", "numNodes")
	}
}

// master returns the address of the first trainer Pod. The controller assumes that the job is
// called node and that the subdomain is the TrainJob's name.
func (j *Job) master() string {
	return fmt.Sprintf("%s-%s-0-0.%s", j.TrainJob.Name, Node, j.TrainJob.Name)
}

// orDefault returns the pointer's value, or the given default. The default is the CRD's, for a
// runtime without its defaults.
func orDefault[T any](p *T, value T) T {
	if p == nil {
		return value
	}
	return *p
}
