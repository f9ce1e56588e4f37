package mlpolicy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// gang returns the number of Pods that a gang scheduler starts together, and their requests. A job
// counts once, whatever its replicas. A job counts even if its Pods start only after other jobs
// finish. Limits without requests do not count, although the API server takes them as requests.
func (j *Job) gang() (members int32, requests corev1.ResourceList) {
	requests = corev1.ResourceList{}
	for _, set := range j.Sets {
		members += set.Count
		pod := corev1.Pod{Spec: j.countedBySchedulers(set)}
		for name, q := range resource.PodRequests(&pod, resource.PodResourcesOptions{}) {
			q = q.DeepCopy() // q may share memory with the container
			q.Mul(int64(set.Count))
			sum := requests[name]
			sum.Add(q)
			requests[name] = sum
		}
	}
	return members, requests
}

// checkGang reports gangs that wait for other Pods or resources than the job needs.
func (j *Job) checkGang() {
	p := j.Runtime.PodGroupPolicy
	if p == nil || p.Coscheduling == nil && p.Volcano == nil {
		return
	}
	if p.Coscheduling != nil && p.Volcano != nil {
		j.reportRuntime(codes.TwoGangs, finding.Warning, fieldpath.Fields("spec", "podGroupPolicy"),
			"coscheduling and volcano are both set: two PodGroups have one name",
			"remove one of the two")
	}
	j.checkUncounted()
	order := j.Template.Spec.StartupPolicy
	inOrder := order != nil && order.StartupPolicyOrder == jobset.InOrder
	classes := map[string]bool{}
	for i, set := range j.Sets {
		if class := set.pod().PriorityClassName; class != "" {
			classes[class] = true
			if p.Volcano != nil && len(classes) == 2 {
				j.reportRuntime(codes.GangPriority, finding.Warning,
					inRuntime(append(set.PodPath(), fieldpath.Field("priorityClassName"))),
					"the jobs have several priority classes: Volcano's PodGroup gets the last one",
					"set one priority class for all jobs")
			}
		}
		j.checkMembers(set, inOrder && i > 0)
		j.checkLimits(set)
	}
}

// checkMembers compares the Pods that a job adds to minMember with its Pods at the start.
func (j *Job) checkMembers(set *PodSet, inOrder bool) {
	if set.Replicas > 1 {
		j.reportRuntime(codes.GangCount, finding.Warning,
			inRuntime(set.Path().Append(fieldpath.Field("replicas"))),
			fmt.Sprintf("the gang counts job %s once, not its %d replicas: it may start before "+
				"all Pods fit", set.Name, set.Replicas),
			"set replicas: 1, and use parallelism for more Pods")
	}
	path := set.Path().Append(fieldpath.Field("dependsOn"))
	if len(set.DependsOn) == 0 {
		path = fieldpath.Fields("spec", "startupPolicy")
	}
	if len(set.DependsOn) > 0 || inOrder {
		j.reportRuntime(codes.GangCount, finding.Warning, inRuntime(path),
			fmt.Sprintf("the gang waits for the Pods of job %s, which start after Pods of other "+
				"jobs: it may never start", set.Name),
			"remove the gang scheduler, or dependsOn and startupPolicy")
	}
}

// checkUncounted reports a resourcesPerNode that the gang's resources ignore.
func (j *Job) checkUncounted() {
	taken := slices.ContainsFunc(j.Sets, func(set *PodSet) bool {
		return j.takesResources(set) && set.Container(Node) != nil
	})
	if !taken || j.Release.GangRequests != release.RuntimeRequests {
		return
	}
	j.reportTrainJob(codes.GangCount, finding.Warning,
		fieldpath.Fields("spec", "trainer", "resourcesPerNode"),
		"the gang's minResources count the runtime's requests, not those of resourcesPerNode: "+
			"the gang may start too early or too late",
		"set the same requests in the runtime")
}

// checkLimits reports limits that the gang's resources do not include.
func (j *Job) checkLimits(set *PodSet) {
	counted := j.countedBySchedulers(set).Containers
	for i := range counted {
		c := set.In("containers", &counted[i])
		for _, name := range sortedNames(c.Resources.Limits) {
			if _, requested := c.Resources.Requests[name]; requested {
				continue
			}
			message := fmt.Sprintf(
				"container %s of job %s limits %s without a request: the gang's minResources "+
					"omit it, and the gang may start before it fits", c.Name, set.Name, name)
			const help = "set the request to the limit"
			step := fieldpath.Key(string(name))
			if t := j.TrainJob.Spec.Trainer; t != nil && t.ResourcesPerNode != nil &&
				c.Name == Node && j.takesResources(set) &&
				j.Release.GangRequests != release.RuntimeRequests {
				if _, fromJob := t.ResourcesPerNode.Limits[name]; fromJob {
					j.reportTrainJob(codes.GangCount, finding.Warning,
						fieldpath.Fields("spec", "trainer", "resourcesPerNode", "limits").Append(
							step), message, help)
					continue
				}
			}
			j.reportRuntime(codes.GangCount, finding.Warning,
				inRuntime(c.Path(fieldpath.Field("resources"), fieldpath.Field("limits"), step)),
				message, help)
		}
	}
}
