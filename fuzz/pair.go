package fuzz

import (
	"encoding/json"
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/check"
)

// Policy is a policy that a runtime can have.
type Policy string

// The policies of Trainer v2.3.0. A runtime has at most one of the first six; the other two say how its
// pods are scheduled together.
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

// PairOptions says which pairs are generated.
type PairOptions struct {
	// Policies are those that a runtime may have; Plain and Torch when there is none.
	Policies []Policy
	// Managers bound the number of managers from below.
	Managers int
}

// Pair is a TrainJob and its runtime, as their authors write them: without the API server's defaults.
type Pair struct {
	// Seed is what Render was called with.
	Seed uint64
	// Rejected counts the candidates that check.Patches refused before this one.
	Rejected int

	Runtime  *trainer.ClusterTrainingRuntime
	TrainJob *trainer.TrainJob
}

// String names the pair by its seed. It does not print the values.
func (p *Pair) String() string { return fmt.Sprintf("pair %d", p.Seed) }

// Clone is a copy that shares no memory with p.
func (p *Pair) Clone() *Pair {
	return &Pair{Seed: p.Seed, Rejected: p.Rejected, Runtime: p.Runtime.DeepCopy(), TrainJob: p.TrainJob.DeepCopy()}
}

// Render generates the documents that are meant to be accepted, as Go values, in which check.Patches finds no error. It
// panics when a thousand candidates in a row do not pass.
func Render(seed uint64, opts PairOptions) *Pair {
	if len(opts.Policies) == 0 {
		opts.Policies = []Policy{Plain, Torch}
	}
	for attempt := range uint64(mostAttempts) {
		d := Document(seed+attempt<<32, DocumentOptions{Policies: opts.Policies, Managers: opts.Managers})
		p := &Pair{Seed: seed, Rejected: int(attempt), Runtime: &trainer.ClusterTrainingRuntime{}, TrainJob: &trainer.TrainJob{}}
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
	panic(fmt.Sprintf("fuzz: check.Patches refused %d candidates of seed %d in a row", mostAttempts, seed))
}

func decode(document object, into any) {
	data, err := json.Marshal(document)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		panic(fmt.Errorf("fuzz: a generated document is not of its type: %w", err))
	}
}

// SmallerPair returns a function that offers copies of the pair which lack one thing each. It says
// false when there are no more.
func SmallerPair(p *Pair) func() (*Pair, bool) {
	n := 0
	return func() (*Pair, bool) {
		small := p.Clone()
		if !Drop(n, &small.TrainJob.Spec.RuntimePatches, &small.TrainJob.Spec, &small.Runtime.Spec) {
			return nil, false
		}
		n++
		return small, true
	}
}

const ancestorLabel = "trainer.kubeflow.org/trainjob-ancestor-step"

// torchtune reads the model off the runtime's name.
var runtimeNames = []string{"rt", "torch-distributed", "torchtune-llama3.2-1b", "torchtune-llama3.3-70b", "torchtune-qwen2.5-1.5b"}
