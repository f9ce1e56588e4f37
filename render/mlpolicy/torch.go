package mlpolicy

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainweld/trainweld/render/release"
)

// torch sets up torchrun's rendezvous (Trainer v2.3.0 pkg/runtime/framework/plugins/torch). In a
// TrainJob without spec.trainer, only the containers that envInjection names get it. The variables
// of spec.trainer.env come last, in releases whose webhook admits the same variables there.
func torch(j *Job) bool {
	policy, set := j.source().Torch, j.trainerSet()
	j.setNumNodes(set)
	nodes := int32(1)
	if set != nil {
		nodes = set.Count
	}
	procs := j.procs()
	by := policyWriter("torch")
	pet := func(c Place) {
		j.UpsertEnv(by.counting(set), c,
			corev1.EnvVar{Name: "PET_NNODES", Value: strconv.Itoa(int(nodes))})
		j.UpsertEnv(j.procsFrom(by), c,
			corev1.EnvVar{Name: "PET_NPROC_PER_NODE", Value: procs.String()})
		j.UpsertEnv(by, c, corev1.EnvVar{Name: "PET_NODE_RANK", ValueFrom: indexEnv()})
	}
	master := []corev1.EnvVar{
		{Name: "PET_MASTER_ADDR", Value: j.master()},
		{Name: "PET_MASTER_PORT", Value: strconv.Itoa(port)},
	}
	if c, found := j.trainerEnv(); found {
		pet(c)
		if isTorchTune(j.Command) {
			j.torchTune(nodes, procs)
		} else {
			j.UpsertEnv(by, c, master...)
		}
		j.upsertPort(by, c, port)
		j.checkMaster(set)
		if j.numProcPerNode() == nil {
			j.checkGPUs(c)
		}
	} else {
		j.nothingInjected()
	}
	if policy.EnvInjection == nil {
		return true
	}
	for _, target := range policy.EnvInjection.Targets {
		for _, name := range target.ContainerNames {
			c, found := Place{}, false
			if set := j.set(target.JobName); set != nil {
				c, found = set.containerOrInit(name)
			}
			if !found {
				j.noInjectionTarget(target.JobName, name)
				return false
			}
			pet(c)
			j.UpsertEnv(by, c, master...)
		}
	}
	return true
}

func indexEnv() *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: indexPath}}
}

// procs is torchrun's number of processes on each node. It is a number, "auto" for one per GPU, or
// another word of an earlier release.
type procs struct {
	intstr.IntOrString
	gpus int
}

// is reports whether the number is n.
func (p procs) is(n int) bool { return p.Type == intstr.Int && p.IntValue() == n }

const (
	autoProcs = "auto"
	cpuProcs  = "cpu"
)

// numProcPerNode returns spec.trainer.numProcPerNode, or nil.
func (j *Job) numProcPerNode() *intstr.IntOrString {
	if n := j.Earlier.NumProcPerNode; n != nil {
		return n
	}
	if t := j.TrainJob.Spec.Trainer; t != nil && t.NumProcPerNode != nil {
		return new(intstr.FromInt32(*t.NumProcPerNode))
	}
	return nil
}

// procsFrom returns the writer of that number, which is the policy's if nothing else gives it.
func (j *Job) procsFrom(by Writer) Writer {
	t := j.TrainJob.Spec.Trainer
	switch {
	case j.numProcPerNode() != nil:
		return by.from("spec", "trainer", "numProcPerNode")
	case j.Earlier.TorchNumProcPerNode != nil &&
		j.Earlier.TorchNumProcPerNode.String() != autoProcs:
		return by.from("spec", "mlPolicy", "torch", "numProcPerNode")
	case t != nil && t.ResourcesPerNode != nil:
		return by.from("spec", "trainer", "resourcesPerNode")
	default:
		return by
	}
}

// procs returns the number of processes: numProcPerNode of the TrainJob or the runtime, or else
// "auto". A release turns words into numbers.
func (j *Job) procs() procs {
	resources := j.perNode()
	p := procs{intstr.FromString(autoProcs), j.gpus(j.Release.Claims.TorchTune)}
	if n := j.Earlier.TorchNumProcPerNode; n != nil {
		p.IntOrString = *n
	}
	if n := j.numProcPerNode(); n != nil {
		p.IntOrString = *n
	}
	if j.Release.NProc == release.NProcOfTrainer {
		p.IntOrString = j.procsOfTrainer(p.IntOrString)
	} else if n := j.gpus(j.Release.Claims.Torch); p.String() == autoProcs && n > 0 &&
		GPUs(resources) == 0 {
		p.IntOrString = intstr.FromInt32(int32(n)) // of claims, which torchrun does not see
	} else if p.String() == cpuProcs || p.String() == autoProcs && GPUs(resources) == 0 {
		p.IntOrString = intstr.FromInt32(int32(max(1, cpus(resources))))
	}
	return p
}

// procsOfTrainer returns the number of Trainer v2.0.1 (pkg/runtime/framework/plugins/torch
// calculateNumProcPerNode), which looks at spec.trainer.resourcesPerNode alone. It counts CPUs of
// the limits, or else of the requests. Without CPUs to count, the requests decide: without any,
// even a plain number becomes one.
func (j *Job) procsOfTrainer(n intstr.IntOrString) intstr.IntOrString {
	t := j.TrainJob.Spec.Trainer
	if t == nil || t.ResourcesPerNode == nil {
		return n
	}
	word := n.String()
	countsCPUs := func(list corev1.ResourceList) bool {
		_, hasCPU := list[corev1.ResourceCPU]
		return list != nil && (word == autoProcs && !hasGPU(list) || word == cpuProcs && hasCPU)
	}
	for _, list := range []corev1.ResourceList{
		t.ResourcesPerNode.Limits, t.ResourcesPerNode.Requests} {
		if countsCPUs(list) {
			return intstr.FromInt32(max(1, int32(list.Cpu().Value())))
		}
	}
	if word == cpuProcs || t.ResourcesPerNode.Requests == nil {
		return intstr.FromInt32(1)
	}
	return n
}
