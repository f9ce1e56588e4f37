package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/compose"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Input is a TrainJob with its runtime, further patches and the settings for their check.
type Input struct {
	// Release is the release of the Trainer, with its JobSet; nil means the latest one.
	Release *release.Release
	// TrainJob is the object as decoded from JSON or YAML, or as Encode returns it for a Go value. Check does not
	// change it. For an earlier release it is an object of its definition, with the overrides that it reads.
	TrainJob map[string]any
	// Runtime is the runtime that the TrainJob names. If it is nil, Check checks only the TrainJob itself. The caller
	// reports a missing runtime.
	Runtime *Runtime
	// Live is the runtime in the cluster, if Runtime is the Trainer's snapshot of it. Check warns if they differ.
	Live *Runtime
	// Patches are further managers' patches. They follow the TrainJob's own patches, in this order.
	Patches []trainer.RuntimePatch
	// Layers are the settings in fields of an earlier API, which TrainJob must not contain. It is nil for one of
	// today's API. See render.Input. A Release with overrides ignores Layers, and reads them in TrainJob.
	Layers render.Layers
	// Rules compose the values of several managers, see render.Input.
	Rules compose.Rules
	// Earlier holds fields of earlier releases, see render.Input. With a Release, Check takes these from TrainJob and
	// Runtime instead.
	Earlier legacy.Earlier
	// Namespace is the namespace of an object without one; the empty string means "default".
	Namespace string
	// OnConflict selects how to report conflicts between managers.
	OnConflict render.OnConflict
	// ForceManagers are managers that win all their conflicts, each with a warning, see runtimepatch.Force. The cluster has
	// no such option, so Check then checks a TrainJob after these decisions.
	ForceManagers []string
	// FeatureGates are the feature gates of the Trainer's controller.
	FeatureGates render.FeatureGates
	// PriorityClasses are the names of the existing classes, except the two of the system.
	PriorityClasses []string
	// RuntimeClasses are the names of the existing classes.
	RuntimeClasses []string
}

func (in Input) namespace() string {
	if in.Namespace == "" {
		return "default"
	}
	return in.Namespace
}

// Check sends a TrainJob through admission and through the controllers, and returns all findings. An error is an
// object that the cluster rejects, now or when a controller creates it. A TrainJob that can never run, and a conflict
// between managers, are errors as well. AdmitRuntime returns the findings on the runtime itself; Check does not
// repeat them.
//
// Check is pure. The context only ends long evaluations of rules.
func Check(ctx context.Context, in Input) finding.List {
	c := newChecker(in)
	c.admit(ctx, nil)
	if c.typed != nil {
		c.ignoredRuntime(in.Runtime, in.Live)
	}
	c.checkControllers(ctx)
	return c.result()
}

// checker checks one TrainJob.
type checker struct {
	findings
	in  Input
	job *object // nil if its metadata or its Go type cannot be decoded
	// typed is the TrainJob with defaults and further patches.
	typed *trainer.TrainJob
	// overrides are the overrides of a release that reads them instead of patches.
	overrides *legacy.Overrides
	merging   *render.Merging
	// merged is the runtime's template with all patches, and later with the writes of the policies. It is nil if the cluster's merge
	// fails.
	merged *runtimepatch.Result
	output *render.Output // nil before the policies
	owners fieldOwners
	causes []cause
	// causeAt maps a field to the first cause there, counted from 1.
	causeAt map[string]int
	// rejected are the findings of the runtime.
	rejected findings
}

func newChecker(in Input) *checker {
	c := &checker{in: in}
	if in.Runtime != nil {
		c.rejected.all = in.Runtime.findings
	}
	return c
}

func (c *checker) release() *release.Release { return c.in.Release.Or() }

// admit applies the TrainJob: decoding, the mutating webhook, then validation.
func (c *checker) admit(ctx context.Context, old *checker) {
	fields, err := withPatches(c.in.TrainJob, c.in.Patches)
	if err != nil {
		c.add(finding.Finding{
			Code: codes.WrongType, Severity: finding.Error, Path: fieldpath.Fields("spec", "runtimePatches"),
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
	if Stamp(oldTyped, typed, anyTime) {
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
}

// withPatches returns the TrainJob with further patches after its own.
func withPatches(job map[string]any, patches []trainer.RuntimePatch) (map[string]any, error) {
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
		own = append(own, patch)
	}
	job, spec = maps.Clone(job), maps.Clone(spec)
	job["spec"], spec["runtimePatches"] = spec, own
	return job, nil
}

// mostPatches is the maximum number of patches for follow. The schema rejects more than 16. Each patch costs as much
// as all patches merged before it.
const mostPatches = 256

// checkControllers applies the Trainer's validating webhook and then the controllers.
func (c *checker) checkControllers(ctx context.Context) {
	if c.validate() {
		c.make(ctx)
	}
}

// validate applies the Trainer's validating webhook. It returns false without a runtime to make objects from.
func (c *checker) validate() bool {
	if c.typed == nil || c.in.Runtime == nil || len(c.typed.Spec.RuntimePatches) > mostPatches {
		return false
	}
	if !c.refersToRuntime() {
		return false
	}
	if c.in.Runtime.findings.Err() != nil {
		c.report(codes.RuntimeRejected, finding.Error, fieldpath.Fields("spec", "runtimeRef"),
			fmt.Sprintf("the cluster rejects %s, and so every TrainJob that names it", c.in.Runtime.id), "fix the runtime, or reference another one")
	}
	if c.merge(); c.merged != nil {
		c.webhook()
	}
	return true
}

// make applies the controllers.
func (c *checker) make(ctx context.Context) {
	idle := c.idle() // before the policies write into the merged template
	c.output, _ = c.merging.JobSet()
	c.owners = fieldOwners{}
	emptyGang := c.podGroups(ctx)
	for _, f := range c.output.Findings {
		if emptyGang && f.Code == codes.NeverCreated {
			continue // the cluster rejects the gang first
		}
		if f.Code == codes.LeftOut || f.Severity == finding.Error && c.reported(f) {
			continue // an object that rendering omits does not matter here
		}
		if f.Severity < finding.Error && (f.Object == c.in.Runtime.id && c.rejected.has(f.Object, f.Path) || f.Object == c.job.id && c.has(f.Object, f.Path)) {
			continue // a consequence of a rejected value
		}
		if f.Code == codes.NeverResumed && !c.managedElsewhere() {
			if f.Severity = finding.Error; c.job.release.RuntimeRead == release.LiveRuntime {
				f.Severity, f.Message = finding.Warning, f.Message+"; the runtime may still change before"
			}
		}
		if f.Severity == finding.Error && c.isManagedElsewhere(c.output, f.Code) {
			f.Severity = finding.Warning
		}
		c.add(f)
	}
	c.warn(idle)
	c.deadline()
	c.snapshot()
	c.findCauses()
	if c.output.JobSet == nil {
		return
	}
	js := c.jobSet(ctx)
	if js == nil {
		return
	}
	c.jobs(js)
}

// Errors of rendering that only a Job shows, and errors that only the Trainer's controller shows.
var (
	ofJobs    = []finding.Code{codes.ValueAndValueFrom, codes.EnvWithoutName, codes.TwoSources, codes.FluxCommand}
	ofTrainer = []finding.Code{codes.PortsTakenForOne, codes.FluxNodes, codes.MPIImplementation, codes.Hostfile}
)

// isManagedElsewhere reports whether the error never occurs in this cluster, since another controller manages the TrainJob or
// its JobSet.
func (c *checker) isManagedElsewhere(out *render.Output, code finding.Code) bool {
	if c.job.release.ManagedBy && out.Findings.Of(codes.ManagedByOther) != nil {
		return slices.Contains(ofJobs, code) || slices.Contains(ofTrainer, code)
	}
	return slices.Contains(ofJobs, code) && out.JobSet != nil && isOfOtherController(out.JobSet)
}

// renderInput returns the TrainJob over a runtime.
func (c *checker) renderInput(r *Runtime) render.Input {
	in := render.Input{TrainJob: c.typed, Runtime: &r.spec, Layers: c.in.Layers, Earlier: c.in.Earlier, Rules: c.in.Rules}
	if c.in.Release != nil {
		in.Earlier.TorchNumProcPerNode = r.processes
	}
	return in
}

// merge merges the patches over the runtime's template, as rendering does.
func (c *checker) merge() {
	c.merging = render.Merge(c.renderInput(c.in.Runtime), render.Options{Release: c.in.Release, OnConflict: c.in.OnConflict, ForceManagers: c.in.ForceManagers, FeatureGates: c.in.FeatureGates, Owners: true})
	c.merged, c.output, c.owners = c.merging.Result, nil, fieldOwners{}
}

// refersToRuntime reports a TrainJob that names another runtime than the given one, or an invalid one.
func (c *checker) refersToRuntime() bool {
	var known render.Runtimes
	known.Add(c.in.Runtime.id, &c.in.Runtime.spec)
	_, missing := known.Find(c.typed)
	if missing != nil {
		c.add(*missing)
	}
	return missing == nil
}

// reported reports whether a finding of another package repeats an earlier one. The earlier one has the same code, at
// the field or above it. For variables to inject, the webhook reports another field.
func (c *checker) reported(f finding.Finding) bool {
	if f.Code == codes.EnvInjection {
		return c.has(c.job.id, fieldpath.Fields("spec", "runtimeRef"), f.Code) // the path that the webhook prints
	}
	return c.findings.reported(f) || c.rejected.reported(f)
}

// result returns the findings, except findings that another one supersedes.
func (c *checker) result() finding.List {
	return slices.DeleteFunc(c.all, c.set().Supersedes)
}

// set returns the findings so far as a set.
func (c *checker) set() *codes.Set {
	var s codes.Set
	s.Add(c.all...)
	return &s
}
