package merged

import (
	_ "embed"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/kubernetes/pkg/capabilities"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/objectmerge"
	"github.com/trainweld/trainweld/cmd/internal/option"
)

// written are patches by kind.
//
//go:embed testdata/written.yaml
var written []byte

// writtenPatch is a patch over the base of its kind.
type writtenPatch struct {
	Reason string
	Patch  map[string]any
	// Beyond means that merge has no such rule of the kind, and misses what the API server refuses.
	Beyond bool
}

// TestVerdicts_Written is TestVerdicts for patches that people write. Each kind has some that the
// API server refuses, and some that it accepts.
func TestVerdicts_Written(t *testing.T) {
	capabilities.Setup(true, 0)
	var patches map[string][]writtenPatch
	if err := yaml.UnmarshalStrict(written, &patches); err != nil {
		t.Fatal(err)
	}
	server := newServer(t)
	for _, name := range slices.Sorted(maps.Keys(patches)) {
		types, definition := []string{option.StrategicType, option.ApplyType, option.JSONType,
			operationsType}, objectmerge.Defined{}
		base, rejections := baseJobSet, server.rejections
		if name == "JobSet" {
			types, definition = types[1:], released(t, name)
		} else {
			k := kindOf(name)
			base, definition.Type = k.text(), k.definition(t)
			rejections = func(fields map[string]any, _ bool) []string {
				return k.rejections(fields)
			}
		}
		for _, typ := range types {
			t.Run(name+"/"+typ, func(t *testing.T) {
				var count [missed + 1]int
				for _, p := range patches[name] {
					m := &mergeCase{typ: typ, definition: &definition, rejections: rejections,
						patches: []any{p.Patch}}
					if err := json.Unmarshal([]byte(base), &m.base); err != nil {
						t.Fatal(err)
					}
					if typ == operationsType {
						g := &generator{rand.New(rand.NewPCG(1, 1)), 1}
						m.patches[0] = g.added(nil, "", m.base, p.Patch)
					}
					result, found, rejected := m.compare(t)
					if count[result]++; result == falseRefusal || result == missed && !p.Beyond {
						t.Errorf("%s: %s", p.Reason, m.describe(result, found, rejected))
					}
				}
				t.Logf("%d unmerged, %d accepted, %d refused, %d missed", count[unmerged],
					count[bothAccept], count[bothRefuse], count[missed])
			})
		}
	}
}
