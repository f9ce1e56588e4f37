package trainingjob

import (
	"cmp"
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
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
		if r.jobPerPod && r.count > 1 {
			c.reject(path,
				fmt.Sprintf("master and %s differ, so that each Pod of %s is a Job of its own, "+
					"and the Trainer's gang would count only one of the %d", r.name, r.name,
					r.count),
				"let master and worker agree, or remove the schedulingPolicy")
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
		c.reject(path, fmt.Sprintf("there is no gang scheduler %q", scheduler),
			fmt.Sprintf("say %s or %s", Coscheduling, Volcano))
		return nil, nil
	}
	if p == nil {
		return policy, nil
	}
	if p.MinAvailable != nil && *p.MinAvailable != c.total() {
		c.reject(path.Append(fieldpath.Field("minAvailable")),
			fmt.Sprintf("the Trainer's gang always waits for all Pods, which are %d, and not for %d", c.total(), *p.MinAvailable),
			"remove it to wait for all")
	}
	if p.MinResources != nil {
		c.reject(path.Append(fieldpath.Field("minResources")),
			"the Trainer adds the resources of the gang up from the requests of its Pods, and "+
				"takes no others",
			"remove it, and let the Pods request what they need")
	}
	ignored := func(name string) {
		c.dropped(finding.Warning, path.Append(fieldpath.Field(name)),
			fmt.Sprintf("%s has no such setting; the old controller ignored it as well", scheduler),
			"remove it, or name the other gang scheduler")
	}
	if p.ScheduleTimeoutSeconds != nil {
		if policy.Coscheduling != nil {
			policy.Coscheduling.ScheduleTimeoutSeconds = p.ScheduleTimeoutSeconds
		} else {
			ignored("scheduleTimeoutSeconds")
		}
	}
	if p.PriorityClass != "" && policy.Volcano == nil {
		ignored("priorityClass")
	}
	switch {
	case p.Queue == "":
	case policy.Volcano != nil:
		annotations = map[string]string{volcano.QueueNameAnnotationKey: p.Queue}
	default:
		ignored("queue")
	}
	return policy, annotations
}

// ganged sets the scheduler and the priority class of a gang's Pods.
func (c *conversion) ganged(r *role, pod *corev1.PodSpec) {
	if c.gangScheduler() == Coscheduling && pod.SchedulerName == "" {
		c.changed(r.path(fieldpath.Field("schedulerName")),
			fmt.Sprintf("the old operator wrote the name of its gang scheduler into the Pods, "+
				"and the Trainer leaves those of %s to the cluster's default scheduler", r.name),
			"name the scheduler that runs the coscheduling plugin, unless the default one does")
	}
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
		c.changed(path,
			fmt.Sprintf("the Pods of %s get the priority class, from which the Trainer takes "+
				"that of their gang; the old controller gave it to the gang alone", r.name),
			"see that the class exists, and that its Pods may preempt others")
	default:
		c.reject(path,
			fmt.Sprintf("the gang has the priority class %q and the Pods of %s have %q: the "+
				"Trainer takes the one of the Pods", class, r.name, pod.PriorityClassName),
			"name one class for both")
	}
}
