package policy

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// resources lays spec.trainer.resourcesPerNode over the node container of the trainer's job, key by
// key: what the TrainJob does not name stays as the runtime has it. Resource claims get lost, the
// runtime's too. Without an ML policy the controller ignores resourcesPerNode altogether.
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

// takesResources reports whether spec.trainer.resourcesPerNode is meant for the job.
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

// perNode are the resources from which the policies count GPUs and CPUs: spec.trainer's alone where
// it has any, so that GPUs which only the runtime names are not seen, else the runtime's.
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

// gpus is the number of GPUs that the resources ask for: the first resource whose name contains
// "gpu", requests before limits.
func gpus(r corev1.ResourceRequirements) int {
	if n := gpusOf(r.Requests); n != 0 {
		return n
	}
	return max(0, gpusOf(r.Limits))
}

// gpusOf takes the first name in order where upstream takes any: a Go map has none.
func gpusOf(list corev1.ResourceList) int {
	found, count := corev1.ResourceName(""), 0
	for name, q := range list {
		if strings.Contains(strings.ToLower(string(name)), "gpu") && (found == "" || name < found) {
			found, count = name, int(q.Value())
		}
	}
	return count
}

// cpus is the number of whole CPUs, rounded up, that the resources ask for: requests before limits.
func cpus(r corev1.ResourceRequirements) int {
	if q := r.Requests.Cpu(); !q.IsZero() {
		return int(q.Value())
	}
	return int(r.Limits.Cpu().Value())
}
