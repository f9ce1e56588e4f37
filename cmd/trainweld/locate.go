package main

import (
	"slices"

	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/schema"
)

// locate fills in where the findings of a TrainJob stand in the files: the finding itself, and the
// claims that it names.
func (in *input) locate(j job, findings schema.Findings) {
	for i := range findings {
		f := &findings[i]
		for c := range f.Claims {
			claim := &f.Claims[c]
			claim.Position = in.claimPosition(j, *claim)
		}
		if f.Position != (schema.Position{}) {
			continue
		}
		ofRuntime := f.Object.Kind != schema.TrainJobKind && f.Object.Kind != jobSetKind
		if ofRuntime {
			f.Position = in.runtimePosition(j, f.Path)
		} else {
			f.Position = lastPlace(f.Claims)
		}
		switch {
		case f.Position != (schema.Position{}):
		case f.Object.Kind == jobSetKind || f.Path.HasPrefix(schema.Fields("spec", "replicatedJobs")):
			f.Position = in.resultPosition(j, f.Path)
		default:
			f.Position = in.jobPosition(j, f.Path)
		}
	}
}

// jobSetKind is the kind of the objects of findings on what a TrainJob becomes.
const jobSetKind = "JobSet"

// resultPosition is where a field of the JobSet comes from: the last patch that sets it, or the
// runtime's template, or else the TrainJob as a whole.
func (in *input) resultPosition(j job, path schema.Path) schema.Position {
	for _, p := range slices.Backward(in.patches) {
		if at := p.Base.Append(schema.PatchPath(p.Patch.Manager)[patchDepth:]...).Append(path...); p.Document.Has(at) {
			return p.Document.Position(at)
		}
	}
	for _, p := range slices.Backward(j.Spec.RuntimePatches) {
		if at := schema.PatchPath(p.Manager).Append(path...); j.document.Has(at) {
			return j.document.Position(at)
		}
	}
	if at := schema.Fields("spec", "template").Append(path...); in.runtimeHas(j, at) {
		return in.runtimePosition(j, at)
	}
	return j.document.Position(schema.Fields("metadata", "name"))
}

// lastPlace is where the last of the claims stands that stands anywhere: what claims disagree on is a
// field of the result, and that one is to be looked at. What a policy writes stands in no file.
func lastPlace(claims []schema.Claim) schema.Position {
	for _, c := range slices.Backward(claims) {
		if c.Position != (schema.Position{}) {
			return c.Position
		}
	}
	return schema.Position{}
}

func (in *input) claimPosition(j job, c schema.Claim) schema.Position {
	if len(c.Source) == 0 {
		return schema.Position{}
	}
	if c.Layer == schema.Runtime {
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

func (in *input) runtimeHas(j job, path schema.Path) bool {
	source, ok := in.runtimeOf(j)
	return ok && (source.snapshot || source.document.Has(path))
}

func (in *input) runtimePosition(j job, path schema.Path) schema.Position {
	source, ok := in.runtimeOf(j)
	if !ok {
		return j.document.Position(schema.Fields("spec", "runtimeRef"))
	}
	if source.snapshot {
		path = schema.Fields("data", "runtime")
	}
	return source.document.Position(path)
}

// patchDepth is the length of the path to an entry of .spec.runtimePatches.
const patchDepth = 3

// jobPosition is where a field of the TrainJob stands: in its own file, or, for a patch that was laid
// over it, in that of the patch.
func (in *input) jobPosition(j job, path schema.Path) schema.Position {
	if len(path) < patchDepth || !path.HasPrefix(schema.Fields("spec", "runtimePatches")) {
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
