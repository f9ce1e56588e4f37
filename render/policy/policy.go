// Package policy answers what a runtime's policies write into a JobSet, and which objects they put
// beside it: one file of pure functions for each policy of Trainer v2.3.0, named as in the runtime.
//
//	job := policy.NewJob(policy.Input{TrainJob: trainJob, Runtime: &runtime.Spec, Template: &merged})
//	if policy.Enforce(job) {
//		policy.Schedule(job)
//		objects := policy.Companions(job, policy.Payload{})
//	}
//	report(job.Findings)
//
// The functions write where the controller's plugins write (Trainer v2.3.0
// pkg/runtime/framework/plugins), in its order and with its oddities. A comment names each oddity,
// and a finding is reported where it does something that the author of a file hardly meant. They run
// after the managers' patches, so what they write wins. Package render calls them.
//
// # Order
//
// The controller runs its plugins in the random order of a Go map. That shows in one place only: in
// the order of environment variables where two plugins write the same container. Here the order is
// fixed: plain (the variables of spec.trainer), then torch, mpi, jax, xgboost or flux, then the
// feature gate TrainJobStatus. A cluster may have the same variables in another order.
package policy

import (
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

const (
	// Ancestor is the label on a replicated job's template that says which section of the TrainJob
	// the job belongs to; Trainer, DatasetInitializer and ModelInitializer are its values.
	Ancestor           = "trainer.kubeflow.org/trainjob-ancestor-step"
	Trainer            = "trainer"
	DatasetInitializer = "dataset-initializer"
	ModelInitializer   = "model-initializer"
	// Node is the name of the trainer's container, and of the job that holds it in most runtimes.
	Node = "node"

	port = 29500
	// indexPath is where a Pod finds its completion index.
	indexPath = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
)

// Input is what the policies read.
type Input struct {
	// TrainJob is read and never changed.
	TrainJob *trainer.TrainJob
	// Runtime is the runtime's spec, for its policies. It is never changed.
	Runtime *trainer.TrainingRuntimeSpec
	// Template is the runtime's template with the managers' patches: what the policies write to. The
	// caller gives it away.
	Template *trainer.JobSetTemplateSpec
	// TrainJobID and RuntimeID name the two in findings.
	TrainJobID, RuntimeID fieldpath.Object
	// StatusServer is where Pods report their progress under the feature gate TrainJobStatus. It is
	// nil where the gate is off.
	StatusServer *StatusServer
	// Record, where it is not nil, is told of every write: by whom, where in the input the value comes
	// from, the field, what stood there before and what stands there now. Values are of the field's
	// Go type, without a pointer; nil is absent. The item of a list that merges by key is written whole.
	Record func(layer engine.Layer, from engine.Origin, path fieldpath.Path, before, now any)
}

// Job is the JobSet of a TrainJob in the making.
type Job struct {
	Input
	// Sets are the replicated jobs in their order.
	Sets []*PodSet
	// Command and Args are the trainer's as spec.trainer or a policy left them, nil where neither set
	// them. CommandFrom is who set the command.
	Command, Args []string
	CommandFrom   Writer
	// Findings are what the policies found.
	Findings finding.List
	// Replaced tells, with or without a Record, that a policy or a scheduler wrote over an item or an entry that
	// was there. Counts and ports are apart: what replaces them has findings of its own.
	Replaced bool

	by    Writer // the runtime's policy
	slots int32  // of a node, under MPI
}

// PodSet is one replicated job and the number of Pods in each of its Jobs.
type PodSet struct {
	*jobset.ReplicatedJob
	// Ancestor is the value of the label of that name, "" where the job has none.
	Ancestor string
	// Count becomes the parallelism and the completions of the Jobs.
	Count int32
	// CountFrom is who decided Count.
	CountFrom Writer

	// replicas are the template's, before the controller makes them one: an MPI hostfile counts with them.
	replicas int32
}

// fill puts an empty object in the place of each that is nil.
func (in *Input) fill() {
	if in.TrainJob == nil {
		in.TrainJob = &trainer.TrainJob{}
	}
	if in.Runtime == nil {
		in.Runtime = &trainer.TrainingRuntimeSpec{}
	}
	if in.Template == nil {
		in.Template = &trainer.JobSetTemplateSpec{}
	}
}

// filled returns the job with its inputs filled in; nil is an empty one.
func (j *Job) filled() *Job {
	if j == nil {
		j = &Job{}
	}
	j.fill()
	return j
}

func (j *Job) fillSets() {
	for i, s := range j.Sets {
		j.Sets[i] = s.filled()
	}
}

// filled returns the job of a JobSet; nil is an empty one.
func (s *PodSet) filled() *PodSet {
	if s == nil {
		s = &PodSet{}
	}
	if s.ReplicatedJob == nil {
		s.ReplicatedJob = &jobset.ReplicatedJob{}
	}
	return s
}

// filled returns the place; one without a container is in an empty one.
func (p Place) filled() Place {
	if p.Container == nil {
		p.Container = &corev1.Container{}
	}
	p.set = p.set.filled()
	return p
}

// NewJob counts the Pods and lays resourcesPerNode over the merged spec's node containers, as
// Trainer v2.3.0 pkg/runtime/core newRuntimeInfo does before any policy runs.
func NewJob(in Input) *Job {
	in.fill()
	j := &Job{Input: in, CommandFrom: Copied("spec", "trainer", "command")}
	j.by = j.writer()
	if t := in.TrainJob.Spec.Trainer; t != nil {
		j.Command, j.Args = t.Command, t.Args
	}
	mlPolicy := in.Runtime.MLPolicy
	jobs := in.Template.Spec.ReplicatedJobs
	for i := range jobs {
		rj := &jobs[i]
		set := &PodSet{ReplicatedJob: rj, Ancestor: rj.Template.Labels[Ancestor], Count: 1, CountFrom: j.by, replicas: rj.Replicas}
		if set.replicas == 0 {
			set.replicas = 1 // the zero gets lost on the way, and the JobSet API fills in one
		}
		if p := rj.Template.Spec.Parallelism; p != nil {
			set.Count, set.CountFrom = *p, Writer{merge.RuntimeLayer, engine.Origin{Path: inRuntime(set.JobPath().Append(fieldpath.Field("parallelism")))}}
		}
		if set.Ancestor == Trainer && mlPolicy != nil {
			// The template's own parallelism plays no part here, whatever it says.
			set.Count, set.CountFrom = 1, j.by
			if mlPolicy.NumNodes != nil {
				set.Count, set.CountFrom = *mlPolicy.NumNodes, j.by.from("spec", "mlPolicy", "numNodes")
			}
		}
		if set.Count < 1 {
			set.Count, set.CountFrom = 1, j.by
		}
		j.Sets = append(j.Sets, set)
		j.resources(set)
	}
	j.checkTrainer()
	return j
}

// Enforce runs the runtime's machine-learning policy. It returns false where the controller fails, or
// panics, for ever; a finding then says on what and what to write instead.
func Enforce(j *Job) bool {
	j = j.filled()
	j.fillSets()
	for _, enforce := range []func(*Job) bool{plain, torch, mpi, jax, xgboost, flux, status} {
		if !enforce(j) {
			return false
		}
	}
	return true
}

// Schedule runs the runtime's gang schedulers, which mark the Pods. Both may be asked for, and then
// both act. It comes last, after the TrainJob's own sections.
func Schedule(j *Job) {
	j = j.filled()
	j.fillSets()
	coscheduling(j)
	volcano(j)
	j.checkGang()
}

// source is the runtime's policy; its members are nil in a runtime without one. The CRD admits one
// of them.
func (j *Job) source() trainer.MLPolicySource {
	if j.Runtime.MLPolicy == nil {
		return trainer.MLPolicySource{}
	}
	return j.Runtime.MLPolicy.MLPolicySource
}

// policyName is the name of the runtime's policy in ownership; a runtime without one is plain.
func (j *Job) policyName() string {
	switch p := j.source(); {
	case p.Torch != nil:
		return "torch"
	case p.MPI != nil:
		return "mpi"
	case p.JAX != nil:
		return "jax"
	case p.XGBoost != nil:
		return "xgboost"
	case p.Flux != nil:
		return "flux"
	}
	return "plain"
}

// Layer is the layer of the runtime's policy.
func (j *Job) Layer() engine.Layer { return merge.PolicyLayer(j.filled().policyName()) }

// trainerSet is the first job with the trainer's ancestor label, nil where no job has it.
func (j *Job) trainerSet() *PodSet {
	for _, set := range j.Sets {
		if set.Ancestor == Trainer {
			return set
		}
	}
	return nil
}

// trainerNode is the node container of the first trainer job, where spec.trainer is there: without
// that section, even an empty one, the controller leaves the container alone.
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

// set is the job of the given name, nil where there is none.
func (j *Job) set(name string) *PodSet {
	for _, set := range j.Sets {
		if set.Name == name {
			return set
		}
	}
	return nil
}

func (s *PodSet) pod() *corev1.PodSpec { return &s.filled().Template.Spec.Template.Spec }

// Containers are the job's containers, init containers apart.
func (s *PodSet) Containers() []corev1.Container { return s.pod().Containers }

// Container is the job's container of the given name, init containers apart, nil where there is none.
func (s *PodSet) Container(name string) *corev1.Container {
	containers := s.Containers()
	for i := range containers {
		if containers[i].Name == name {
			return &containers[i]
		}
	}
	return nil
}

// containerOrInit looks among the containers first, and then among the init containers.
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

// setNumNodes lets spec.trainer.numNodes decide a job's count. The controller checks neither zero
// nor a negative number.
func (j *Job) setNumNodes(set *PodSet) {
	if t := j.TrainJob.Spec.Trainer; set != nil && t != nil && t.NumNodes != nil {
		set.Count, set.CountFrom = *t.NumNodes, Copied("spec", "trainer", "numNodes")
	}
}

// master is the address of the first trainer Pod. The controller takes the job's name for "node" and
// the subdomain for the TrainJob's name, whatever the runtime says.
func (j *Job) master() string {
	return fmt.Sprintf("%s-%s-0-0.%s", j.TrainJob.Name, Node, j.TrainJob.Name)
}

// orDefault is what a pointer points to, or what the CRD fills in where a runtime has skipped its
// defaults.
func orDefault[T any](p *T, value T) T {
	if p == nil {
		return value
	}
	return *p
}
