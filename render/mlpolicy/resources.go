package mlpolicy

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render/release"
)

// resources writes spec.trainer.resourcesPerNode into the node container of the trainer's job. All
// resource claims are lost before Trainer 2.4, even the runtime's.
//
// A release that merges does so key by key, and the container keeps resources that the TrainJob
// does not name. A release that replaces drops them (Trainer v2.2.1
// pkg/runtime/framework/plugins/jobset builder.go).
func (j *Job) resources(set *PodSet) {
	if !j.takesResources(set) {
		return
	}
	node := set.Container(Node)
	if node == nil {
		return
	}
	c, over := set.In("containers", node), j.TrainJob.Spec.Trainer.ResourcesPerNode
	if j.Release.GangRequests != release.MergedRequests {
		given := node.Resources
		set.given = &given
	}
	j.gpusDropped(c)
	if !j.Release.Claims.Kept {
		j.claimsDropped(c)
		j.dropClaims(c)
	}
	j.setResources(c, "limits", &c.Resources.Limits, over.Limits)
	j.setResources(c, "requests", &c.Resources.Requests, over.Requests)
}

// takesResources reports whether spec.trainer.resourcesPerNode applies to the job. A release that
// merges resources takes none without an ML policy. One that replaces them takes limits or
// requests, were they empty.
func (j *Job) takesResources(set *PodSet) bool {
	t := j.TrainJob.Spec.Trainer
	if t == nil || t.ResourcesPerNode == nil {
		return false
	}
	taken := j.Runtime.MLPolicy != nil
	if j.replacesResources() {
		taken = t.ResourcesPerNode.Limits != nil || t.ResourcesPerNode.Requests != nil
	}
	return taken && j.TakesTrainer(set)
}

func (j *Job) replacesResources() bool { return j.Release.Resources == release.ReplaceResources }

// TakesTrainer reports whether the env and the resources of spec.trainer apply to the job. They
// apply to a job with the trainer's label. They also apply to MPI's job called node if the launcher
// counts as a node.
func (j *Job) TakesTrainer(set *PodSet) bool {
	return set.Ancestor == Trainer || j.nodeTakesTrainer() && set.Name == Node
}

func (j *Job) nodeTakesTrainer() bool { return j.Release.MPINodeTrainer && j.launcherAsNode() }

// countedBySchedulers returns the Pod's spec whose requests a gang adds up.
func (j *Job) countedBySchedulers(set *PodSet) corev1.PodSpec {
	pod, resources := *set.pod(), set.given
	switch j.Release.GangRequests {
	case release.TrainerRequests:
		if t := j.TrainJob.Spec.Trainer; t != nil && t.ResourcesPerNode != nil &&
			set.Ancestor == Trainer && j.Runtime.MLPolicy != nil {
			resources = t.ResourcesPerNode
		}
	case release.MergedRequests:
		resources = nil
	}
	if node := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool {
		return c.Name == Node
	}); node >= 0 && resources != nil {
		pod.Containers = slices.Clone(pod.Containers)
		pod.Containers[node].Resources = *resources
	}
	return pod
}

func overlayResources(base, over corev1.ResourceList) corev1.ResourceList {
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

// perNode returns the resources for the policies' counts of GPUs and CPUs. They are the
// resourcesPerNode of spec.trainer, so that GPUs in the runtime alone do not count. Without
// resourcesPerNode, they are the runtime's.
func (j *Job) perNode() corev1.ResourceRequirements {
	if t := j.TrainJob.Spec.Trainer; t != nil && t.ResourcesPerNode != nil {
		return *t.ResourcesPerNode
	}
	return orDefault(NodeResources(j.Template.Spec.ReplicatedJobs), corev1.ResourceRequirements{})
}

// NodeResources returns the resources of the first container called node, or nil. Its job is also
// called node, or has the trainer's label.
func NodeResources(jobs []jobset.ReplicatedJob) *corev1.ResourceRequirements {
	for i := range jobs {
		if jobs[i].Name != Node && jobs[i].Template.Labels[Ancestor] != Trainer {
			continue
		}
		if c := (&PodSet{ReplicatedJob: &jobs[i]}).Container(Node); c != nil {
			return &c.Resources
		}
	}
	return nil
}

// GPUs returns the number of requested GPUs. It uses the first resource whose name contains "gpu",
// and prefers requests to limits.
func GPUs(r corev1.ResourceRequirements) int {
	if n := gpusOf(r.Requests); n != 0 {
		return n
	}
	return max(0, gpusOf(r.Limits))
}

func isGPU(name corev1.ResourceName) bool {
	return strings.Contains(strings.ToLower(string(name)), "gpu")
}

func hasGPU(list corev1.ResourceList) bool {
	for name := range list {
		if isGPU(name) {
			return true
		}
	}
	return false
}

// gpusOf takes the first name in alphabetical order. Upstream takes a random one, from a Go map.
func gpusOf(list corev1.ResourceList) int {
	found, count := corev1.ResourceName(""), 0
	for name, q := range list {
		if isGPU(name) && (found == "" || name < found) {
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
