// Package podgroups judges the PodGroups of a rendered TrainJob by their definitions. It is apart
// from package pipeline, since a golden test does not link what evaluates definitions.
package podgroups

import (
	"cmp"
	"context"
	"slices"

	"github.com/trainweld/trainweld/cmd/internal/pipeline"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
)

// Rejected returns the findings on the PodGroups of a rendered TrainJob that their definitions
// reject. The controller then makes no object.
func Rejected(in *workspace.Input, j workspace.Job, opts render.Options, made pipeline.Made,
	found finding.List) finding.List {
	if made.JobSet == nil || found.Err() != nil {
		return nil
	}
	origin := func(path fieldpath.Path) merge.Claim {
		for at, claims := range made.History.All() {
			if slices.Equal(at, path) {
				return claims[len(claims)-1]
			}
		}
		return merge.Claim{}
	}
	rejected := admission.PodGroups(context.Background(), cmp.Or(opts.Release, j.Release()),
		j.TrainJob, made.Companions, origin)
	if found.Of(codes.ManagedByOther) != nil {
		for i := range rejected {
			rejected[i].Severity = finding.Warning
		}
	}
	return in.Locate(j, rejected)
}
