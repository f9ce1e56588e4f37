package render_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		render.Conflicts, render.DefaultJobSet, render.DefaultPatches,
		render.DefaultRuntime, render.DefaultTrainJob, render.EphemeralClaims, render.JobSet, render.Jobs,
		render.Migrate, render.ObjectOf, render.OwnersOfChildren, render.ParseFeatureGates, render.Pods, render.CountPods, render.HasEphemeralVolumes,
		render.PodRanges, render.SystemPriority, render.TooManyPods,
		render.RuntimeOf,
		new(render.ChildOwners), new(render.Runtimes),
	)
}
