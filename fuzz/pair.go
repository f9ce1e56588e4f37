package fuzz

import (
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/schema"
)

// Policy is a policy that a runtime can have.
type Policy string

// The policies of Trainer v2.3.0. A runtime has at most one of the first six; the other two say how its
// pods are scheduled together.
const (
	Plain        Policy = "plain"
	Torch        Policy = "torch"
	JAX          Policy = "jax"
	XGBoost      Policy = "xgboost"
	MPI          Policy = "mpi"
	Flux         Policy = "flux"
	Coscheduling Policy = "coscheduling"
	Volcano      Policy = "volcano"
)

// PairOptions says which pairs are generated.
type PairOptions struct {
	// Policies are those that a runtime may have; Plain and Torch when there is none.
	Policies []Policy
}

// Pair is a TrainJob and its runtime, as their authors write them: without the API server's defaults.
type Pair struct {
	// Seed is what Render was called with.
	Seed uint64
	// Rejected counts the candidates that schema.Check refused before this one.
	Rejected int

	Runtime  *trainer.ClusterTrainingRuntime
	TrainJob *trainer.TrainJob
}

// String names the pair by its seed. It does not print the values.
func (p *Pair) String() string { return fmt.Sprintf("pair %d", p.Seed) }

// Clone is a copy that shares no memory with p.
func (p *Pair) Clone() *Pair {
	return &Pair{Seed: p.Seed, Rejected: p.Rejected, Runtime: p.Runtime.DeepCopy(), TrainJob: p.TrainJob.DeepCopy()}
}

// Render generates a pair that schema.Check passes. It panics when a thousand candidates in a row do
// not.
func Render(seed uint64, opts PairOptions) *Pair {
	for attempt := range uint64(mostAttempts) {
		s := newSource(seed, attempt, Options{Checked: true})
		s.pair = true
		p := s.render(opts)
		p.Seed, p.Rejected = seed, int(attempt)
		if schema.Check(&p.Runtime.Spec.Template, p.TrainJob.Spec.RuntimePatches).Err() == nil {
			return p
		}
	}
	panic(fmt.Sprintf("fuzz: schema.Check refused %d candidates of seed %d in a row", mostAttempts, seed))
}

// SmallerPair returns a function that offers copies of the pair which lack one thing each. It says
// false when there are no more.
func SmallerPair(p *Pair) func() (*Pair, bool) {
	n := 0
	return func() (*Pair, bool) {
		small := p.Clone()
		if !Drop(n, &small.TrainJob.Spec.RuntimePatches, &small.TrainJob.Spec, &small.Runtime.Spec) {
			return nil, false
		}
		n++
		return small, true
	}
}

const ancestorLabel = "trainer.kubeflow.org/trainjob-ancestor-step"

// render generates a candidate.
func (s *source) render(opts PairOptions) *Pair {
	policies := opts.Policies
	if len(policies) == 0 {
		policies = []Policy{Plain, Torch}
	}
	p := &Pair{Runtime: &trainer.ClusterTrainingRuntime{}, TrainJob: &trainer.TrainJob{}}
	p.Runtime.APIVersion, p.Runtime.Kind = trainer.GroupVersion.String(), trainer.ClusterTrainingRuntimeKind
	p.TrainJob.APIVersion, p.TrainJob.Kind = trainer.GroupVersion.String(), trainer.TrainJobKind
	p.TrainJob.Namespace, p.TrainJob.Name = "ns", pick(s, "tj", "my-job")
	p.Runtime.Name = pick(s, runtimeNames...)
	p.TrainJob.Spec.RuntimeRef.Name = p.Runtime.Name
	spec := &p.Runtime.Spec
	spec.Template = *s.template()
	s.mlPolicy(spec, policies)
	s.podGroupPolicy(spec, policies)
	s.roles(&spec.Template, spec.MLPolicy)
	if t := spec.MLPolicy; t != nil && t.Torch != nil && s.chance(0.4) {
		t.Torch.EnvInjection = s.injection(&spec.Template)
	}
	s.trainJob(p.TrainJob, spec)
	return p
}

// torchtune reads the model off the runtime's name.
var runtimeNames = []string{"rt", "torch-distributed", "torchtune-llama3.2-1b", "torchtune-llama3.3-70b", "torchtune-qwen2.5-1.5b"}

func (s *source) mlPolicy(spec *trainer.TrainingRuntimeSpec, policies []Policy) {
	only := slices.DeleteFunc(slices.Clone(policies), func(p Policy) bool { return p == Coscheduling || p == Volcano })
	if len(only) == 0 {
		only = []Policy{Plain}
	}
	policy := pick(s, only...)
	if policy == Plain && s.chance(0.4) {
		return
	}
	spec.MLPolicy = &trainer.MLPolicy{}
	if s.chance(0.8) {
		spec.MLPolicy.NumNodes = s.number(0, 1, 1, 2, 3)
	}
	switch policy {
	case Torch:
		spec.MLPolicy.Torch = &trainer.TorchMLPolicySource{}
	case JAX:
		spec.MLPolicy.JAX = &trainer.JAXMLPolicySource{}
	case XGBoost:
		spec.MLPolicy.XGBoost = &trainer.XGBoostMLPolicySource{}
	case Flux:
		spec.MLPolicy.Flux = &trainer.FluxMLPolicySource{}
		if s.chance(0.5) {
			spec.MLPolicy.Flux.NumProcPerNode = s.number(1, 2)
		}
	case MPI:
		spec.MLPolicy.MPI = s.mpi()
	}
}

func (s *source) mpi() *trainer.MPIMLPolicySource {
	p := &trainer.MPIMLPolicySource{}
	if s.chance(0.5) {
		p.NumProcPerNode = s.number(1, 1, 4)
	}
	if s.chance(0.3) {
		implementation := pick(s, trainer.MPIImplementationOpenMPI, trainer.MPIImplementationOpenMPI, trainer.MPIImplementation(""))
		p.MPIImplementation = &implementation
	}
	if s.chance(0.4) {
		path := pick(s, "/m1", "/home/mpiuser/.ssh")
		p.SSHAuthMountPath = &path
	}
	if s.chance(0.6) {
		node := s.chance(0.7)
		p.RunLauncherAsNode = &node
	}
	return p
}

func (s *source) podGroupPolicy(spec *trainer.TrainingRuntimeSpec, policies []Policy) {
	var p trainer.PodGroupPolicy
	if slices.Contains(policies, Coscheduling) && s.chance(0.3) {
		p.Coscheduling = &trainer.CoschedulingPodGroupPolicySource{}
		if s.chance(0.5) {
			p.Coscheduling.ScheduleTimeoutSeconds = s.number(10, 120)
		}
	}
	if slices.Contains(policies, Volcano) && s.chance(0.3) {
		p.Volcano = &trainer.VolcanoPodGroupPolicySource{}
		s.value(of(p.Volcano), site{})
	}
	if p.Coscheduling != nil || p.Volcano != nil {
		spec.PodGroupPolicy = &p
	}
}

func (s *source) number(from ...int32) *int32 {
	n := pick(s, from...)
	return &n
}

// roles makes most jobs what their names say: they carry the step's label and have its container.
func (s *source) roles(t *trainer.JobSetTemplateSpec, policy *trainer.MLPolicy) {
	jobs := t.Spec.ReplicatedJobs
	named := func(name string) bool {
		return slices.ContainsFunc(jobs, func(j jobset.ReplicatedJob) bool { return j.Name == name })
	}
	if len(jobs) > 0 && !named("node") && s.chance(0.9) {
		jobs[s.rng.IntN(len(jobs))].Name = "node"
	}
	if policy != nil && policy.MPI != nil && len(jobs) > 1 && !named("launcher") && s.chance(0.8) {
		for i := range jobs {
			if jobs[i].Name != "node" {
				jobs[i].Name = "launcher"
				break
			}
		}
	}
	for i := range jobs {
		s.role(&jobs[i], policy)
	}
}

func (s *source) role(job *jobset.ReplicatedJob, policy *trainer.MLPolicy) {
	step, container := "", job.Name
	switch job.Name {
	case "node":
		step = "trainer"
	case "dataset-initializer", "model-initializer":
		step = job.Name
	case "launcher":
		// MPI's own runtimes give the trainer's label to the launcher.
		container = "node"
		if policy != nil && policy.MPI != nil && s.chance(0.6) {
			step = "trainer"
		}
	}
	if s.chance(0.04) {
		step = pick(s, "", "trainer", "dataset-initializer", "other")
	}
	if step != "" {
		if job.Template.Labels == nil {
			job.Template.Labels = map[string]string{}
		}
		job.Template.Labels[ancestorLabel] = step
	}
	containers := job.Template.Spec.Template.Spec.Containers
	taken := slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == container })
	if len(containers) > 0 && !taken && s.chance(0.9) {
		containers[s.rng.IntN(len(containers))].Name = container
	}
	for i := range containers {
		if containers[i].Name == "node" && s.chance(0.3) {
			containers[i].Command = []string{"tune", "run", "output_dir=/out", "tokenizer.path=/t", "epochs=1", "checkpointer.checkpoint_dir"}[:2+s.rng.IntN(5)]
		}
	}
}

// injection names containers that get torch's variables as well.
func (s *source) injection(t *trainer.JobSetTemplateSpec) *trainer.EnvInjection {
	injection := &trainer.EnvInjection{}
	for i := range t.Spec.ReplicatedJobs {
		job := &t.Spec.ReplicatedJobs[i]
		target := trainer.EnvInjectionTarget{JobName: job.Name}
		pod := &job.Template.Spec.Template.Spec
		for _, c := range slices.Concat(pod.Containers, pod.InitContainers) {
			if c.Name != "node" && s.chance(0.4) {
				target.ContainerNames = append(target.ContainerNames, c.Name)
			}
		}
		if s.chance(0.03) {
			target.ContainerNames = append(target.ContainerNames, "missing")
		}
		if len(target.ContainerNames) > 0 {
			injection.Targets = append(injection.Targets, target)
		}
	}
	return injection
}
