package admission

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/schema"
)

// Update sends a changed TrainJob through admission, and tells what becomes of the change: next to all
// that Check finds in the new TrainJob, the fields that cannot be changed, patches that are changed while
// the job runs, and what a JobSet that exists already does not take, so that the Trainer tries for ever.
//
// The old TrainJob is taken to be in the cluster as it stands, and its JobSet to be as the old runtime
// renders it: the Trainer keeps the runtime that a TrainJob began with. Where the old input has no
// runtime, the new one's counts. Whether Pods of a job that is being suspended still run, which lets the
// cluster refuse a patch, no file shows.
func Update(ctx context.Context, old, new Input) schema.Findings {
	before, after := newChecker(old), newChecker(new)
	before.admit(ctx, nil)
	if before.typed == nil {
		after.add(before.all...)
		return after.result()
	}
	after.admit(ctx, before)
	if after.typed == nil {
		return after.result()
	}
	if before.job.id != after.job.id {
		after.about(schema.CodeUnknownOldObject, schema.Error, schema.Fields("metadata", "name"),
			fmt.Sprintf("the old object is %s: another one", before.job.id), "give the old and the new state of one object")
		return after.result()
	}
	after.patchedRunning(before)
	kept := before.in.Runtime
	if kept == nil {
		kept = after.in.Runtime
	}
	if kept == nil {
		return after.result()
	}
	after.follow(ctx)
	after.ignoredRuntime(kept)
	before.in.Runtime = kept
	after.reapply(ctx, before)
	return after.result()
}

// UpdateRuntime sends a changed TrainingRuntime or ClusterTrainingRuntime through admission. Most of a
// template can be changed; TrainJobs that exist keep what they began with. It returns what AdmitRuntime
// returns, for the new runtime.
func UpdateRuntime(ctx context.Context, old, new map[string]any, namespace string) (*Runtime, schema.Findings) {
	found := &findings{}
	before := definitionOf(fmt.Sprint(old["kind"]))
	if before == nil || old["kind"] != new["kind"] {
		found.add(schema.Finding{
			Code: schema.CodeUnknownOldObject, Severity: schema.Error, Path: schema.Fields("kind"),
			Message: fmt.Sprintf("the old object is a %v, and the new one a %v", old["kind"], new["kind"]), Help: "give the old and the new state of one object",
		})
		return nil, found.all
	}
	stored := before.decode(old, namespace, &findings{})
	r, _ := admitRuntime(ctx, new, namespace, stored, found)
	if r != nil {
		r.findings = found.all
	}
	return r, found.all
}

// patchedRunning refuses changed patches of a job that was and stays running (Trainer v2.3.0
// pkg/runtime/framework/plugins/jobset).
func (c *checker) patchedRunning(old *checker) {
	same := equality.Semantic.DeepEqual(old.typed.Spec.RuntimePatches, c.typed.Spec.RuntimePatches) &&
		equality.Semantic.DeepEqual(old.in.Overrides, c.in.Overrides)
	if same || suspended(old) || suspended(c) {
		return
	}
	c.about(schema.CodePatchedRunning, schema.Error, schema.Fields("spec", "runtimePatches"),
		"patches can be changed only while the job is suspended, before the change or after it", "suspend the job first, or in the same change")
}

func suspended(c *checker) bool { return c.typed.Spec.Suspend != nil && *c.typed.Spec.Suspend }

// ignoredRuntime warns that a changed runtime does not reach a TrainJob that exists.
func (c *checker) ignoredRuntime(kept *Runtime) {
	r := c.in.Runtime
	if r == nil || r == kept || r.id != kept.id || equality.Semantic.DeepEqual(r.spec, kept.spec) {
		return
	}
	c.about(schema.CodeUpdateIgnored, schema.Warning, schema.Fields("spec", "runtimeRef"),
		fmt.Sprintf("%s has changed, and the Trainer goes on with what it was when the TrainJob was created", r.id), "delete the TrainJob and create it anew to use the changed runtime")
}

// reapply is what the Trainer's controller does after the change: it applies the JobSet again, unless the
// job was and stays running.
func (c *checker) reapply(ctx context.Context, before *checker) {
	if !suspended(before) && !suspended(c) {
		return
	}
	spec := &before.in.Runtime.spec
	opts := render.Options{OnConflict: render.Last, ForceManagers: c.in.ForceManagers}
	was, _ := render.JobSet(before.renderInput(spec), opts)
	is, _ := render.JobSet(c.renderInput(spec), opts)
	if was.JobSet == nil || is.JobSet == nil {
		return
	}
	applied, err := Encode(was.JobSet)
	if err != nil {
		return
	}
	again, err := Encode(is.JobSet)
	if err != nil {
		return
	}
	created := &findings{}
	stored := createJobSet(applied, c.job.id.Namespace, created)
	if stored == nil {
		return
	}
	updated := *stored
	updated.fields = applyAgain(stored.fields, applied, again, stored.schema).(map[string]any)
	found := &findings{}
	fresh := jobSets().decode(updated.fields, c.job.id.Namespace, found)
	fresh.validate(ctx, stored, found)
	for _, f := range found.all {
		c.refusedUpdate(before, f)
	}
	var old, new jobset.JobSet
	if stored.as(&old) == nil && fresh.as(&new) == nil {
		c.frozen(&old, &new)
	}
}

// refusedUpdate reports what the API server has against the JobSet that the Trainer applies again.
func (c *checker) refusedUpdate(before *checker, f schema.Finding) {
	if f.Code != schema.CodeImmutable {
		return // Check has said it of the new JobSet
	}
	if f.Path.HasPrefix(schema.Fields("spec", "volumeClaimPolicies")) && suspended(before) && !suspended(c) {
		f.Code = schema.CodeNeverResumed
		f.Message = "the job cannot be resumed: JobSet has filled in retentionPolicy when it was created, the Trainer applies the claims without it, and they cannot be changed"
		f.Help = "write retentionPolicy: {whenDeleted: Delete} into volumeClaimPolicies of the runtime, delete the TrainJob and create it anew"
	} else {
		f.Code = schema.CodeEndlessUpdate
		f.Message = "the JobSet exists, and does not let this be changed: " + f.Message + "; the Trainer tries for ever"
	}
	f.Claims = append(f.Claims, c.origin(f.Path))
	c.add(f)
}

// frozen finds what a JobSet that exists does not let change: everything about its jobs but, while it is
// suspended before or after the change, five fields of the Pod templates (JobSet v0.12.0 pkg/webhooks).
func (c *checker) frozen(old, new *jobset.JobSet) {
	id := schema.Object{Kind: "JobSet", Namespace: c.job.id.Namespace, Name: c.job.id.Name}
	add := func(path schema.Path) {
		c.add(schema.Finding{
			Code: schema.CodeEndlessUpdate, Severity: schema.Error, Object: id, Path: path,
			Message: "the JobSet exists, and does not let this be changed: the TrainJob is accepted, and the Trainer tries for ever",
			Help:    "restore it; of an existing JobSet's Pods only labels, annotations, nodeSelector, tolerations and schedulingGates can be changed",
			Claims:  []schema.Claim{c.origin(path)},
		})
	}
	path := schema.Fields("spec", "replicatedJobs")
	for i := range new.Spec.ReplicatedJobs {
		job := new.Spec.ReplicatedJobs[i].DeepCopy()
		was := replicatedJob(old.Spec.ReplicatedJobs, job.Name)
		if was == nil {
			add(jobPath(job.Name))
			continue
		}
		template, before := &job.Template.Spec.Template, &was.Template.Spec.Template
		template.Annotations, template.Labels = before.Annotations, before.Labels
		template.Spec.NodeSelector, template.Spec.Tolerations = before.Spec.NodeSelector, before.Spec.Tolerations
		template.Spec.SchedulingGates = before.Spec.SchedulingGates
		differences(reflect.ValueOf(*was), reflect.ValueOf(*job), jobPath(job.Name), add)
	}
	for i := range old.Spec.ReplicatedJobs {
		if name := old.Spec.ReplicatedJobs[i].Name; replicatedJob(new.Spec.ReplicatedJobs, name) == nil {
			add(path.Append(schema.Item("name", name)))
		}
	}
}
