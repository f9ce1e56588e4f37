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
		switch {
		case f.Object.Kind != schema.TrainJobKind:
			f.Position = in.runtimePosition(j, f.Path)
		case len(f.Claims) > 0:
			f.Position = lastPlace(f.Claims)
		}
		if f.Position == (schema.Position{}) {
			f.Position = in.jobPosition(j, f.Path)
		}
	}
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

func (in *input) runtimePosition(j job, path schema.Path) schema.Position {
	source, ok := in.sources[render.ObjectOf(j.TrainJob)]
	if !ok {
		source, ok = in.sources[render.RuntimeOf(j.TrainJob)]
	}
	if !ok {
		return j.document.Position(schema.Fields("spec", "runtimeRef"))
	}
	if source.snapshot {
		path = schema.Fields("data", "runtime")
	}
	return source.document.Position(path)
}

// jobPosition is where a field of the TrainJob stands: in its own file, or, for a patch that was laid
// over it, in that of the patch.
func (in *input) jobPosition(j job, path schema.Path) schema.Position {
	const depth = 3 // .spec.runtimePatches[…]
	if len(path) < depth || !path.HasPrefix(schema.Fields("spec", "runtimePatches")) {
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
	return patch.Document.Position(patch.Base.Append(path[depth:]...))
}
