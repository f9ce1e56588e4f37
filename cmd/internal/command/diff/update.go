package diff

import (
	"context"
	"maps"
	"slices"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/trainweld/trainweld/cmd/internal/comparison"
	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/live"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// This file predicts the update of existing TrainJobs to the new version.
//
// The API server rejects changes of a TrainJob's immutable fields (Trainer v2.3.0
// pkg/apis/trainer/v1alpha1). The Trainer's webhook rejects changed patches of a running job
// (pkg/runtime/framework/plugins/jobset). The Trainer applies a JobSet again only while the
// TrainJob or the JobSet is suspended. It uses the runtime of its snapshot. JobSet's webhook then
// rejects most changes of its jobs (JobSet v0.12.0 pkg/webhooks). Only a new TrainJob replaces a
// JobSet.

// updates asks admission for the effects of TrainJobs.
type updates struct {
	flags diffFlags
	dump  *live.Dump // of the cluster that has the old version, or nil

	lock  sync.Mutex   // guards found
	found finding.List // on the dump

	admitter   admitter
	rejections parallel.Once[*workspace.RuntimeSource, finding.List] // of the new runtimes
}

// updateEffect returns the update of a TrainJob of the new version. The findings have
// the positions of that version.
func (u *updates) updateEffect(v *version, old, new *comparison.Job) comparison.UpdateEffect {
	if u.flags.recreate {
		return comparison.UpdateEffect{Update: comparison.Replaced}
	}
	ctx := context.Background()
	if v.release != nil { // nobody updates the TrainJob
		return u.upgradeEffect(ctx, v, old, new)
	}
	before, _, err := u.admitter.input(ctx, old.Input, old.Source) // check reports the findings
	after, _, errNew := u.admitter.input(ctx, new.Input, new.Source)
	if err != nil || errNew != nil {
		return comparison.UpdateEffect{}
	}
	found := admission.Update(ctx, before, after)
	immutable, endless := found.Of(codes.Immutable), finding.List(nil)
	if immutable == nil {
		endless = admission.Update(ctx, suspended(before), suspended(after)).Of(
			codes.EndlessUpdate)
	}
	frozen := distinctPaths(slices.Concat(immutable, endless))
	reported := []finding.Code{codes.Immutable, codes.MovedQueue}
	if endless == nil && !slices.ContainsFunc(immutable, isOfPatch) {
		// it helps to suspend the job first
		reported = append(reported, codes.PatchedRunning)
	}
	rejected := append(found.Of(reported...), endless...)
	updateEffect := comparison.UpdateEffect{
		Frozen: frozen, Findings: blame(old, new, new.Input.Locate(new.Source, rejected))}
	switch {
	case frozen != nil:
		updateEffect.Update = comparison.Replaced
	case found.Of(codes.PatchedRunning, codes.MovedQueue) != nil:
		updateEffect.Update = comparison.Rejected
	case found.Of(codes.UpdateIgnored) != nil && isSameSpec(before, after):
		updateEffect.Update = comparison.Kept
	case !old.IsSuspended() && !new.IsSuspended():
		updateEffect.Update = comparison.Delayed
	default:
		updateEffect.Update = comparison.Updated
	}
	if updateEffect.Update != comparison.Replaced {
		updateEffect.Reached = u.reached(v, old, new)
	}
	if u.dump != nil {
		u.observe(ctx, before, after, new.ID, &updateEffect)
	}
	if kept := u.rejectedRuntime(ctx, old, new); kept != nil {
		if updateEffect.Update != comparison.Replaced {
			updateEffect.Update = comparison.Rejected
		}
		for _, f := range kept {
			updateEffect.Frozen = append(updateEffect.Frozen, f.Object.String()+" "+f.Path.String())
		}
		updateEffect.Findings = append(updateEffect.Findings, kept...)
	}
	return updateEffect
}

// isOfPatch reports whether a finding is on a field of a TrainJob's patches.
func isOfPatch(f finding.Finding) bool {
	return f.Path.HasPrefix(fieldpath.Fields("spec", "runtimePatches"))
}

// upgradeEffect returns what another release does to the JobSet of a TrainJob that exists. It
// applies the JobSet again while the TrainJob is suspended. If JobSet's webhook rejects that, the
// TrainJob never resumes. A release may also leave the JobSet alone.
func (u *updates) upgradeEffect(ctx context.Context, v *version, old,
	new *comparison.Job) comparison.UpdateEffect {
	name := "Trainer " + new.Source.Release().Or().Version
	if len(new.Objects) == 0 && len(old.Objects) > 0 {
		return comparison.UpdateEffect{Update: comparison.Kept, Fields: []live.Effect{{
			Kind: workspace.JobSetKind, Name: old.ID.Name, Change: diff.Removed, When: live.Never,
			Reason: name + " neither updates nor deletes it",
		}}}
	}
	was, errOld := admission.Encode(old.JobSet)
	is, errNew := admission.Encode(new.JobSet)
	if old.JobSet == nil || new.JobSet == nil || errOld != nil || errNew != nil {
		return comparison.UpdateEffect{}
	}
	if spec, ok := was["spec"].(map[string]any); ok {
		spec["suspend"] = true // of a suspended JobSet, five fields of Pods may change
	}
	isSuspended := old.IsSuspended() && new.IsSuspended()
	found := admission.UpdateJobSet(ctx, new.Source.Release(), was, is, u.flags.Namespace)
	if fields := distinctPaths(found.Where(isError)); fields != nil {
		e := comparison.UpdateEffect{Update: comparison.Replaced, Frozen: fields, Stuck: isSuspended}
		if isSuspended {
			e.Findings = finding.List{{
				Code: codes.EndlessUpdate, Severity: finding.Error, Object: new.ID,
				Message: "the existing JobSet rejects the change, and the TrainJob never resumes",
				Remedy:  finding.Remedy{Text: "delete the TrainJob and create it again"},
			}}
		}
		return e
	}
	e := comparison.UpdateEffect{Update: comparison.Updated, Reached: u.reached(v, old, new)}
	if !isSuspended {
		e.Update = comparison.Delayed
	}
	return e
}

// reached returns the objects that an update leads to where they differ from those of the new
// version, because a job keeps the runtime with which it began unless it is created again.
func (u *updates) reached(v *version, old, new *comparison.Job) map[comparison.Key]any {
	began, _ := old.Input.RuntimeOf(old.Source)
	is, _ := new.Input.RuntimeOf(new.Source)
	isLive := old.Source.Release().Or().RuntimeRead == release.LiveRuntime ||
		new.Source.Release().Or().RuntimeRead == release.LiveRuntime
	if began == nil || is == nil || isLive || equality.Semantic.DeepEqual(began, is) {
		return nil
	}
	made := pipeline.Kept(new.Input, new.Source, began, v.opts)
	if made.JobSet == nil {
		return nil
	}
	objects, _ := v.objectsOf(new.Source, made)
	if objects == nil {
		return nil
	}
	reached := map[comparison.Key]any{}
	for _, o := range objects {
		reached[o.Key] = o.Object
	}
	return reached
}

// observe adds what changes in the objects of the dump, and when.
func (u *updates) observe(ctx context.Context, before, after admission.Input,
	id fieldpath.Object, e *comparison.UpdateEffect) {
	observed, found := u.dump.Observed(id)
	found = u.dump.Named(found)
	var second *admission.Second
	family := u.dump.Family(id)
	if observed != nil {
		_, second = admission.UpdateObserved(ctx, before, after, *observed)
		found = append(found, family.Unknown(second)...)
	}
	u.lock.Lock()
	u.found = append(u.found, found...)
	u.lock.Unlock()
	if second == nil || found.Err() != nil {
		return
	}
	fields, err := family.Effects(second)
	if err != nil || len(fields) == 0 || e.Update == comparison.Rejected {
		return // what the cluster rejects reaches nothing
	}
	isReplaced := e.Update == comparison.Replaced
	if !isReplaced {
		e.Update = comparison.Kept
	}
	e.Fields = append(e.Fields, fields...)
	for _, f := range fields {
		switch {
		case isReplaced:
		case f.When == live.Now:
			e.Update = comparison.Updated
		case f.When != live.Never && e.Update == comparison.Kept:
			e.Update = comparison.Delayed
		}
	}
}

// rejectedRuntime returns the errors with which the cluster rejects the change of a TrainJob's
// runtime. It keeps the old one.
func (u *updates) rejectedRuntime(ctx context.Context, old, new *comparison.Job) finding.List {
	was, is := old.Input.SourceOf(old.Source), new.Input.SourceOf(new.Source)
	named := render.RuntimeOf(new.Source.TrainJob)
	if was == nil || is == nil || was.Stock || is.Stock || was.Snapshot != nil ||
		is.Snapshot != nil || named != render.RuntimeOf(old.Source.TrainJob) {
		return nil
	}
	return u.rejections.Of(is, func() finding.List {
		before, errOld := was.Fields(named)
		after, errNew := is.Fields(named)
		if errOld != nil || errNew != nil {
			return nil
		}
		_, found := admission.UpdateRuntime(ctx, new.Source.Release(), before, after,
			u.flags.Namespace)
		found = found.Of(codes.Immutable)
		for i := range found {
			f := &found[i]
			f.Position = is.Position(f.Path)
			f.Claims = append(
				f.Claims, merge.Claim{Owner: runtimepatch.RuntimeLayer, Value: merge.Presence{},
					At: f.Path, Position: f.Position})
		}
		return new.Input.Rate(found)
	})
}

// suspended returns a TrainJob that is suspended and has no active Pods.
func suspended(in admission.Input) admission.Input {
	in.TrainJob = maps.Clone(in.TrainJob)
	delete(in.TrainJob, "status")
	spec, _ := in.TrainJob["spec"].(map[string]any)
	if spec = maps.Clone(spec); spec != nil {
		spec["suspend"] = true
		in.TrainJob["spec"] = spec
	}
	return in
}

// distinctPaths returns the fields of findings, each once.
func distinctPaths(found finding.List) []string {
	var fields []string
	for _, f := range found {
		if path := f.Path.String(); !slices.Contains(fields, path) {
			fields = append(fields, path)
		}
	}
	return fields
}

// blame adds to each error of an update the layers that cause it: the managers whose patches
// differ, or the TrainJob if another field does. The claims have their places in the new version.
func blame(old, new *comparison.Job, rejected finding.List) finding.List {
	for i := range rejected {
		f := &rejected[i]
		add := func(layer merge.Owner, source fieldpath.Path) {
			claim := merge.Claim{Owner: layer, Value: merge.Presence{}, At: source}
			f.Claims = append(f.Claims, new.Input.Claim(new.Source, claim))
		}
		if f.Code == codes.PatchedRunning {
			before, after := patchesByManager(old), patchesByManager(new)
			all := maps.Clone(before)
			maps.Copy(all, after)
			for _, manager := range slices.Sorted(maps.Keys(all)) {
				if !equality.Semantic.DeepEqual(before[manager], after[manager]) {
					add(merge.Manager(manager), f.Path.Append(fieldpath.Item("manager", manager)))
				}
			}
		}
		if len(f.Claims) == 0 { // also for overrides of an earlier release
			add(runtimepatch.TrainJobLayer, f.Path)
		}
	}
	return rejected
}

// patchesByManager returns the patches of a TrainJob and its policy.
func patchesByManager(of *comparison.Job) map[string][]trainer.RuntimePatch {
	patches := map[string][]trainer.RuntimePatch{}
	for _, p := range slices.Concat(of.Source.Spec.RuntimePatches, of.Input.PatchesFor(of.Source)) {
		patches[p.Manager] = append(patches[p.Manager], p)
	}
	return patches
}

// isSameSpec reports whether the TrainJobs and their patches are equal.
func isSameSpec(old, new admission.Input) bool {
	return equality.Semantic.DeepEqual(old.TrainJob["spec"], new.TrainJob["spec"]) &&
		equality.Semantic.DeepEqual(old.Patches, new.Patches)
}
