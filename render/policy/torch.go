package policy

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// torch sets up torchrun's rendezvous (Trainer v2.3.0 pkg/runtime/framework/plugins/torch). In a TrainJob without
// spec.trainer, only the containers that envInjection names get it.
func torch(j *Job) bool {
	policy := j.source().Torch
	if policy == nil {
		return true
	}
	set := j.trainerSet()
	j.setNumNodes(set)
	nodes := int32(1)
	if set != nil {
		nodes = set.Count
	}
	procs := j.procs()
	by := policyWriter("torch")
	pet := func(c Place) {
		j.UpsertEnv(by.counting(set), c, corev1.EnvVar{Name: "PET_NNODES", Value: strconv.Itoa(int(nodes))})
		j.UpsertEnv(j.procsFrom(), c, corev1.EnvVar{Name: "PET_NPROC_PER_NODE", Value: procs.String()})
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
		if j.TrainJob.Spec.Trainer.NumProcPerNode == nil {
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

// procs is torchrun's number of processes on each node: a number, or "auto" for one per GPU.
type procs struct {
	auto   bool
	number int
	gpus   int
}

func (p procs) String() string {
	if p.auto {
		return "auto"
	}
	return strconv.Itoa(p.number)
}

// procsFrom returns the origin of that number.
func (j *Job) procsFrom() Writer {
	switch t := j.TrainJob.Spec.Trainer; {
	case t != nil && t.NumProcPerNode != nil:
		return policyWriter("torch").from("spec", "trainer", "numProcPerNode")
	case t != nil && t.ResourcesPerNode != nil:
		return policyWriter("torch").from("spec", "trainer", "resourcesPerNode")
	default:
		return policyWriter("torch")
	}
}

// procs returns spec.trainer.numProcPerNode, else "auto" if there are GPUs, else one process per CPU.
func (j *Job) procs() procs {
	resources := j.perNode()
	p := procs{auto: true, gpus: gpus(resources)}
	if t := j.TrainJob.Spec.Trainer; t != nil && t.NumProcPerNode != nil {
		p.auto, p.number = false, int(*t.NumProcPerNode)
	} else if p.gpus == 0 {
		p.auto, p.number = false, max(1, cpus(resources))
	}
	return p
}
