package admission

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission/internal/kubeapi"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Update sends a changed TrainJob through admission, and returns the findings on the change. They
// include all findings of Check on the new TrainJob. Others report immutable fields and changed
// patches of a running job. They also report changes that the existing JobSet rejects, since the
// Trainer then retries forever.
//
// Update assumes that the cluster has the old TrainJob, and the JobSet that the old runtime
// renders. The Trainer keeps the runtime that a TrainJob began with. A release that reads the live
// runtime uses the runtime of the new input. The webhook reads the new one up to Trainer 2.3, and
// the old one since. If the old input has no runtime, Update uses the runtime of the new input. No
// controller makes objects for a TrainJob that is finished. The status of the old TrainJob tells
// whether Pods are active. Without a status, a job has active Pods unless it is suspended or
// finished.
func Update(ctx context.Context, old, new Input) finding.List {
	found, _ := update(ctx, old, new, nil)
	return found
}

// UpdateObserved is Update where the cluster has the observed objects of the old TrainJob. It also
// returns their next states, or nil without a JobSet to apply.
func UpdateObserved(ctx context.Context, old, new Input,
	observed Observed) (finding.List, *Second) {
	return update(ctx, old, new, &observed)
}

func update(ctx context.Context, old, new Input, observed *Observed) (finding.List, *Second) {
	before, after := newChecker(old), newChecker(new)
	before.admit(ctx, nil)
	if before.typed == nil {
		after.Add(before.List()...)
		return after.List(), nil
	}
	after.admit(ctx, before)
	if after.typed == nil {
		return after.List(), nil
	}
	if before.job.id != after.job.id {
		after.report(codes.UnknownOldObject, finding.Error, fieldpath.Fields("metadata", "name"),
			fmt.Sprintf("the old object is %s, not the same object", before.job.id),
			"pass two states of one object")
		return after.List(), nil
	}
	after.patchedRunning(before)
	if !suspended(after) {
		after.Add(movedQueue(after.job.id, before.typed.Labels, after.typed.Labels)...)
	}
	if before.in.Runtime == nil {
		before.in.Runtime = after.in.Runtime
	}
	if before.in.Runtime == nil {
		return after.List(), nil
	}
	if !before.isTerminal() {
		after.ignoredRuntime(before.in.Runtime, cmp.Or(after.in.Live, after.in.Runtime))
	}
	if after.judged(before); after.validate() {
		after.keepRuntime(before.in.Runtime)
		if !before.finished() {
			after.make(ctx)
		}
	}
	var second *Second
	switch {
	case observed != nil:
		second = after.applySecond(ctx, before, *observed)
	case !before.isTerminal() && !after.isUnchanged(before):
		after.reapply(ctx, before)
	}
	return after.List(), second
}

// UpdateRuntime sends a changed TrainingRuntime or ClusterTrainingRuntime through admission. Most
// of a template can change; existing TrainJobs keep the runtime that they began with. The results
// are as for AdmitRuntime, for the new runtime.
func UpdateRuntime(ctx context.Context, r *release.Release, old, new map[string]any,
	namespace string) (*Runtime, finding.List) {
	found := &findings{}
	if !isRuntime(old) || old["kind"] != new["kind"] {
		found.Add(finding.Finding{
			Code: codes.UnknownOldObject, Severity: finding.Error, Path: fieldpath.Fields("kind"),
			Message: fmt.Sprintf("the old object is a %v, the new one is a %v", old["kind"],
				new["kind"]), Remedy: finding.Remedy{Text: "pass two states of one object"},
		})
		return nil, found.List()
	}
	d := found.definition(r, fmt.Sprint(old["kind"]))
	if d == nil {
		return nil, found.List()
	}
	stored := d.decode(old, cmp.Or(namespace, "default"), &findings{})
	runtime := d.admitRuntime(ctx, new, namespace, stored, found)
	if runtime != nil {
		runtime.findings = found.List()
	}
	return runtime, found.List()
}

// StoredRuntime returns a runtime that a cluster has, without findings: the cluster has accepted
// it. The results are as for AdmitRuntime.
func StoredRuntime(ctx context.Context, r *release.Release, fields map[string]any,
	namespace string) *Runtime {
	runtime, _ := UpdateRuntime(ctx, r, fields, fields, namespace)
	if runtime != nil {
		runtime.findings = nil
	}
	return runtime
}

// UpdateJobSet sends a changed JobSet through admission, and returns the findings on the change.
// They are the findings of AdmitJobSet on the new JobSet, and immutable fields. Rules that the
// webhook checks only for new JobSets give warnings. UpdateJobSet assumes that the cluster has the
// old JobSet with its defaults. The same manager applies the new one server-side, so the defaults
// stay. The same holds for an old JobSet from a cluster, which shows them.
func UpdateJobSet(ctx context.Context, r *release.Release, old, new map[string]any,
	namespace string) finding.List {
	namespace = cmp.Or(namespace, "default")
	found := &findings{}
	d := found.definition(r, jobSetKind)
	if d == nil {
		return found.List()
	}
	stored := d.createJobSet(old, namespace, &findings{})
	if stored == nil {
		return AdmitJobSet(ctx, r, new, namespace)
	}
	delete(stored.fields, "status")
	o := d.decode(new, namespace, found)
	js := &jobset.JobSet{}
	if err := o.as(js); o.undecodable || err != nil {
		if err != nil {
			o.validate(ctx, nil, found)
			found.undecodable(o, err)
		}
		return found.List()
	}
	if o.id != stored.id {
		found.reject(codes.UnknownOldObject, o.id, fieldpath.Fields("metadata", "name"),
			fmt.Sprintf("the old object is %s, not the same object", stored.id),
			"pass two states of one object")
		return found.List()
	}
	updated := stored.reappliedByOwner(old, new)
	if applied := old; updated == nil {
		if created := d.createJobSet(new, namespace, &findings{}); created != nil && isLive(old) {
			applied = withoutDefaulted(old, new, created.fields)
		}
		updated = stored.reapplied(applied, new)
	}
	if updated == nil { // such as two items of one key
		o.validate(ctx, nil, found)
		return found.List()
	}
	rejected, changed := updated.update(ctx, stored)
	found.Add(rejected...)
	for _, path := range changed {
		found.Add(finding.Finding{Code: codes.Immutable, Severity: finding.Error, Object: o.id,
			Path: path, Message: "field is immutable",
			Remedy: finding.Remedy{Text: unfreeze(path)}})
	}
	if js = (&jobset.JobSet{}); updated.as(js) != nil {
		return found.List()
	}
	if was := (&jobset.JobSet{}); stored.as(was) == nil &&
		(js.Spec.Suspend == nil || !*js.Spec.Suspend) {
		found.Add(movedQueue(o.id, was.Labels, js.Labels)...)
	}
	o.checkJobSet(js, func(code finding.Code, path fieldpath.Path, message, help string) {
		found.Add(finding.Finding{Code: code, Severity: finding.Warning, Object: o.id, Path: path,
			Message: message, Remedy: finding.Remedy{Text: help}})
	})
	return childFindings(r, js, found.List())
}

// patchedRunning reports changed patches of a job that stays running, or that has active Pods
// (Trainer v2.3.0 pkg/runtime/framework/plugins/jobset).
func (c *checker) patchedRunning(old *checker) {
	field := string(c.job.release.Overrides)
	message := ""
	switch {
	case c.samePatches(old):
		return
	case !suspended(c) && !c.job.has(release.PatchedOnResume):
		message = "can only be modified when the TrainJob is suspended"
	case !suspended(old) && !suspended(c):
		message = "can only be modified when the TrainJob is suspended before or after the update"
	case !c.managedHere() || !active(old):
		return
	default:
		message = "cannot be modified when the JobSet's ReplicatedJob"
		if jobs := old.typed.Status.JobsStatus; len(jobs) > 0 {
			message += " " + jobs[slices.IndexFunc(jobs, isActive)].Name
		}
		message += " is still active"
	}
	c.report(codes.PatchedRunning, finding.Error, fieldpath.Fields("spec", field),
		kubeapi.Forbidden(strings.ToUpper(field[:1])+field[1:]+" "+message),
		"suspend the TrainJob, and change the patches when no Pods are active")
}

// movedQueue reports another queue of a job that is not suspended. Kueue's webhook rejects it
// (Kueue v0.15.0 pkg/controller/jobframework/validation.go).
func movedQueue(id fieldpath.Object, old, new map[string]string) finding.List {
	if old[render.QueueLabel] == new[render.QueueLabel] {
		return nil
	}
	return finding.List{{
		Code: codes.MovedQueue, Severity: finding.Error, Object: id,
		Path: fieldpath.Fields("metadata", "labels").Append(fieldpath.Key(render.QueueLabel)),
		Message: kubeapi.Invalid(new[render.QueueLabel],
			fmt.Sprintf("field is immutable while the job is not suspended, and was %q",
				old[render.QueueLabel])),
		Remedy: finding.Remedy{Text: "suspend the job first"},
	}}
}

// isUnchanged reports whether the TrainJob is as before. A changed runtime alone makes the
// controller apply nothing, unless the release reads the runtime live.
func (c *checker) isUnchanged(old *checker) bool {
	return c.job.release.RuntimeRead != release.LiveRuntime &&
		equality.Semantic.DeepEqual(c.typed.Spec, old.typed.Spec) && c.samePatches(old) &&
		maps.Equal(c.typed.Labels, old.typed.Labels) &&
		maps.Equal(c.typed.Annotations, old.typed.Annotations)
}

// samePatches reports whether the patches are the same as in the old TrainJob. For overrides,
// labels and annotations do not count.
func (c *checker) samePatches(old *checker) bool {
	if c.job.release.Overrides != release.RuntimePatches {
		var none legacy.Overrides
		was, is := cmp.Or(old.in.Layers, &none), cmp.Or(c.in.Layers, &none)
		return equality.Semantic.DeepEqual(was.PodSpecOverrides, is.PodSpecOverrides) &&
			equality.Semantic.DeepEqual(was.PodTemplateOverrides, is.PodTemplateOverrides)
	}
	return equality.Semantic.DeepEqual(old.typed.Spec.RuntimePatches,
		c.typed.Spec.RuntimePatches) &&
		reflect.DeepEqual(old.in.Earlier.Patched, c.in.Earlier.Patched) &&
		equality.Semantic.DeepEqual(old.in.Layers, c.in.Layers)
}

func suspended(c *checker) bool { return c.typed.Spec.Suspend != nil && *c.typed.Spec.Suspend }

// active reports whether the TrainJob's status has active Pods. Without a status, it returns true
// unless the TrainJob is suspended or finished.
func active(c *checker) bool {
	status := &c.typed.Status
	if len(status.JobsStatus) == 0 {
		return !suspended(c) && !isTrue(status, trainer.TrainJobComplete) &&
			!isTrue(status, trainer.TrainJobFailed)
	}
	return slices.ContainsFunc(status.JobsStatus, isActive)
}

func isActive(job trainer.JobStatus) bool { return job.Active != nil && *job.Active > 0 }

// isTerminal reports whether the controller makes no more objects for the TrainJob. The TrainJob is
// complete, exceeded its deadline, or another controller manages it. Other failures do not last up
// to Trainer v2.3.0 (pkg/controller).
func (c *checker) isTerminal() bool { return c.finished() || !c.managedHere() }

// finished reports whether the TrainJob is complete, or failed for good: it exceeded its deadline,
// or the release keeps each failure.
func (c *checker) finished() bool {
	failed := meta.FindStatusCondition(c.typed.Status.Conditions, trainer.TrainJobFailed)
	late := failed != nil && failed.Status == metav1.ConditionTrue &&
		failed.Reason == trainer.TrainJobDeadlineExceededReason
	return late || c.job.release.FailedIsFinal && isTrue(&c.typed.Status, trainer.TrainJobFailed) ||
		isTrue(&c.typed.Status, trainer.TrainJobComplete)
}

func isTrue(status *trainer.TrainJobStatus, condition string) bool {
	return meta.IsStatusConditionTrue(status.Conditions, condition)
}

// judged makes the webhook judge the update by the runtime that the TrainJob began with, if the
// release does. A runtime that is gone matters to no release that does.
func (c *checker) judged(old *checker) {
	if kept := old.in.Runtime; c.job.has(release.SnapshotUpdates) &&
		(c.in.Runtime == nil || c.in.Runtime.id == kept.id) {
		c.in.Runtime = kept
	}
}

// keepRuntime makes the controllers use the runtime that the TrainJob began with, if the release
// keeps it.
func (c *checker) keepRuntime(kept *Runtime) {
	if c.job.release.RuntimeRead == release.LiveRuntime || c.in.Runtime == kept ||
		c.in.Runtime.id != kept.id {
		return
	}
	changed := !equality.Semantic.DeepEqual(c.in.Runtime.spec, kept.spec) ||
		!equality.Semantic.DeepEqual(c.in.Runtime.processes, kept.processes)
	if c.in.Runtime = kept; changed {
		c.merge()
	}
}

// reapply applies the JobSet again, as the Trainer's controller does after the change. It skips a
// job that stays running.
func (c *checker) reapply(ctx context.Context, before *checker) {
	if !suspended(before) && !suspended(c) {
		return
	}
	now := before.in.Runtime
	if c.job.release.RuntimeRead == release.LiveRuntime && c.in.Runtime != nil {
		now = c.in.Runtime
	}
	was, _ := render.JobSet(before.renderInput(before.in.Runtime), c.decidedOptions())
	is := c.output
	if is == nil || now != c.in.Runtime {
		is, _ = render.JobSet(c.renderInput(now), c.decidedOptions())
	}
	if was.JobSet == nil || is.JobSet == nil {
		return
	}
	applied, errWas := Encode(was.JobSet)
	next, errIs := Encode(is.JobSet)
	if errWas != nil || errIs != nil {
		return
	}
	d := c.definition(c.in.Release, jobSetKind)
	if d == nil {
		return
	}
	stored := d.createJobSet(applied, c.job.id.Namespace, &findings{})
	if stored == nil {
		return
	}
	updated := stored.reapplied(applied, next)
	if updated == nil {
		return
	}
	rejected, changed := updated.update(ctx, stored)
	c.Add(c.rejectedUpdates(ctx, before, d, next, rejected)...)
	message := "field of the existing JobSet is immutable"
	immutable := c.List().Of(codes.Immutable)
	if immutable == nil {
		message += ": the cluster accepts the TrainJob, and the Trainer retries forever"
	}
	for _, path := range changed {
		claim := c.origin(path)
		if claim.Owner == runtimepatch.TrainJobLayer &&
			slices.ContainsFunc(immutable, func(f finding.Finding) bool {
				return f.Object == c.job.id && claim.At.HasPrefix(f.Path)
			}) {
			continue // the field of the TrainJob is reported
		}
		c.Add(finding.Finding{
			Code: codes.EndlessUpdate, Severity: finding.Error, Object: stored.id, Path: path,
			Message: message,
			Remedy: finding.Remedy{
				Text: "restore the old value"},
			Claims: []merge.Claim{claim},
		})
	}
}

// applySecond predicts the next states of the observed objects, and reports the API server's errors
// on the JobSet. It returns nil if no JobSet is applied.
func (c *checker) applySecond(ctx context.Context, before *checker, observed Observed) *Second {
	if c.merging == nil || !c.managedHere() {
		return nil
	}
	if c.output == nil { // the TrainJob is over
		c.output, _ = c.merging.JobSet()
	}
	if c.output.JobSet == nil {
		return nil
	}
	existing := &jobset.JobSet{}
	if (&object{fields: observed.JobSet}).as(existing) == nil && observed.JobSet != nil {
		c.output.JobSet = render.Reordered(c.renderInput(c.in.Runtime), c.decidedOptions(),
			c.output.JobSet, existing)
	}
	second, unread := SecondWrite(ctx, c.release(), observed, c.output.JobSet)
	if second == nil {
		if observed.JobSet != nil {
			c.Add(unread...)
		}
		return nil
	}
	if rejected := slices.Concat(second.Rejected, second.ResumeRejected); len(rejected) > 0 {
		if config, err := Encode(c.output.JobSet); err == nil {
			rejected = c.rejectedUpdates(ctx, before, c.definition(c.in.Release, jobSetKind),
				config, rejected)
			if second.Skipped {
				postpone(rejected)
			}
			c.Add(rejected...)
		}
	}
	return second
}

// postpone makes warnings of the API server's errors on the JobSet of a TrainJob that runs: nothing
// is applied before it is suspended.
func postpone(found finding.List) {
	for i := range found {
		f := &found[i]
		f.Severity = finding.Warning
		f.Message = "the TrainJob runs on, and a later suspension is stuck: " + f.Message
		f.Remedy.Text = "let the TrainJob end instead of suspending it"
	}
}

// rejectedUpdates returns the API server's errors on an update of a JobSet. It omits errors that a
// new JobSet would have as well.
func (c *checker) rejectedUpdates(ctx context.Context, before *checker, d *definition,
	applied map[string]any, rejected finding.List) (found finding.List) {
	var created *findings
	for _, f := range rejected {
		if created == nil && f.Code != codes.Immutable {
			created = &findings{}
			if recreated := d.createJobSet(applied, c.job.id.Namespace, created); recreated != nil {
				recreated.validate(ctx, nil, created)
			}
		}
		if f.Code == codes.Immutable || !created.HasError(f.Object, f.Path, f.Code) {
			found = append(found, c.rejectedUpdate(before, f))
		}
	}
	return found
}

// rejectedUpdate returns an API server error on the JobSet that the Trainer applies again. A new
// JobSet would not have this error.
func (c *checker) rejectedUpdate(before *checker, f finding.Finding) finding.Finding {
	claims := []merge.Claim{c.origin(f.Path)}
	switch {
	case f.Code != codes.Immutable:
		f.Message = "the change removes the last value, and server-side apply leaves a null: " +
			f.Message + "; the Trainer retries forever"
		f.Remedy.Text = "keep one of the labels or annotations"
		f.Code = codes.EndlessUpdate
		claims = nil // no layer sets it any more
	case f.Path.HasPrefix(fieldpath.Fields("spec", "volumeClaimPolicies")) && suspended(before) &&
		!suspended(c):
		f.Code = codes.NeverResumed
		f.Message = "the TrainJob can never resume: JobSet's webhook added an immutable " +
			"retentionPolicy, which the Trainer applies without"
		f.Remedy.Text = "set retentionPolicy: {whenDeleted: Delete} in volumeClaimPolicies of " +
			"the runtime, delete the TrainJob, and create it again"
	default:
		f.Code = codes.EndlessUpdate
		f.Message = "the existing JobSet rejects the change: " + f.Message +
			"; the Trainer retries forever"
	}
	f.Claims = append(f.Claims, claims...)
	return f
}
