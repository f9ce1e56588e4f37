package render

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/internal/children"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// ChildOwners returns the layers that set each field of the Jobs and Pods of a JobSet. A field from
// the JobSet's template starts with its history there. The layers jobset and job add the writes of
// their controllers. The layer default adds the API server's defaults.
type ChildOwners struct {
	js            *jobset.JobSet
	owners        *merge.History
	withoutServer *children.Family // without the changes of the API server
	requested     *children.Family // with the options of the caller

	last    string // the name of lastJob: Pods come Job by Job
	lastJob *ownedJob
}

type ownedJob struct {
	owners   *merge.History // of the template
	template batchv1.JobTemplateSpec
}

// OwnersOfChildren takes a JobSet and its owners, as JobSet returned them, and the options for its
// Jobs or Pods. It does not change them. It returns the same errors as Jobs.
func OwnersOfChildren(js *jobset.JobSet, owners *merge.History,
	opts JobsOptions) (*ChildOwners, error) {
	asked, err := children.New(js, children.Options(opts))
	if err != nil {
		return nil, err
	}
	opts.Stored = false
	plain, err := children.New(js, children.Options(opts))
	if err != nil {
		return nil, err
	}
	return &ChildOwners{js: js, owners: owners, withoutServer: plain, requested: asked}, nil
}

// Job yields the fields of a child Job that Jobs made, with their claims, as merge.History.All does
// for the JobSet. Paths are relative to the Job, and sources refer to the inputs. No layer owns
// apiVersion and kind. It returns an error if the JobSet has no such Job.
func (c *ChildOwners) Job(job *batchv1.Job) (iter.Seq2[fieldpath.Path, []merge.Claim], error) {
	if job == nil {
		job = &batchv1.Job{}
	}
	owned, err := c.job(job.Labels)
	if err != nil {
		return nil, fmt.Errorf("Job %s: %w; take it from Jobs", job.Name, err)
	}
	return owned.owners.All(), nil
}

// Pod yields the fields of a Pod that Pods made, with their claims. It returns an error if the
// JobSet has no such Pod.
func (c *ChildOwners) Pod(pod *corev1.Pod) (iter.Seq2[fieldpath.Path, []merge.Claim], error) {
	if pod == nil {
		pod = &corev1.Pod{}
	}
	job, err := c.job(pod.Labels)
	if err != nil {
		return nil, fmt.Errorf("Pod %s%s: %w; take it from Pods", pod.Name, pod.GenerateName, err)
	}
	before := job.template.Spec.Template
	now := corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	owners := job.owners.Within(fieldpath.Fields("spec", "template")).Fork(&now)
	// The order is the Job controller, the API server's defaults, then JobSet's webhook.
	made := now
	made.Labels = without(now.Labels, children.PriorityKey)
	if _, set := before.Labels[children.PriorityKey]; set {
		made.Labels[children.PriorityKey] = before.Labels[children.PriorityKey]
	}
	made.Spec.Affinity, made.Spec.Priority = before.Spec.Affinity, before.Spec.Priority
	made.Spec.TopologySpreadConstraints = before.Spec.TopologySpreadConstraints
	made.Spec.TerminationGracePeriodSeconds = before.Spec.TerminationGracePeriodSeconds
	made.Spec.InitContainers = withSecurityContexts(now.Spec.InitContainers,
		before.Spec.InitContainers)
	made.Spec.Containers = withSecurityContexts(now.Spec.Containers, before.Spec.Containers)
	owners.Record(runtimepatch.JobLayer, before, made, nil)
	filled := now
	filled.Labels = made.Labels
	if children.WebhookPlaces(now.Annotations) {
		filled.Spec.Affinity = before.Spec.Affinity
	}
	owners.Record(runtimepatch.DefaultLayer, made, filled, nil)
	owners.Record(runtimepatch.JobSetLayer, filled, now, nil)
	return owners.All(), nil
}

// withSecurityContexts returns copies of the containers with the security contexts of others, item
// by item.
func withSecurityContexts(containers, others []corev1.Container) []corev1.Container {
	containers = slices.Clone(containers)
	for i := range min(len(containers), len(others)) {
		containers[i].SecurityContext = others[i].SecurityContext
	}
	return containers
}

// job returns the owners of the Job that the labels of the Job or its Pods name.
func (c *ChildOwners) job(labels map[string]string) (*ownedJob, error) {
	if c == nil || c.js == nil {
		return nil, errors.New("there is no JobSet")
	}
	replicatedJob := labels[jobset.ReplicatedJobNameKey]
	index, err := strconv.Atoi(labels[jobset.JobIndexKey])
	if err != nil {
		return nil, fmt.Errorf("it has no label %s that is a number", jobset.JobIndexKey)
	}
	at := slices.IndexFunc(c.js.Spec.ReplicatedJobs, func(r jobset.ReplicatedJob) bool {
		return r.Name == replicatedJob
	})
	if at < 0 || index < 0 || index >= int(c.requested.Members[at].Replicas) {
		return nil, fmt.Errorf("JobSet %s/%s has no Job %d of a replicated job %q",
			c.requested.Namespace, c.js.Name, index, replicatedJob)
	}
	name := c.requested.Members[at].JobName(index)
	if c.lastJob != nil && c.last == name {
		return c.lastJob, nil
	}
	path := fieldpath.Path{fieldpath.Field("spec"), fieldpath.Field("replicatedJobs"),
		fieldpath.Item("name", replicatedJob), fieldpath.Field("template")}
	sent, stored := templateOf(c.withoutServer.Members[at].Job(index)),
		templateOf(c.requested.Members[at].Job(index))
	owners := c.owners.Within(path).Fork(&stored)
	defaulted := c.withoutServer.Members[at].Template
	owners.Record(runtimepatch.DefaultLayer, c.js.Spec.ReplicatedJobs[at].Template, defaulted, nil)
	owners.Record(runtimepatch.JobSetLayer, defaulted, sent, nil)
	// The Job API writes the labels with which a Job finds its Pods.
	filled := stored
	filled.Spec.Template.Labels, filled.Spec.Selector = sent.Spec.Template.Labels,
		sent.Spec.Selector
	owners.Record(runtimepatch.DefaultLayer, sent, filled, nil)
	owners.Record(runtimepatch.JobLayer, filled, stored, nil)
	c.last, c.lastJob = name, &ownedJob{owners, stored}
	return c.lastJob, nil
}

func templateOf(job *batchv1.Job) batchv1.JobTemplateSpec {
	return *(&batchv1.JobTemplateSpec{ObjectMeta: job.ObjectMeta, Spec: job.Spec}).DeepCopy()
}

func without(labels map[string]string, key string) map[string]string {
	rest := maps.Clone(labels)
	delete(rest, key)
	return rest
}
