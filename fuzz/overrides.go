package fuzz

import (
	"fmt"
	"math/rand/v2"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/release"
)

// OldPair is a TrainJob of Trainer 2.1 and its runtime.
type OldPair struct {
	// Seed is the argument of Old.
	Seed uint64

	Runtime   *trainer.ClusterTrainingRuntime
	TrainJob  *trainer.TrainJob
	Overrides *legacy.Overrides
}

// String returns the seed, not the values.
func (p *OldPair) String() string { return fmt.Sprintf("old pair %d", p.Seed) }

// Old generates a TrainJob of Trainer 2.1 whose overrides check.Patches accepts.
func Old(seed uint64) *OldPair {
	for attempt := range uint64(mostAttempts) {
		pair := Render(seed+attempt<<32, PairOptions{Managers: 3})
		s := &switcher{rng: rand.New(rand.NewPCG(seed, attempt)),
			release: &release.Release{Overrides: release.PodTemplateOverrides},
			d:       &Documents{Runtime: object{}, TrainJob: object{}}}
		decode(pair.Runtime, &s.d.Runtime)
		decode(pair.TrainJob, &s.d.TrainJob)
		s.override()
		old := &legacy.TrainJob{}
		decode(s.d.TrainJob, old)
		p := &OldPair{Seed: seed, Runtime: pair.Runtime, TrainJob: pair.TrainJob,
			Overrides: &old.Spec.Overrides}
		p.TrainJob.Spec.RuntimePatches = nil
		if policy := p.Runtime.Spec.MLPolicy; policy != nil && policy.Torch != nil {
			policy.Torch.EnvInjection = nil // which 2.1 lacks
		}
		if check.Patches(&p.Runtime.Spec.Template, p.Overrides.Patches()).Err() == nil &&
			p.Overrides.Check().Err() == nil {
			return p
		}
	}
	panic(fmt.Sprintf("fuzz: check.Patches refused %d candidates of seed %d in a row", mostAttempts,
		seed))
}
