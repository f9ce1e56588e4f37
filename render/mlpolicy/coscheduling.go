package mlpolicy

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trainweld/trainweld/render/release"
)

// coscheduling marks the Pods of all jobs as one group of the scheduler plugin Coscheduling
// (Trainer v2.3.0 pkg/runtime/framework/plugins/coscheduling). This includes the initializers'
// Pods. Trainer 2.0 marks them under every podGroupPolicy, were it empty.
func coscheduling(j *Job) {
	if p := j.Runtime.PodGroupPolicy; p == nil ||
		p.Coscheduling == nil && j.Release.GangLabel == release.CoschedulingLabel {
		return
	}
	for _, set := range j.Sets {
		j.setPodLabel(scheduler("coscheduling"), set, "scheduling.x-k8s.io/pod-group",
			j.TrainJob.Name)
	}
}

// coschedulingGroup returns the PodGroup of scheduler-plugins. It does not use that project's Go
// type, which omits an empty minResources: the controller sends it.
func (j *Job) coschedulingGroup() *unstructured.Unstructured {
	members, requests := j.gang()
	return j.podGroup("scheduling.x-k8s.io/v1alpha1", map[string]any{
		"minMember":    int64(members),
		"minResources": resourcesOf(requests),
		"scheduleTimeoutSeconds": int64(
			orDefault(j.Runtime.PodGroupPolicy.Coscheduling.ScheduleTimeoutSeconds, 60)),
	})
}
