package workspace

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
)

// Locate fills in where the findings of a TrainJob stand in the files: the finding itself, and the
// claims that it names.
func (in *Input) Locate(j Job, findings finding.List) {
	for i := range findings {
		f := &findings[i]
		for c := range f.Claims {
			claim := &f.Claims[c]
			claim.Position = in.ClaimPosition(j, *claim)
		}
		if f.Position != (fieldpath.Position{}) {
			continue
		}
		f.Position = in.position(j, *f)
	}
}

// position is where a finding stands whose claims have their places. What is found in an object that a
// controller makes comes from whoever set it last, or else from the TrainJob as a whole.
func (in *Input) position(j Job, f finding.Finding) fieldpath.Position {
	if f.Code == finding.CodeUnknownJob {
		f.Path = toReplicatedJob(f.Path) // the cluster names a field that nobody wrote
	}
	if IsRuntime(f.Object) {
		return in.RuntimePosition(j, f.Path)
	}
	if at := LastPlace(disputed(f)); at != (fieldpath.Position{}) {
		return at
	}
	switch {
	case f.Object.Kind == JobSetKind || f.Path.HasPrefix(fieldpath.Fields("spec", "replicatedJobs")):
		return in.resultPosition(j, f.Path)
	case f.Object.Kind == finding.TrainJobKind:
		return in.jobPosition(j, f.Path)
	default:
		return j.Document.Position(fieldpath.Fields("metadata", "name"))
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

// IsRuntime reports whether an object is a runtime of either kind.
func IsRuntime(o fieldpath.Object) bool {
	return o.Kind == trainer.TrainingRuntimeKind || o.Kind == trainer.ClusterTrainingRuntimeKind
}

// JobSetKind is the kind of the objects of findings on what a TrainJob becomes.
const JobSetKind = "JobSet"

// resultPosition is where a field of the JobSet comes from: the last patch that sets it, or the
// runtime's template, or else the TrainJob as a whole.
func (in *Input) resultPosition(j Job, path fieldpath.Path) fieldpath.Position {
	for _, p := range slices.Backward(in.Patches) {
		if at := p.Base.Append(merge.PatchPath(p.Patch.Manager)[patchDepth:]...).Append(path...); p.Document.Has(at) {
			return p.Document.Position(at)
		}
	}
	for _, p := range slices.Backward(j.Spec.RuntimePatches) {
		if at := merge.PatchPath(p.Manager).Append(path...); j.Document.Has(at) {
			return j.Document.Position(at)
		}
	}
	if o := j.Document.Overrides; o != nil {
		for _, at := range o.SourcesOf(path) {
			if j.Document.Has(at) {
				return j.Document.Position(at)
			}
		}
	}
	if at := fieldpath.Fields("spec", "template").Append(path...); in.runtimeHas(j, at) {
		return in.RuntimePosition(j, at)
	}
	return j.Document.Position(fieldpath.Fields("metadata", "name"))
}

// disputed are the claims that a finding is about: not the one of the layer which replaces the others.
func disputed(f finding.Finding) []engine.Claim {
	if f.Code != finding.CodeShadowed {
		return f.Claims
	}
	last := f.Claims[len(f.Claims)-1].Layer
	return slices.DeleteFunc(slices.Clone(f.Claims), func(c engine.Claim) bool { return c.Layer == last })
}

// Origin is ClaimPosition, and nowhere, too, for what the API server fills into a runtime: not the
// nearest field that the file has.
func (in *Input) Origin(j Job, c engine.Claim) fieldpath.Position {
	if c.Layer == merge.RuntimeLayer && !in.runtimeHas(j, c.Source) {
		return fieldpath.Position{}
	}
	return in.ClaimPosition(j, c)
}

// LastPlace is where the last of the claims stands that stands anywhere: what claims disagree on is a
// field of the result, and that one is to be looked at.
func LastPlace(claims []engine.Claim) fieldpath.Position {
	for _, c := range slices.Backward(claims) {
		if c.Position != (fieldpath.Position{}) {
			return c.Position
		}
	}
	return fieldpath.Position{}
}

// ClaimPosition is where a claim's source stands. What the API server fills into a TrainJob stands
// nowhere.
func (in *Input) ClaimPosition(j Job, c engine.Claim) fieldpath.Position {
	if len(c.Source) == 0 || c.Layer == merge.TrainJobLayer && !j.Document.Has(c.Source) {
		return fieldpath.Position{}
	}
	if merge.FromRuntime(c) {
		return in.RuntimePosition(j, c.Source)
	}
	return in.jobPosition(j, c.Source)
}

func (in *Input) runtimeHas(j Job, path fieldpath.Path) bool {
	source := in.SourceOf(j.TrainJob)
	return source != nil && (source.Snapshot != nil || source.Document.Has(path))
}

// RuntimePosition is where a field of a TrainJob's runtime stands, or where the TrainJob names it.
func (in *Input) RuntimePosition(j Job, path fieldpath.Path) fieldpath.Position {
	if source := in.SourceOf(j.TrainJob); source != nil {
		return source.Position(path)
	}
	return j.Document.Position(fieldpath.Fields("spec", "runtimeRef"))
}

// patchDepth is the length of the path to an entry of .spec.runtimePatches.
const patchDepth = 3

// jobPosition is where a field of the TrainJob stands: in its own file, or, for a patch that was laid
// over it, in that of the patch.
func (in *Input) jobPosition(j Job, path fieldpath.Path) fieldpath.Position {
	if len(path) < patchDepth || !path.HasPrefix(fieldpath.Fields("spec", "runtimePatches")) {
		return j.Document.Position(path)
	}
	own := len(j.Spec.RuntimePatches)
	at := -1
	if i, ok := path[2].Index(); ok {
		at = i - own
	} else if _, manager, ok := path[2].Item(); ok {
		for i := range own {
			if j.Spec.RuntimePatches[i].Manager == manager {
				return j.Document.Position(path)
			}
		}
		for i := range in.Patches {
			if in.Patches[i].Patch.Manager == manager {
				at = i
				break
			}
		}
	}
	if at < 0 || at >= len(in.Patches) {
		return j.Document.Position(path)
	}
	patch := in.Patches[at]
	return patch.Document.Position(patch.Base.Append(path[patchDepth:]...))
}
