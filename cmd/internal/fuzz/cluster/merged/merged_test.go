// Package merged compares what the command merge refuses with what Kubernetes' own defaulting and
// validation, JobSet's webhooks and definitions refuse.
package merged

import (
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/kubernetes/pkg/capabilities"

	"github.com/trainweld/trainweld/cmd/internal/objectmerge"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/schema"
)

var (
	cases = flag.Int("cases", 100, "how many merges of each kind and type are compared")
	seed  = flag.Uint64("seed", 1, "seed of the first merge")
	only  = flag.String("kind", "", "the one kind to compare")
)

// mostShown is how many wrong verdicts of a kind are shown.
const mostShown = 10

// operationsType is the type of merges whose patches are JSON patches, as of kubectl patch
// --type=json.
const operationsType = "json"

// outcome says what both sides think of a merge.
type outcome int

const (
	unmerged    outcome = iota // the merge itself fails
	baseRefused                // the base is invalid before
	bothAccept
	bothRefuse
	falseRefusal // only the program refuses
	missed       // only the API server refuses
)

// TestVerdicts merges random patches into random objects. The program refuses the result iff the
// API server does, and accepts the base. For kinds of which the program has some rules only, it
// refuses nothing that the server accepts.
func TestVerdicts(t *testing.T) {
	// as clusters run their API servers: privileged containers are allowed
	capabilities.Setup(true, 0)
	for i := range kinds {
		k := &kinds[i]
		c := comparison{name: k.name, stream: uint64(i), partly: k.partly, random: k.random}
		if c.isLeftOut() {
			continue
		}
		definition := objectmerge.Defined{Type: k.definition(t)}
		for _, typ := range []string{option.StrategicType, option.ApplyType, option.JSONType,
			operationsType} {
			c.run(t, typ, definition)
		}
	}
}

// comparison is a run of random cases of one kind.
type comparison struct {
	name   string
	stream uint64 // of random numbers
	partly bool   // see kind
	random func(*generator) *mergeCase
	rare   int // one of so many cases runs, since each takes long
}

func (c *comparison) isLeftOut() bool { return *only != "" && c.name != *only }

// run compares merges of one type. An empty definition is none.
func (c *comparison) run(t *testing.T, typ string, definition objectmerge.Defined) {
	t.Run(c.name+"/"+typ, func(t *testing.T) {
		var count [missed + 1]int
		wrong, all := 0, *cases/max(1, c.rare)
		reasons := map[string]int{}
		for n := range uint64(all) {
			at := *seed + n
			g := &generator{rand.New(rand.NewPCG(at, c.stream)), at}
			m := c.random(g)
			m.typ = typ
			if m.definition == nil {
				m.definition = &definition
			}
			switch typ {
			case option.ApplyType: // the API server has stored the base
				m.base = withoutNulls(m.base).(map[string]any)
			case operationsType:
				m.base = canonical(t, m.base)
				for i, patch := range m.patches {
					m.patches[i] = g.operations(m.base, canonical(t, patch))
				}
			}
			result, found, rejected := m.compare(t)
			count[result]++
			for _, reason := range m.reasons(result, found, rejected) {
				reasons[reason]++
			}
			if result == falseRefusal ||
				result == missed && (!c.partly || rejected == nil || isStructural(rejected)) {
				if wrong++; wrong <= mostShown {
					t.Errorf("seed %d: %s", at, m.describe(result, found, rejected))
				}
			}
		}
		t.Logf("%d merges: %d unmerged, %d of invalid bases, %d accepted, %d refused; only the "+
			"program refuses %d, only the API server %d",
			all, count[unmerged], count[baseRefused], count[bothAccept], count[bothRefuse],
			count[falseRefusal], count[missed])
		for _, reason := range slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
			return reasons[b] - reasons[a]
		}) {
			t.Logf("%6d %s", reasons[reason], reason)
		}
		if least := all/100 + 1; all >= 50 &&
			(count[bothRefuse]+count[missed] < least || count[bothAccept] < least) {
			t.Errorf("too few objects of one verdict: the comparison says little")
		}
	})
}

// canonical returns the fields of an object, or of a patch, with 2 for 2.0. Upstream, a test of a
// JSON patch tells the two apart, and here it does not: docs/differences.md.
func canonical(t *testing.T, fields any) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(encode(t, fields), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// definition returns the schema of the kind in the OpenAPI document of the linked release, for
// applies.
func (k *kind) definition(t *testing.T) *schema.Type {
	t.Helper()
	name := "apis__" + k.version.Group + "__" + k.version.Version
	if k.version.Group == "" {
		name = "api__" + k.version.Version
	}
	text, err := os.ReadFile(filepath.Join(documents(t), name+"_openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	typ, err := schema.ParseOpenAPI(text, k.version.WithKind(k.name))
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// text returns the base of the kind.
func (k *kind) text() string {
	var base map[string]any
	if err := json.Unmarshal([]byte(k.base), &base); err != nil {
		panic(err)
	}
	base["apiVersion"], base["kind"] = k.version.String(), k.name
	text, err := json.Marshal(base)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// random returns a case of the kind.
func (k *kind) random(g *generator) *mergeCase {
	return g.mergeCase(k.text(), func() map[string]any {
		return g.patch(k)
	}, func(fields map[string]any, _ bool) []string { return k.rejections(fields) })
}

// mergeCase returns a case. Most bases are valid: the text, and mostly a patch over it.
func (g *generator) mergeCase(text string, patch func() map[string]any,
	rejections func(map[string]any, bool) []string) *mergeCase {
	m := &mergeCase{rejections: rejections}
	for try := 0; ; try++ {
		m.base = nil
		if err := json.Unmarshal([]byte(text), &m.base); err != nil {
			panic(err)
		}
		if g.IntN(3) > 0 {
			overlay(m.base, plain(patch()).(map[string]any))
		}
		if len(m.rejections(m.base, false)) == 0 || g.IntN(40) == 0 || try == 20 {
			break
		}
	}
	for range 1 + g.IntN(2) {
		m.patches = append(m.patches, patch())
	}
	return m
}

// overlay writes a patch into a base: items of lists with the same name meet.
func overlay(base, patch map[string]any) {
	for name, value := range patch {
		switch value := value.(type) {
		case map[string]any:
			if into, ok := base[name].(map[string]any); ok {
				overlay(into, value)
				continue
			}
		case []any:
			if into, ok := base[name].([]any); ok {
				base[name] = overlayList(into, value)
				continue
			}
		}
		if value != nil && !strings.HasPrefix(name, "$") {
			base[name] = value
		}
	}
}

func overlayList(base, patch []any) []any {
next:
	for _, item := range patch {
		fields, ok := item.(map[string]any)
		if !ok || fields["$patch"] != nil {
			continue
		}
		for _, key := range []string{"name", "mountPath", "devicePath", "containerPort", "port",
			"topologyKey", "ip"} {
			for _, other := range base {
				if other, ok := other.(map[string]any); ok && fields[key] != nil &&
					other[key] == fields[key] {
					overlay(other, fields)
					continue next
				}
			}
		}
		base = append(base, fields)
	}
	return base
}
