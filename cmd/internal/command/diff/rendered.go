package diff

import (
	"maps"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/internal/comparison"
	"github.com/trainweld/trainweld/cmd/internal/owned"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/diff"
)

// objectRef names one object of a TrainJob. Its Pods share the name of their Job and the start of their own names.
type objectRef struct{ kind, job, name string }

// key returns the key of the object of a number.
func (p objectRef) key(number int) comparison.Key {
	group := map[string]string{trainer.TrainJobKind: "trainer.kubeflow.org", workspace.JobSetKind: jobset.SchemeGroupVersion.Group, "Job": batchv1.GroupName}
	return comparison.Key{Group: group[p.kind], Kind: p.kind, Name: p.name, Number: number}
}

// renderedTrainJob is what one TrainJob becomes, as the cluster stores it. Its Jobs and Pods are made when they are asked for.
type renderedTrainJob struct {
	job    workspace.Job // may have no TrainJob
	out    pipeline.Made
	opts   render.PodsOptions
	locate func(merge.Claim) merge.Claim

	jobs    map[string]render.ChildJob
	waiting map[string]bool // the Jobs that wait for others
	pods    map[string]map[string]*corev1.Pod
	owners  func(child any) (*diff.Owners, error)
}

// object returns the object of a place, or nil.
func (r *renderedTrainJob) object(at objectRef) metav1.Object {
	switch at.kind {
	case trainer.TrainJobKind:
		if r.job.TrainJob != nil {
			return r.job.TrainJob
		}
	case workspace.JobSetKind:
		if r.out.JobSet != nil {
			return r.out.JobSet
		}
	case "Job":
		if child, ok := r.allJobs()[at.name]; ok {
			return child.Job
		}
	default:
		if pod := r.podsOf(at.job)[at.name]; pod != nil {
			return pod
		}
	}
	return nil
}

// allJobs returns the Jobs by name.
func (r *renderedTrainJob) allJobs() map[string]render.ChildJob {
	if r.jobs != nil || r.out.JobSet == nil {
		return r.jobs
	}
	r.jobs, r.waiting = map[string]render.ChildJob{}, map[string]bool{}
	made, err := render.Jobs(r.out.JobSet, r.opts.JobsOptions)
	if made == nil || err != nil {
		return r.jobs // the cluster would have none either
	}
	for i, child := range slices.Concat(made.Jobs, made.Later) {
		r.jobs[child.Job.Name] = child
		r.waiting[child.Job.Name] = i >= len(made.Jobs) || len(child.WaitsFor) > 0
	}
	return r.jobs
}

// podsOf returns the Pods of a Job by the start of their names, including the Pods that follow others.
func (r *renderedTrainJob) podsOf(job string) map[string]*corev1.Pod {
	pods, known := r.pods[job]
	if _, exists := r.allJobs()[job]; known || !exists {
		return pods
	}
	pods = map[string]*corev1.Pod{}
	opts := r.opts
	opts.Job, opts.AllIndexes = job, true
	for pod, err := range render.Pods(r.out.JobSet, opts) {
		if err != nil || len(pods) == render.MaxPods {
			break
		}
		if pods[pod.GenerateName] == nil {
			pods[pod.GenerateName] = pod
		}
	}
	if r.pods == nil {
		r.pods = map[string]map[string]*corev1.Pod{}
	}
	r.pods[job] = pods
	return pods
}

// ownersOf returns the owners of the object of a place.
func (r *renderedTrainJob) ownersOf(at objectRef, object metav1.Object) (*diff.Owners, error) {
	if r.out.Owners == nil || at.kind == trainer.TrainJobKind {
		return &diff.Owners{}, nil
	}
	if at.kind == workspace.JobSetKind {
		return diff.OwnersOf(r.out.Owners), nil
	}
	if r.owners == nil {
		r.owners = owned.Children(r.out.JobSet, r.out.Owners, r.opts.JobsOptions)
	}
	return r.owners(object)
}

// children returns the rendering of a JobSet of the cluster.
func (r *renderedTrainJob) children(js *jobset.JobSet) *renderedTrainJob {
	return &renderedTrainJob{job: workspace.Job{Document: r.job.Document}, out: pipeline.Made{JobSet: js}, opts: r.opts}
}

// withTemplate returns the rendering with the Pod template of a Job of the cluster, for the Pods of this Job.
func (r *renderedTrainJob) withTemplate(job *batchv1.Job) *renderedTrainJob {
	if r.out.JobSet == nil {
		return nil
	}
	js := r.out.JobSet.DeepCopy()
	name := job.Labels[jobset.ReplicatedJobNameKey]
	i := slices.IndexFunc(js.Spec.ReplicatedJobs, func(rjob jobset.ReplicatedJob) bool { return rjob.Name == name })
	if i < 0 {
		return nil
	}
	// The template of the Job has the volumes of the claims and the exclusive placement.
	js.Annotations, js.Spec.VolumeClaimPolicies = nil, nil
	template := &js.Spec.ReplicatedJobs[i].Template
	template.Annotations, template.Spec = nil, *job.Spec.DeepCopy()
	return r.children(js)
}

// initialPods returns the starts of the names of the Pods that a Job begins with, sorted by index.
func (r *renderedTrainJob) initialPods(job string) []string {
	var names []string
	opts := r.opts
	opts.Job = job
	for pod, err := range render.Pods(r.out.JobSet, opts) {
		if err != nil || len(names) == render.MaxPods {
			break
		}
		if !slices.Contains(names[max(0, len(names)-1):], pod.GenerateName) {
			names = append(names, pod.GenerateName)
		}
	}
	return names
}

// jobNames returns the names of the Jobs, sorted.
func (r *renderedTrainJob) jobNames() []string { return slices.Sorted(maps.Keys(r.allJobs())) }
