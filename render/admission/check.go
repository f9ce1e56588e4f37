package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Check sends a TrainJob through admission and through the controllers, and returns all findings.
// An error is an object that the cluster rejects, now or when a controller creates it. A TrainJob
// that can never run, and a conflict between managers, are errors as well. AdmitRuntime returns the
// findings on the runtime itself; Check does not repeat them.
//
// Check is pure. The context only ends long evaluations of rules.
func Check(ctx context.Context, in Input) finding.List {
	c := newChecker(in)
	c.admit(ctx, nil)
	if c.typed != nil {
		c.ignoredRuntime(in.Runtime, in.Live)
	}
	c.checkControllers(ctx)
	return c.List()
}

// admit applies the TrainJob: decoding, the mutating webhook, then validation.
func (c *checker) admit(ctx context.Context, old *checker) {
	fields, err := withPatches(c.in.TrainJob, c.in.Patches, c.in.Earlier.Patched)
	if err != nil {
		c.Add(finding.Finding{
			Code: codes.WrongType, Severity: finding.Error,
			Path:    fieldpath.Fields("spec", "runtimePatches"),
			Message: err.Error(), Remedy: finding.Remedy{Text: "fix the patch"},
		})
	}
	var before *object
	if old != nil {
		before = old.job
	}
	d := c.definition(c.in.Release, trainer.TrainJobKind)
	if d == nil {
		return
	}
	o := d.decode(fields, c.in.namespace(), &c.findings)
	if o.undecodable {
		return
	}
	// The mutating webhook runs before the schema's validation, and works on the Go types.
	typed, err := c.decodeJob(o)
	if err != nil {
		o.validate(ctx, before, &c.findings)
		c.undecodable(o, err)
		return
	}
	var oldTyped *trainer.TrainJob
	if old != nil {
		oldTyped = old.typed
	}
	sent, stamped := o.fields, Stamp(oldTyped, typed, anyTime)
	if stamped {
		if err := o.reencode(typed); err != nil {
			c.undecodable(o, err)
			return
		}
	}
	o.validate(ctx, before, &c.findings)
	c.job, c.typed = o, typed
	if old == nil {
		c.nameOnCreate()
	}
	c.respelled(sent, stamped)
}

// withPatches returns the TrainJob with further patches after its own, and with the fields that
// their Go types lack.
func withPatches(job map[string]any, patches []trainer.RuntimePatch,
	added map[string]map[string]any) (map[string]any, error) {
	spec, ok := job["spec"].(map[string]any)
	own, isList := spec["runtimePatches"].([]any)
	if len(patches) == 0 || !ok || !isList && spec["runtimePatches"] != nil {
		return job, nil // no patches, or the schema rejects the field
	}
	own = slices.Clip(own)
	for i := range patches {
		patch, err := Encode(&patches[i])
		if err != nil {
			return job, err
		}
		if more := added[patches[i].Manager]; more != nil {
			runtimepatch.LayOver(mapOf(mapOf(patch, "trainingRuntimeSpec"), "template"),
				runtime.DeepCopyJSON(more))
		}
		own = append(own, patch)
	}
	job, spec = maps.Clone(job), maps.Clone(spec)
	job["spec"], spec["runtimePatches"] = spec, own
	return job, nil
}

// mostPatches is the maximum number of patches for follow. The schema rejects more than 16. Each
// patch costs as much as all patches merged before it.
const mostPatches = 256

// checkControllers applies the Trainer's validating webhook and then the controllers.
func (c *checker) checkControllers(ctx context.Context) {
	if c.validate() {
		c.make(ctx)
	}
}

// validate applies the Trainer's validating webhook. It returns false without a runtime to make
// objects from.
func (c *checker) validate() bool {
	if c.typed == nil || c.in.Runtime == nil || len(c.typed.Spec.RuntimePatches) > mostPatches {
		return false
	}
	if !c.refersToRuntime() {
		return false
	}
	if !c.in.IsAccepted && c.in.Runtime.findings.Err() != nil {
		c.Add(RejectedRuntime(c.job.id, c.in.Runtime.id))
	}
	if c.merge(); c.merged != nil {
		c.webhook()
	}
	return true
}

// RejectedRuntime returns the finding on a TrainJob whose runtime the cluster rejects.
func RejectedRuntime(job, runtime fieldpath.Object) finding.Finding {
	return finding.Finding{
		Code: codes.RuntimeRejected, Severity: finding.Error, Object: job,
		Path: fieldpath.Fields("spec", "runtimeRef"),
		Message: fmt.Sprintf("the cluster rejects %s, and so every TrainJob that names it",
			runtime),
		Remedy: finding.Remedy{Text: "fix the runtime"},
	}
}

// make applies the controllers.
func (c *checker) make(ctx context.Context) {
	idle := c.idle() // before the policies write into the merged template
	c.output, _ = c.merging.JobSet()
	c.owners = fieldOwners{}
	c.Rate = c.rated
	c.Follow(c.output.Findings...)
	c.Rate = c.made
	c.podGroups(ctx)
	c.warn(idle)
	c.deadline()
	c.findCauses()
	if c.output.JobSet == nil {
		return
	}
	c.launch()
	js := c.jobSet(ctx)
	if js == nil {
		return
	}
	c.jobs(js)
}

// rated returns the severity that a finding of rendering has for this cluster.
func (c *checker) rated(f *finding.Finding) {
	switch f.Code {
	case codes.LeftOut:
		f.Severity = 0 // the cluster makes what rendering omits
	case codes.NeverResumed:
		if !c.managedHere() {
			return
		}
		if f.Severity = finding.Error; c.job.release.RuntimeRead == release.LiveRuntime {
			f.Severity, f.Message = finding.Warning,
				f.Message+"; the runtime may still change before"
		}
	case codes.PortsTakenForOne, codes.FluxNodes, codes.MPIImplementation, codes.Hostfile:
		c.made(f)
	case codes.ValueAndValueFrom, codes.EnvWithoutName, codes.TwoSources, codes.FluxCommand:
		// only a Job shows them
		if c.made(f); c.output.JobSet != nil && isOfOtherController(c.output.JobSet) {
			f.Severity = min(f.Severity, finding.Warning)
		}
	}
}

// made returns the severity of a finding that the Trainer's controller, or a later one, would have.
// Its error never occurs in this cluster if another controller manages the TrainJob.
func (c *checker) made(f *finding.Finding) {
	if !c.managedHere() {
		f.Severity = min(f.Severity, finding.Warning)
	}
}

// refersToRuntime reports a TrainJob that names another runtime than the given one, or an invalid
// one.
func (c *checker) refersToRuntime() bool {
	var known render.Runtimes
	known.Add(c.in.Runtime.id, &c.in.Runtime.spec)
	_, missing := known.Find(c.typed)
	if missing != nil {
		c.Add(*missing)
	}
	return missing == nil
}

// ignoredRuntime warns that a changed runtime does not reach an existing TrainJob. It also warns
// that Kueue counts the Pods of the changed runtime.
func (c *checker) ignoredRuntime(kept, r *Runtime) {
	if kept == nil || c.job.release.RuntimeRead == release.LiveRuntime || r == nil || r == kept ||
		r.id != kept.id || equality.Semantic.DeepEqual(r.spec, kept.spec) {
		return
	}
	if !c.makesOther(kept, r) {
		return
	}
	c.report(codes.UpdateIgnored, finding.Warning, fieldpath.Fields("spec", "runtimeRef"),
		fmt.Sprintf("%s has changed: the Trainer uses its snapshot from the creation of the "+
			"TrainJob", r.id),
		"delete the TrainJob and create it again")
	in := c.renderInput(kept)
	in.Live = &r.spec
	sets, _ := render.PodSets(in, c.decidedOptions())
	for _, set := range sets {
		for _, f := range set.Findings {
			if c.typed.Labels[render.QueueLabel] == "" {
				f.Severity = finding.Note
			}
			c.Add(f)
		}
	}
}

// makesOther reports whether the TrainJob makes other objects of another runtime.
func (c *checker) makesOther(kept, r *Runtime) bool {
	was, _ := render.JobSet(c.renderInput(kept), c.decidedOptions())
	is, _ := render.JobSet(c.renderInput(r), c.decidedOptions())
	return was.JobSet == nil || is.JobSet == nil ||
		!equality.Semantic.DeepEqual(was.JobSet, is.JobSet) ||
		!equality.Semantic.DeepEqual(was.Companions, is.Companions)
}
