package main

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
)

// locate fills in where the findings of a TrainJob stand in the files: the finding itself, and the
// claims that it names.
func (in *input) locate(j job, findings finding.List) {
	for i := range findings {
		f := &findings[i]
		for c := range f.Claims {
			claim := &f.Claims[c]
			claim.Position = in.claimPosition(j, *claim)
		}
		if f.Position != (fieldpath.Position{}) {
			continue
		}
		f.Position = in.position(j, *f)
	}
}

// position is where a finding stands whose claims have their places. What is found in an object that a
// controller makes comes from whoever set it last, or else from the TrainJob as a whole.
func (in *input) position(j job, f finding.Finding) fieldpath.Position {
	if f.Code == finding.CodeUnknownJob {
		f.Path = toReplicatedJob(f.Path) // the cluster names a field that nobody wrote
	}
	if isRuntime(f.Object) {
		return in.runtimePosition(j, f.Path)
	}
	if at := lastPlace(disputed(f)); at != (fieldpath.Position{}) {
		return at
	}
	switch {
	case f.Object.Kind == jobSetKind || f.Path.HasPrefix(fieldpath.Fields("spec", "replicatedJobs")):
		return in.resultPosition(j, f.Path)
	case f.Object.Kind == finding.TrainJobKind:
		return in.jobPosition(j, f.Path)
	default:
		return j.document.Position(fieldpath.Fields("metadata", "name"))
	}
}

// toReplicatedJob is the part of a path that leads to an item of replicatedJobs.
func toReplicatedJob(path fieldpath.Path) fieldpath.Path {
	for i := range path {
		if path[i] == fieldpath.Field("replicatedJobs") && i+1 < len(path) {
			return path[:i+2]
		}
	}
	return path
}

func isRuntime(o fieldpath.Object) bool {
	return o.Kind == trainer.TrainingRuntimeKind || o.Kind == trainer.ClusterTrainingRuntimeKind
}

// jobSetKind is the kind of the objects of findings on what a TrainJob becomes.
const jobSetKind = "JobSet"

// resultPosition is where a field of the JobSet comes from: the last patch that sets it, or the
// runtime's template, or else the TrainJob as a whole.
func (in *input) resultPosition(j job, path fieldpath.Path) fieldpath.Position {
	for _, p := range slices.Backward(in.patches) {
		if at := p.Base.Append(merge.PatchPath(p.Patch.Manager)[patchDepth:]...).Append(path...); p.Document.Has(at) {
			return p.Document.Position(at)
		}
	}
	for _, p := range slices.Backward(j.Spec.RuntimePatches) {
		if at := merge.PatchPath(p.Manager).Append(path...); j.document.Has(at) {
			return j.document.Position(at)
		}
	}
	if o := j.document.Overrides; o != nil {
		for _, at := range o.SourcesOf(path) {
			if j.document.Has(at) {
				return j.document.Position(at)
			}
		}
	}
	if at := fieldpath.Fields("spec", "template").Append(path...); in.runtimeHas(j, at) {
		return in.runtimePosition(j, at)
	}
	return j.document.Position(fieldpath.Fields("metadata", "name"))
}

// disputed are the claims that a finding is about: not the one of the layer which replaces the others.
func disputed(f finding.Finding) []engine.Claim {
	if f.Code != finding.CodeShadowed {
		return f.Claims
	}
	last := f.Claims[len(f.Claims)-1].Layer
	return slices.DeleteFunc(slices.Clone(f.Claims), func(c engine.Claim) bool { return c.Layer == last })
}

// origin is claimPosition, and nowhere, too, for what the API server fills into a runtime: not the
// nearest field that the file has.
func (in *input) origin(j job, c engine.Claim) fieldpath.Position {
	if c.Layer == merge.RuntimeLayer && !in.runtimeHas(j, c.Source) {
		return fieldpath.Position{}
	}
	return in.claimPosition(j, c)
}

// lastPlace is where the last of the claims stands that stands anywhere: what claims disagree on is a
// field of the result, and that one is to be looked at.
func lastPlace(claims []engine.Claim) fieldpath.Position {
	for _, c := range slices.Backward(claims) {
		if c.Position != (fieldpath.Position{}) {
			return c.Position
		}
	}
	return fieldpath.Position{}
}

// claimPosition is where a claim's source stands. What the API server fills into a TrainJob stands
// nowhere.
func (in *input) claimPosition(j job, c engine.Claim) fieldpath.Position {
	if len(c.Source) == 0 || c.Layer == merge.TrainJobLayer && !j.document.Has(c.Source) {
		return fieldpath.Position{}
	}
	if merge.FromRuntime(c) {
		return in.runtimePosition(j, c.Source)
	}
	return in.jobPosition(j, c.Source)
}

// runtimeOf is where the runtime of a TrainJob stands: its snapshot, or else the runtime itself.
func (in *input) runtimeOf(j job) (runtimeSource, bool) {
	source, ok := in.sources[render.ObjectOf(j.TrainJob)]
	if !ok {
		source, ok = in.sources[render.RuntimeOf(j.TrainJob)]
	}
	return source, ok
}

func (in *input) runtimeHas(j job, path fieldpath.Path) bool {
	source, ok := in.runtimeOf(j)
	return ok && (source.snapshot || source.document.Has(path))
}

func (in *input) runtimePosition(j job, path fieldpath.Path) fieldpath.Position {
	source, ok := in.runtimeOf(j)
	if !ok {
		return j.document.Position(fieldpath.Fields("spec", "runtimeRef"))
	}
	if source.snapshot {
		path = fieldpath.Fields("data", "runtime")
	}
	return source.document.Position(path)
}

// patchDepth is the length of the path to an entry of .spec.runtimePatches.
const patchDepth = 3

// jobPosition is where a field of the TrainJob stands: in its own file, or, for a patch that was laid
// over it, in that of the patch.
func (in *input) jobPosition(j job, path fieldpath.Path) fieldpath.Position {
	if len(path) < patchDepth || !path.HasPrefix(fieldpath.Fields("spec", "runtimePatches")) {
		return j.document.Position(path)
	}
	own := len(j.Spec.RuntimePatches)
	at := -1
	if i, ok := path[2].Index(); ok {
		at = i - own
	} else if _, manager, ok := path[2].Item(); ok {
		for i := range own {
			if j.Spec.RuntimePatches[i].Manager == manager {
				return j.document.Position(path)
			}
		}
		for i := range in.patches {
			if in.patches[i].Patch.Manager == manager {
				at = i
				break
			}
		}
	}
	if at < 0 || at >= len(in.patches) {
		return j.document.Position(path)
	}
	patch := in.patches[at]
	return patch.Document.Position(patch.Base.Append(path[patchDepth:]...))
}
