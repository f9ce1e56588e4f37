package mlpolicy

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// volcano marks the Pods of all jobs, even of initializers, as one group of the scheduler Volcano
// (Trainer v2.3.0 pkg/runtime/framework/plugins/volcano).
func volcano(j *Job) {
	if p := j.Runtime.PodGroupPolicy; p == nil || p.Volcano == nil {
		return
	}
	for _, set := range j.Sets {
		j.setPodAnnotation(scheduler("volcano"), set, scheduling.KubeGroupNameAnnotationKey,
			j.TrainJob.Name)
	}
}

// volcanoGroup returns Volcano's PodGroup. Its queue is an annotation of the JobSet, which a
// manager's patch may set. Its priority class comes from the last job that has one. It does not use
// Volcano's Go type, which omits a minMember of 0: the controller sends it.
func (j *Job) volcanoGroup() *unstructured.Unstructured {
	members, requests := j.gang()
	spec := map[string]any{"minMember": int64(members), "minResources": resourcesOf(requests)}
	if queue, ok := j.Template.Annotations[scheduling.QueueNameAnnotationKey]; ok {
		spec["queue"] = queue
	}
	for _, set := range j.Sets {
		if class := set.pod().PriorityClassName; class != "" {
			spec["priorityClassName"] = class
		}
	}
	if topology := j.Runtime.PodGroupPolicy.Volcano.NetworkTopology; topology != nil {
		spec["networkTopology"] = map[string]any{
			"mode":               string(cmp.Or(topology.Mode, scheduling.HardNetworkTopologyMode)),
			"highestTierAllowed": int64(orDefault(topology.HighestTierAllowed, 1)),
		}
	}
	return j.podGroup(scheduling.SchemeGroupVersion.String(), spec)
}

// podGroup returns the PodGroup of a scheduler.
func (j *Job) podGroup(apiVersion string, spec map[string]any) *unstructured.Unstructured {
	group := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": apiVersion, "kind": "PodGroup", "spec": spec}}
	group.SetName(j.TrainJob.Name)
	group.SetNamespace(j.TrainJob.Namespace)
	return group
}

// resourcesOf returns resources as JSON.
func resourcesOf(requests corev1.ResourceList) map[string]any {
	resources := make(map[string]any, len(requests))
	for name, q := range requests {
		resources[string(name)] = q.String()
	}
	return resources
}
