package admission

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
)

// Input is a TrainJob, and what is needed to tell what becomes of it.
type Input struct {
	// TrainJob is the object as decoded from JSON or YAML, or as Encode makes it of a Go value. It is
	// never changed.
	TrainJob map[string]any
	// Runtime is the runtime that the TrainJob names. Where it is nil, only the TrainJob itself is
	// judged; that the runtime is missing is for the caller to report, who looked for it.
	Runtime *Runtime
	// Patches are further managers' patches, laid over those of the TrainJob in this order.
	Patches []trainer.RuntimePatch
	// Layers are what the TrainJob says in the fields of an earlier API, which TrainJob then does not have; nil for one
	// of today's. See render.Input.
	Layers render.Layers
	// Namespace is that of an object which names none; empty is "default".
	Namespace string
	// OnConflict says what becomes of managers that disagree.
	OnConflict render.OnConflict
	// ForceManagers are managers that win every conflict in which they take part, with a warning for each:
	// see merge.Force. The cluster knows no such thing, so this judges what would be.
	ForceManagers []string
	// PriorityClasses are the names of those that exist, besides the system's two.
	PriorityClasses []string
	// RuntimeClasses are the names of those that exist.
	RuntimeClasses []string
}

func (in Input) namespace() string {
	if in.Namespace == "" {
		return "default"
	}
	return in.Namespace
}

// Check sends a TrainJob through admission and through everything that the controllers then do with it,
// and returns all that is found on the way. An error is what the cluster refuses, now or when a
// controller creates an object, what can never run, and managers that disagree. The runtime's own
// findings are those of AdmitRuntime, and are not repeated.
//
// It is pure but for the context, which only ends long evaluations of rules.
func Check(ctx context.Context, in Input) finding.List {
	c := newChecker(in)
	c.admit(ctx, nil)
	c.follow(ctx)
	return c.result()
}

// checker follows one TrainJob.
type checker struct {
	findings
	in  Input
	job *object // nil where it cannot be read
	// typed is the TrainJob with defaults and further patches.
	typed *trainer.TrainJob
	// patches are those of typed, without what gave way to ForceManagers, and lost who it was taken from.
	patches []trainer.RuntimePatch
	lost    []engine.Layer
	// merged is the runtime's template with all patches, before the policies; nil where the cluster's
	// own merge fails.
	merged *merge.Result
	output *render.Output
	owners fieldOwners
	causes []cause
	// causeAt finds the causes by their fields: the position of the first one, from 1.
	causeAt map[string]int
	// refused are the findings of the runtime.
	refused findings
}

func newChecker(in Input) *checker {
	c := &checker{in: in}
	if in.Runtime != nil {
		c.refused.all = in.Runtime.findings
	}
	return c
}

// admit is what happens when the TrainJob is applied.
func (c *checker) admit(ctx context.Context, old *checker) {
	fields, err := withPatches(c.in.TrainJob, c.in.Patches)
	if err != nil {
		c.add(finding.Finding{
			Code: finding.CodeWrongType, Severity: finding.Error, Path: fieldpath.Fields("spec", "runtimePatches"),
			Message: err.Error(), Remedy: finding.Remedy{Text: "mend the patch"},
		})
	}
	var before *object
	if old != nil {
		before = old.job
	}
	o := trainJobs().decode(fields, c.in.namespace(), &c.findings)
	if o.broken {
		return
	}
	// The mutating webhook comes before the schema, and knows the Go types only.
	typed := &trainer.TrainJob{}
	if err := o.as(typed); err != nil {
		o.validate(ctx, before, &c.findings)
		c.undecodable(o, err)
		return
	}
	var oldTyped *trainer.TrainJob
	if old != nil {
		oldTyped = old.typed
	}
	stamped := Stamp(oldTyped, typed, anyTime)
	if stamped {
		if err := o.reencode(typed); err != nil {
			c.undecodable(o, err)
			return
		}
	}
	o.validate(ctx, before, &c.findings)
	c.job, c.typed = o, typed
	if !stamped {
		return
	}
	c.typed = &trainer.TrainJob{}
	if err := o.as(c.typed); err != nil {
		c.undecodable(o, err)
		c.typed = nil
	}
}

// withPatches is the TrainJob with further patches laid over its own.
func withPatches(job map[string]any, patches []trainer.RuntimePatch) (map[string]any, error) {
	spec, ok := job["spec"].(map[string]any)
	own, isList := spec["runtimePatches"].([]any)
	if len(patches) == 0 || !ok || !isList && spec["runtimePatches"] != nil {
		return job, nil // without patches, or refused by the schema
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

// mostPatches is how many patches are followed. The schema refuses more than 16, and each costs as much as all that were
// merged before it.
const mostPatches = 256

// follow is what the Trainer's validating webhook and then the controllers do.
func (c *checker) follow(ctx context.Context) {
	if c.typed == nil || c.in.Runtime == nil || len(c.typed.Spec.RuntimePatches) > mostPatches {
		return
	}
	if !c.refersToRuntime() {
		return
	}
	if c.in.Runtime.findings.Err() != nil {
		c.about(finding.CodeRuntimeRefused, finding.Error, fieldpath.Fields("spec", "runtimeRef"),
			fmt.Sprintf("the cluster refuses %s, and so every TrainJob that names it", c.in.Runtime.id), "mend the runtime, or name another one")
	}
	spec := &c.in.Runtime.spec
	if merged, err := c.merge(&spec.Template); err == nil {
		c.merged = merged
		c.webhook()
	}
	c.output, _ = render.JobSet(c.renderInput(spec), c.options(false))
	emptyGang := c.podGroups()
	for _, f := range c.output.Findings {
		if emptyGang && f.Code == finding.CodeNeverCreated {
			continue // the cluster rejects the gang first
		}
		if f.Code == finding.CodeLeftOut || f.Severity == finding.Error && c.reported(f) {
			continue // what is only left out of a rendering is no matter here
		}
		if f.Severity < finding.Error && (f.Object == c.in.Runtime.id && c.refused.has(f.Object, f.Path) || f.Object == c.job.id && c.has(f.Object, f.Path)) {
			continue // what would become of a value that is refused
		}
		if f.Severity == finding.Error && leftAlone(c.output, f.Code) {
			f.Severity = finding.Warning
		}
		c.add(f)
	}
	c.warn()
	c.deadline()
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

// Errors of rendering that only a Job shows, and those that only the Trainer's controller shows.
var (
	ofJobs    = []finding.Code{finding.CodeValueAndValueFrom, finding.CodeEnvWithoutName, finding.CodeTwoSources, finding.CodeFluxCommand}
	ofTrainer = []finding.Code{finding.CodePortsTakenForOne, finding.CodeFluxNodes, finding.CodeMPIImplementation, finding.CodeHostfile}
)

// leftAlone reports whether nobody in this cluster comes upon an error, since the TrainJob or its JobSet is left to others.
func leftAlone(out *render.Output, code finding.Code) bool {
	if slices.ContainsFunc(out.Findings, func(f finding.Finding) bool { return f.Code == finding.CodeManagedByOther }) {
		return slices.Contains(ofJobs, code) || slices.Contains(ofTrainer, code)
	}
	return slices.Contains(ofJobs, code) && out.JobSet != nil && leftToOthers(out.JobSet)
}

// renderInput is the TrainJob over a runtime.
func (c *checker) renderInput(spec *trainer.TrainingRuntimeSpec) render.Input {
	return render.Input{TrainJob: c.typed, Runtime: spec, Layers: c.in.Layers}
}

// options say how the TrainJob is rendered.
func (c *checker) options(owners bool) render.Options {
	return render.Options{OnConflict: c.in.OnConflict, ForceManagers: c.in.ForceManagers, Owners: owners}
}

// merge lays the patches, or the layers, over the runtime's template. Both in one TrainJob, which rendering refuses, it
// does not.
func (c *checker) merge(template *trainer.JobSetTemplateSpec) (*merge.Result, error) {
	if layers := c.in.Layers; layers != nil {
		if len(c.typed.Spec.RuntimePatches) > 0 {
			return nil, errors.New("patches beside layers")
		}
		merged, err := merge.Apply(template, layers.PatchesOf(template.Spec.ReplicatedJobs), merge.Options{Owners: true})
		if err == nil {
			merged.Owners.Rename(layers.Claim)
		}
		return merged, err
	}
	patches, decisions, err := merge.Force(template, c.typed.Spec.RuntimePatches, c.in.ForceManagers...)
	if err != nil {
		return nil, err
	}
	c.patches = patches
	for _, d := range decisions {
		for _, claim := range d.Lost {
			c.lost = append(c.lost, claim.Layer)
		}
	}
	return merge.Apply(template, patches, merge.Options{Owners: true})
}

// refersToRuntime reports a TrainJob that names another runtime than the one at hand, or none that there
// can be.
func (c *checker) refersToRuntime() bool {
	var known render.Runtimes
	known.Add(c.in.Runtime.id, &c.in.Runtime.spec)
	_, missing := known.Find(c.typed)
	if missing != nil {
		c.add(*missing)
	}
	return missing == nil
}

// reported says whether a finding of another package is there already under a code of this one, or
// under its own code at the same place.
func (c *checker) reported(f finding.Finding) bool {
	if f.Code == finding.CodeEnvInjection {
		return c.has(c.job.id, fieldpath.Fields("spec", "runtimeRef"), f.Code) // as the webhook says it
	}
	return c.findings.reported(f) || c.refused.reported(f)
}

// result is what was found, without what is only another word for something else.
func (c *checker) result() finding.List {
	return slices.DeleteFunc(c.all, c.set().Supersedes)
}

// set returns the findings so far as a set.
func (c *checker) set() *finding.Set {
	var s finding.Set
	s.Add(c.all...)
	return &s
}
