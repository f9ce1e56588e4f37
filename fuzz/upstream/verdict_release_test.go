package upstream_test

import (
	"math/rand/v2"
	"slices"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/render/release"
)

// rejectionsOf returns the rejections of a release.
func rejectionsOf(r *release.Release) []rejection {
	if r.Version == release.Latest().Version {
		return rejections().Rules
	}
	earlier := rejections().Earlier
	all := slices.Clone(earlier)
	for _, known := range rejections().Rules {
		if !slices.ContainsFunc(earlier, func(e rejection) bool {
			return e.Rule == known.Rule
		}) {
			all = append(all, known)
		}
	}
	return all
}

// translate turns a case of the latest release into one of the server's. Its patches become
// overrides. Most of the fields that the release lacks go, since little else would be met.
func (g *generator) translate(c *verdictCase, r *rand.Rand) {
	m := mutator{r}
	keep := r.IntN(8) == 0
	for _, part := range []*upstream.Object{&c.runtime, &c.changedRuntime, &c.job, &c.changedJob} {
		if *part == nil {
			continue
		}
		fuzz.Overridden(*part, g.server.Release.Overrides)
		if kind, _ := (*part)["kind"].(string); !keep &&
			slices.Contains([]string{"TrainJob", "TrainingRuntime", "ClusterTrainingRuntime"},
				kind) {
			if pruned, err := g.server.Prune(*part); err == nil && pruned != nil {
				*part = pruned
			}
		}
	}
	if r.IntN(3) > 0 {
		return
	}
	job, runtime := c.job, c.runtime
	if c.changedJob != nil && r.IntN(2) == 0 {
		job = c.changedJob
	}
	if c.changedRuntime != nil && r.IntN(2) == 0 {
		runtime = c.changedRuntime
	}
	if _, placed := m.edit("earlier", job, runtime); placed {
		c.aims = append(c.aims, "an earlier release")
	}
}
