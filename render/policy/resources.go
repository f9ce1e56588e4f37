package policy

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// resources merges spec.trainer.resourcesPerNode into the node container of the trainer's job, key by key. The
// container keeps resources that the TrainJob does not name. All resource claims are lost, even the runtime's.
// Without an ML policy, the controller ignores resourcesPerNode.
func (j *Job) resources(set *PodSet) {
	if !j.takesResources(set) {
		return
	}
	node := set.Container(Node)
	if node == nil {
		return
	}
	c, over := set.In("containers", node), j.TrainJob.Spec.Trainer.ResourcesPerNode
	j.claimsDropped(c)
	j.dropClaims(c)
	j.setResources(c, "limits", &c.Resources.Limits, over.Limits)
	j.setResources(c, "requests", &c.Resources.Requests, over.Requests)
}

// takesResources reports whether spec.trainer.resourcesPerNode applies to the job.
func (j *Job) takesResources(set *PodSet) bool {
	t := j.TrainJob.Spec.Trainer
	if t == nil || t.ResourcesPerNode == nil || j.Runtime.MLPolicy == nil {
		return false
	}
	return set.Ancestor == Trainer || j.LauncherAsNode() && set.Name == Node
}

func overlay(base, over corev1.ResourceList) corev1.ResourceList {
	if len(base)+len(over) == 0 {
		return nil
	}
	merged := maps.Clone(base)
	if merged == nil {
		merged = corev1.ResourceList{}
	}
	for name, q := range over {
		merged[name] = q.DeepCopy()
	}
	return merged
}

func sortedNames(list corev1.ResourceList) []corev1.ResourceName {
	return slices.Sorted(maps.Keys(list))
}

// perNode returns the resources for the policies' counts of GPUs and CPUs. They are the resourcesPerNode of
// spec.trainer, so that GPUs in the runtime alone do not count. Without resourcesPerNode, they are the runtime's.
func (j *Job) perNode() corev1.ResourceRequirements {
	if t := j.TrainJob.Spec.Trainer; t != nil && t.ResourcesPerNode != nil {
		return *t.ResourcesPerNode
	}
	for _, set := range j.Sets {
		if set.Name == Node || set.Ancestor == Trainer {
			if c := set.Container(Node); c != nil {
				return c.Resources
			}
		}
	}
	return corev1.ResourceRequirements{}
}

// gpus returns the number of requested GPUs. It uses the first resource whose name contains "gpu", and prefers
// requests to limits.
func gpus(r corev1.ResourceRequirements) int {
	if n := gpusOf(r.Requests); n != 0 {
		return n
	}
	return max(0, gpusOf(r.Limits))
}

// gpusOf takes the first name in alphabetical order. Upstream takes a random one, from a Go map.
func gpusOf(list corev1.ResourceList) int {
	found, count := corev1.ResourceName(""), 0
	for name, q := range list {
		if strings.Contains(strings.ToLower(string(name)), "gpu") && (found == "" || name < found) {
			found, count = name, int(q.Value())
		}
	}
	return count
}

// cpus returns the number of requested CPUs, rounded up. It prefers requests to limits.
func cpus(r corev1.ResourceRequirements) int {
	if q := r.Requests.Cpu(); !q.IsZero() {
		return int(q.Value())
	}
	return int(r.Limits.Cpu().Value())
}
