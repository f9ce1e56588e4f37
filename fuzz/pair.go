package fuzz

import (
	"encoding/json"
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/render/check"
)

// Policy is a policy that a runtime can have.
type Policy string

// The policies of Trainer v2.3.0. A runtime has at most one of the first six. The other two
// schedule its Pods together.
const (
	Plain        Policy = "plain"
	Torch        Policy = "torch"
	JAX          Policy = "jax"
	XGBoost      Policy = "xgboost"
	MPI          Policy = "mpi"
	Flux         Policy = "flux"
	Coscheduling Policy = "coscheduling"
	Volcano      Policy = "volcano"
)

// PairOptions select the pairs.
type PairOptions struct {
	// Policies are the policies that a runtime may have. An empty list means Plain and Torch.
	Policies []Policy
	// Managers is the least number of managers.
	Managers int
}

// Pair is a TrainJob and its runtime as their authors write them, without the API server's
// defaults.
type Pair struct {
	// Seed is the argument of Render.
	Seed uint64
	// Rejected counts the earlier candidates that check.Patches rejected.
	Rejected int

	Runtime  *trainer.ClusterTrainingRuntime
	TrainJob *trainer.TrainJob
}

// String returns the seed, not the values.
func (p *Pair) String() string { return fmt.Sprintf("pair %d", p.Seed) }

// Clone returns a copy that shares no memory with p.
func (p *Pair) Clone() *Pair {
	return &Pair{Seed: p.Seed, Rejected: p.Rejected, Runtime: p.Runtime.DeepCopy(),
		TrainJob: p.TrainJob.DeepCopy()}
}

// Render generates documents that should be accepted, as Go values in which check.Patches finds no
// error. It panics if a thousand candidates in a row fail.
func Render(seed uint64, opts PairOptions) *Pair {
	if len(opts.Policies) == 0 {
		opts.Policies = []Policy{Plain, Torch}
	}
	for attempt := range uint64(mostAttempts) {
		d := Document(seed+attempt<<32,
			DocumentOptions{Policies: opts.Policies, Managers: opts.Managers})
		p := &Pair{Seed: seed, Rejected: int(attempt), Runtime: &trainer.ClusterTrainingRuntime{},
			TrainJob: &trainer.TrainJob{}}
		decode(d.Runtime, p.Runtime)
		decode(d.TrainJob, p.TrainJob)
		p.TrainJob.Namespace = "ns"
		p.Runtime.Kind = trainer.ClusterTrainingRuntimeKind
		if kind := p.TrainJob.Spec.RuntimeRef.Kind; kind != nil {
			*kind = p.Runtime.Kind
		}
		if check.Patches(&p.Runtime.Spec.Template, p.TrainJob.Spec.RuntimePatches).Err() == nil {
			return p
		}
	}
	panic(fmt.Sprintf("fuzz: check.Patches refused %d candidates of seed %d in a row", mostAttempts,
		seed))
}

func decode(document, into any) {
	data, err := json.Marshal(document)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		panic(fmt.Errorf("fuzz: a generated document is not of its type: %w", err))
	}
}

// SmallerPair returns a function that yields copies of the pair, each without one field or item.
// The function returns false after the last copy.
func SmallerPair(p *Pair) func() (*Pair, bool) {
	n := 0
	return func() (*Pair, bool) {
		small := p.Clone()
		if !Drop(n, &small.TrainJob.Spec.RuntimePatches, &small.TrainJob.Spec,
			&small.Runtime.Spec) {
			return nil, false
		}
		n++
		return small, true
	}
}

const ancestorLabel = "trainer.kubeflow.org/trainjob-ancestor-step"

// torchtune reads the model from the runtime's name.
var runtimeNames = []string{"rt", "torch-distributed", "torchtune-llama3.2-1b",
	"torchtune-llama3.3-70b", "torchtune-qwen2.5-1.5b"}
