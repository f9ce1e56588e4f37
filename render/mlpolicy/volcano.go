package mlpolicy

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// volcano marks the Pods of all jobs, even of initializers, as one group of the scheduler Volcano (Trainer v2.3.0
// pkg/runtime/framework/plugins/volcano).
func volcano(j *Job) {
	if p := j.Runtime.PodGroupPolicy; p == nil || p.Volcano == nil {
		return
	}
	for _, set := range j.Sets {
		j.setPodAnnotation(scheduler("volcano"), set, scheduling.KubeGroupNameAnnotationKey, j.TrainJob.Name)
	}
}

// volcanoGroup returns Volcano's PodGroup. Its queue is an annotation of the JobSet, which a manager's patch may set.
// Its priority class comes from the last job that has one.
func (j *Job) volcanoGroup() *scheduling.PodGroup {
	members, requests := j.gang()
	group := &scheduling.PodGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: scheduling.SchemeGroupVersion.String(), Kind: "PodGroup"},
		ObjectMeta: metav1.ObjectMeta{Name: j.TrainJob.Name, Namespace: j.TrainJob.Namespace},
		Spec: scheduling.PodGroupSpec{
			MinMember:    members,
			MinResources: &requests,
			Queue:        j.Template.Annotations[scheduling.QueueNameAnnotationKey],
		},
	}
	for _, set := range j.Sets {
		group.Spec.PriorityClassName = cmp.Or(set.pod().PriorityClassName, group.Spec.PriorityClassName)
	}
	if topology := j.Runtime.PodGroupPolicy.Volcano.NetworkTopology; topology != nil {
		group.Spec.NetworkTopology = &scheduling.NetworkTopologySpec{
			Mode:               cmp.Or(topology.Mode, scheduling.HardNetworkTopologyMode),
			HighestTierAllowed: new(orDefault(topology.HighestTierAllowed, 1)),
		}
	}
	return group
}
