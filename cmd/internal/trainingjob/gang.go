package trainingjob

import (
	"cmp"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainweld/trainweld/fieldpath"
)

// volcanoScheduler is the name of Volcano in Pods.
const volcanoScheduler = "volcano"

// gangScheduler returns the scheduler that starts the Pods together, or "". The old operator had
// one for all jobs, and read only that scheduler's fields of a schedulingPolicy.
func (c *conversion) gangScheduler() GangScheduler {
	p := c.run.SchedulingPolicy
	if c.opts.Gang != "" || p == nil {
		return c.opts.Gang
	}
	for _, r := range c.replicas {
		if r.pod().SchedulerName == volcanoScheduler {
			return Volcano
		}
	}
	if p.Queue != "" || p.PriorityClass != "" {
		return Volcano
	}
	return Coscheduling
}

// gang returns the runtime's gang policy, and the annotations of the JobSet for it.
func (c *conversion) gang() (policy *trainer.PodGroupPolicy, annotations map[string]string) {
	p := c.run.SchedulingPolicy
	scheduler := c.gangScheduler()
	if scheduler == "" {
		return nil, nil
	}
	path := fieldpath.Fields("spec", "runPolicy", "schedulingPolicy")
	for _, r := range c.roles {
		if c.reportIf(r.jobPerPod && r.count > 1, "gangOfJobs", path, r.name, r.count) {
			return nil, nil
		}
	}
	policy = &trainer.PodGroupPolicy{}
	switch scheduler {
	case Volcano:
		policy.Volcano = &trainer.VolcanoPodGroupPolicySource{}
	case Coscheduling:
		policy.Coscheduling = &trainer.CoschedulingPodGroupPolicySource{}
	default:
		c.report("gangScheduler", path, scheduler, Coscheduling, Volcano)
		return nil, nil
	}
	if p == nil {
		return policy, nil
	}
	if n := p.MinAvailable; n != nil {
		c.reportIf(*n != c.total(), "minAvailable", within(path, "minAvailable"), c.total(), *n)
	}
	c.reportIf(p.MinResources != nil, "minResources", within(path, "minResources"))
	ignored := func(set bool, name string) bool {
		return c.reportIf(set, "gangSetting", within(path, name), scheduler)
	}
	if policy.Volcano != nil {
		ignored(p.ScheduleTimeoutSeconds != nil, "scheduleTimeoutSeconds")
		if p.Queue != "" {
			annotations = map[string]string{volcano.QueueNameAnnotationKey: p.Queue}
		}
		return policy, annotations
	}
	policy.Coscheduling.ScheduleTimeoutSeconds = p.ScheduleTimeoutSeconds
	ignored(p.PriorityClass != "", "priorityClass")
	ignored(p.Queue != "", "queue")
	return policy, nil
}

// ganged sets the scheduler and the priority class of a gang's Pods.
func (c *conversion) ganged(r *role, pod *corev1.PodSpec) {
	c.reportIf(c.gangScheduler() == Coscheduling && pod.SchedulerName == "", "schedulerName",
		r.path(fieldpath.Field("schedulerName")), r.name)
	if c.gangScheduler() != Volcano {
		return
	}
	pod.SchedulerName = cmp.Or(pod.SchedulerName, volcanoScheduler)
	if c.run.SchedulingPolicy == nil || c.run.SchedulingPolicy.PriorityClass == "" {
		return
	}
	class := c.run.SchedulingPolicy.PriorityClass
	path := fieldpath.Fields("spec", "runPolicy", "schedulingPolicy", "priorityClass")
	switch pod.PriorityClassName {
	case class:
	case "":
		pod.PriorityClassName = class
		c.report("priorityClass", path, r.name)
	default:
		c.report("priorityClasses", path, class, r.name, pod.PriorityClassName)
	}
}
