package fuzz_test

import (
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/check"
	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/merge"
)

// FuzzMerge lays patches over a generated template: patches in JSON, or else such as the generator makes
// when the fuzzer's bytes are its choices. Nothing may panic, and the merge must give what upstream's
// gives.
func FuzzMerge(f *testing.F) {
	for seed := range uint64(64) {
		c := fuzz.Merge(seed, fuzz.Options{Directives: true})
		f.Add(seed, encode(c.Patches))
		choices := make([]byte, 2048)
		rand.NewChaCha8([32]byte{byte(seed)}).Read(choices)
		f.Add(seed, choices)
	}
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		if len(data) > 1<<16 {
			t.Skip("larger than any TrainJob's patches")
		}
		c := fuzz.Merge(seed, fuzz.Options{})
		var patches []trainer.RuntimePatch
		if err := json.Unmarshal(data, &patches); err != nil {
			c = fuzz.MergeFrom(&choices{data, rand.NewPCG(seed, 0)}, fuzz.Options{Directives: seed%2 == 0})
		} else {
			c.Patches = patches
		}
		check.Patches(c.Template, c.Patches)
		if result, err := merge.Apply(c.Template, c.Patches, merge.Options{Owners: true}); err == nil {
			conflict.Find(result.Owners)
			for range result.Owners.All() {
			}
		}
		broken := equalsUpstream(c)
		// Where one map holds a directive and the key that it speaks of, upstream's result depends on
		// the order in which Go walks the map. Any of its results will do.
		for try := 0; broken != "" && try < 32; try++ {
			broken = equalsUpstream(c)
		}
		if broken != "" {
			t.Errorf("%s\n%s", broken, asYAML(c))
		}
	})
}

// choices makes the choices that its bytes say, and random ones when they are used up.
type choices struct {
	data []byte
	rest *rand.PCG
}

func (c *choices) Uint64() uint64 {
	if len(c.data) < 2 {
		return c.rest.Uint64()
	}
	// Two bytes decide one choice: the generator's alphabets are small, and looks at the high bits.
	choice := uint64(binary.LittleEndian.Uint16(c.data)) << 48
	c.data = c.data[2:]
	return choice | c.rest.Uint64()>>16
}
