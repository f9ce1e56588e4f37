package admission

import (
	"context"
	"errors"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission/serverside"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// Observed is the state of the objects that controllers made of a TrainJob.
type Observed struct {
	// JobSet is the live object with its managed fields, or nil if the cluster has none. Without
	// managed fields, all fields that the cluster does not fill in are the Trainer's.
	JobSet map[string]any
	Jobs   []*batchv1.Job
	// Finished tells that the TrainJob is complete or has exceeded its deadline, so that its
	// controller applies nothing more.
	Finished bool
}

// Assume sets the JobSet and the Jobs to those that a cluster would have after the Trainer applied
// the given JobSet.
func (o *Observed) Assume(ctx context.Context, r *release.Release, applied *jobset.JobSet) error {
	second, found := SecondWrite(ctx, r, Observed{}, applied)
	if second == nil {
		return found.Err()
	}
	fields, err := Encode(second.Now.JobSet)
	if err != nil {
		return err
	}
	o.JobSet, o.Jobs = fields, second.Now.Jobs
	return nil
}

// Second has the states of a TrainJob's objects after its controllers have seen the TrainJob again.
type Second struct {
	// Now is the state after the controllers have come to rest. Resumed is the state after a
	// suspension, if the TrainJob runs, and a resume.
	Now, Resumed State
	// Wanted is the state that the cluster would have if it created all objects now.
	Wanted State
	// Skipped tells that the Trainer applies nothing while the TrainJob and its JobSet run.
	Skipped bool
	// Rejected are the errors of the API server on the apply of the JobSet; the Trainer retries
	// forever. ResumeRejected are its errors on the next suspension or resume.
	Rejected, ResumeRejected finding.List
	// Unknown are fields of the live JobSet that the release does not know: the dump is of another
	// one.
	Unknown finding.List
}

// State is a JobSet with its Jobs, as stored.
type State struct {
	JobSet *jobset.JobSet
	Jobs   []*batchv1.Job
}

// trainerManager is the field manager of the Trainer's controller (Trainer v2.3.0 pkg/controller).
const trainerManager = "trainer"

// SecondWrite predicts the states of observed objects after the Trainer has rendered a JobSet to
// apply. It returns nil without a JobSet, and nil with findings if one of the two cannot be read.
//
// The Trainer applies the JobSet unless both it and the TrainJob run. The JobSet takes five fields
// of its Pod templates while it is suspended. Jobs that exist get them when they resume (JobSet
// v0.12.0 pkg/controllers). Jobs that do not exist are made.
func SecondWrite(ctx context.Context, r *release.Release, observed Observed,
	applied *jobset.JobSet) (*Second, finding.List) {
	found := &findings{}
	d := found.definition(r, jobSetKind)
	if d == nil || applied == nil {
		return nil, found.List()
	}
	w := writing{ctx: ctx, definition: d, second: &Second{}}
	out := w.second
	config, err := Encode(applied)
	if err != nil {
		return nil, unread(err)
	}
	created := d.createJobSet(config, applied.Namespace, found)
	if created == nil {
		return nil, found.List()
	}
	if out.Wanted.JobSet, err = jobSetIn(created); err != nil {
		return nil, unread(err)
	}
	if out.Wanted.Jobs, err = w.jobs(out.Wanted.JobSet); err != nil {
		return nil, unread(err)
	}
	if observed.JobSet == nil {
		out.Now, out.Resumed = out.Wanted, out.Wanted
		return out, nil
	}
	read := &findings{}
	live := d.decode(clone(observed.JobSet).(map[string]any), applied.Namespace, read)
	if live.undecodable {
		return nil, read.List()
	}
	out.Unknown = read.List().Of(codes.UnknownField)
	if err := w.own(live, observed.JobSet, config, created); err != nil {
		return nil, unread(err)
	}
	before, err := jobSetIn(live)
	if err != nil {
		return nil, unread(err)
	}
	at := live
	jobs := slices.DeleteFunc(slices.Clone(observed.Jobs), func(job *batchv1.Job) bool {
		return job == nil
	})
	for i, job := range jobs {
		jobs[i] = job.DeepCopy()
		jobs[i].ManagedFields, jobs[i].ResourceVersion, jobs[i].TypeMeta = nil, "",
			metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"}
	}
	out.Now = State{before, jobs}
	if observed.Finished {
		out.Resumed = out.Now
		return out, nil
	}
	if out.Skipped = !suspendedJobSet(before) && !suspendedJobSet(applied); !out.Skipped {
		at, out.Rejected = w.apply(at, config)
		if out.Now, err = w.reconcile(at, jobs); err != nil {
			return nil, unread(err)
		}
	}
	out.Resumed = out.Now
	for _, suspend := range []bool{true, false} {
		if suspend && !out.Skipped || len(out.Rejected)+len(out.ResumeRejected) > 0 {
			continue
		}
		spec := maps.Clone(mapOf(config, "spec"))
		spec["suspend"] = suspend
		next := maps.Clone(config)
		next["spec"] = spec
		at, out.ResumeRejected = w.apply(at, next)
		if out.Resumed, err = w.reconcile(at, out.Resumed.Jobs); err != nil {
			return nil, unread(err)
		}
	}
	return out, nil
}

func unread(err error) finding.List {
	return finding.List{
		{Code: codes.WrongType, Severity: finding.Error, Message: err.Error(),
			Remedy: finding.Remedy{Text: "read the object with kubectl get -o yaml"}}}
}

// writing applies JobSets one after the other.
type writing struct {
	ctx        context.Context
	definition *definition
	owners     smd.ManagedFields
	second     *Second
}

// own reads who owns the fields of the live JobSet, which is whole with its managed fields.
func (w *writing) own(live *object, whole, config map[string]any, created *object) error {
	if entries := managedFields(whole); len(entries) > 0 {
		var err error
		w.owners, err = serverside.Owners(entries, trainerManager)
		return err
	}
	before, err := w.definition.server().Typed(
		applicable(withoutDefaulted(live.fields, config, created.fields), w.definition),
		typed.AllowDuplicates)
	if err != nil {
		return err
	}
	set, err := before.ToFieldSet()
	if err != nil {
		return err
	}
	w.owners = smd.ManagedFields{trainerManager: smd.NewVersionedSet(set, serverside.Version, true)}
	return nil
}

// apply applies a JobSet as the Trainer. It returns the object as it was if the API server rejects
// the change.
func (w *writing) apply(live *object, config map[string]any) (*object, finding.List) {
	owners := w.owners.Copy()
	next := live.appliedBy(trainerManager, owners, config)
	if next == nil {
		return live, unread(errors.New("the API server cannot apply the JobSet"))
	}
	rejected, changed := next.update(w.ctx, live)
	for _, path := range changed {
		rejected = append(rejected, finding.Finding{
			Code: codes.Immutable, Severity: finding.Error, Object: live.id, Path: path,
			Message: "field is immutable", Remedy: finding.Remedy{Text: unfreeze(path)},
		})
	}
	if len(rejected) > 0 {
		return live, rejected
	}
	w.owners = owners
	return next, nil
}

// reconcile returns the state after the JobSet controller has seen the JobSet.
func (w *writing) reconcile(o *object, jobs []*batchv1.Job) (State, error) {
	js, err := jobSetIn(o)
	if err != nil {
		return State{}, err
	}
	made, err := w.jobs(js)
	if err != nil {
		return State{}, err
	}
	templates := map[string]*corev1.PodTemplateSpec{}
	for i := range js.Spec.ReplicatedJobs {
		templates[js.Spec.ReplicatedJobs[i].Name] = &js.Spec.ReplicatedJobs[i].Template.Spec.Template
	}
	state := State{JobSet: js}
	known := map[string]bool{}
	for _, job := range jobs {
		known[job.Name] = true
		is := job.Spec.Suspend != nil && *job.Spec.Suspend
		template := templates[job.Labels[jobset.ReplicatedJobNameKey]]
		switch wants := suspendedJobSet(js); {
		case is == wants || finishedJob(job):
		case wants:
			job = job.DeepCopy()
			job.Spec.Suspend = new(true)
		default:
			job = job.DeepCopy()
			job.Spec.Suspend = new(false)
			if template != nil {
				resume(&job.Spec.Template, template)
			}
		}
		state.Jobs = append(state.Jobs, job)
	}
	for _, job := range made {
		if !known[job.Name] {
			state.Jobs = append(state.Jobs, job)
		}
	}
	return state, nil
}

// jobs returns the Jobs that a JobSet has in its present state.
func (w *writing) jobs(js *jobset.JobSet) (jobs []*batchv1.Job, err error) {
	made, err := render.Jobs(js, render.JobsOptions{Release: &w.definition.release, Stored: true})
	if made == nil {
		return nil, err
	}
	for _, child := range made.Jobs {
		jobs = append(jobs, child.Job)
	}
	return jobs, nil
}

// resume adds to a Job the five fields of its template that may change. It removes none (JobSet
// v0.8.2 to v0.12.0 pkg/controllers, resumeJob). The lists get a random order.
func resume(pod, template *corev1.PodTemplateSpec) {
	mergeInto(&pod.Labels, template.Labels)
	mergeInto(&pod.Annotations, template.Annotations)
	mergeInto(&pod.Spec.NodeSelector, template.Spec.NodeSelector)
	pod.Spec.Tolerations = union(pod.Spec.Tolerations, template.Spec.Tolerations)
	pod.Spec.SchedulingGates = union(pod.Spec.SchedulingGates, template.Spec.SchedulingGates)
}

func mergeInto(into *map[string]string, from map[string]string) {
	if *into == nil && len(from) > 0 {
		*into = map[string]string{}
	}
	maps.Copy(*into, from)
}

// union returns the items of both lists, each once. JobSet compares items as Go does: tolerations
// that tolerate for some seconds are never equal.
func union[T comparable](a, b []T) (all []T) {
	seen := map[T]bool{}
	for _, item := range slices.Concat(a, b) {
		if !seen[item] {
			seen[item], all = true, append(all, item)
		}
	}
	return all
}

func finishedJob(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) &&
			c.Status == corev1.ConditionTrue
	})
}

func jobSetIn(o *object) (*jobset.JobSet, error) {
	js := &jobset.JobSet{}
	err := o.as(js)
	js.ManagedFields, js.ResourceVersion, js.Status = nil, "", jobset.JobSetStatus{}
	return js, err
}
