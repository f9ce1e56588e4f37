// Package merged compares what the command merge refuses with what Kubernetes' own defaulting and validation refuse.
package merged

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/kubernetes/pkg/capabilities"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/objectmerge"
	"github.com/trainweld/trainweld/cmd/internal/option"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/schema"
)

var (
	cases = flag.Int("cases", 200, "how many merges of each kind and type are compared")
	seed  = flag.Uint64("seed", 1, "seed of the first merge")
	only  = flag.String("kind", "", "the one kind to compare")
)

// mostShown is how many wrong verdicts of a kind are shown.
const mostShown = 10

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

// TestVerdicts merges random patches into random objects. The program refuses the result iff the API server does, and accepts the base. For
// kinds of which the program has some rules only, it refuses nothing that the server accepts.
func TestVerdicts(t *testing.T) {
	capabilities.Setup(true, 0) // as clusters run their API servers: privileged containers are allowed
	for i := range kinds {
		k := &kinds[i]
		if *only != "" && k.name != *only {
			continue
		}
		definition := k.definition(t)
		for _, typ := range []string{option.StrategicType, option.ApplyType, option.JSONType} {
			t.Run(k.name+"/"+typ, func(t *testing.T) {
				var count [missed + 1]int
				wrong := 0
				reasons := map[string]int{}
				for n := range uint64(*cases) {
					at := *seed + n
					g := &generator{rand.New(rand.NewPCG(at, uint64(i)))}
					m := k.random(g)
					result, found, rejected := k.compare(t, m, typ, definition)
					count[result]++
					for _, reason := range m.reasons(result, found, rejected) {
						reasons[reason]++
					}
					if result == falseRefusal || result == missed && (!k.partly || isStructural(rejected)) {
						if wrong++; wrong <= mostShown {
							t.Errorf("seed %d: %s", at, m.describe(result, found, rejected))
						}
					}
				}
				t.Logf("%d merges: %d unmerged, %d of invalid bases, %d accepted, %d refused; only the program refuses %d, only the API server %d",
					*cases, count[unmerged], count[baseRefused], count[bothAccept], count[bothRefuse], count[falseRefusal], count[missed])
				for _, reason := range slices.SortedFunc(maps.Keys(reasons), func(a, b string) int { return reasons[b] - reasons[a] }) {
					t.Logf("%6d %s", reasons[reason], reason)
				}
				if *cases >= 100 && (count[bothRefuse]+count[missed] < *cases/20 || count[bothAccept] < *cases/20) {
					t.Errorf("too few objects of one verdict: the comparison says little")
				}
			})
		}
	}
}

// definition returns the schema of the kind in the OpenAPI document of the linked release, for applies.
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

// mergeCase is a base with the patches of several managers.
type mergeCase struct {
	base    map[string]any
	patches []map[string]any
}

// random returns a case of the kind. Most bases are valid.
func (k *kind) random(g *generator) *mergeCase {
	m := &mergeCase{}
	for try := 0; ; try++ {
		if err := json.Unmarshal([]byte(k.base), &m.base); err != nil {
			panic(err)
		}
		m.base["apiVersion"], m.base["kind"] = k.version.String(), k.name
		if g.IntN(3) > 0 {
			overlay(m.base, g.patch(k))
		}
		if len(k.rejections(m.base)) == 0 || g.IntN(40) == 0 || try == 20 {
			break
		}
	}
	for range 1 + g.IntN(2) {
		m.patches = append(m.patches, g.patch(k))
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
		for _, key := range []string{"name", "mountPath", "devicePath", "containerPort", "port", "topologyKey", "ip"} {
			for _, other := range base {
				if other, ok := other.(map[string]any); ok && fields[key] != nil && other[key] == fields[key] {
					overlay(other, fields)
					continue next
				}
			}
		}
		base = append(base, fields)
	}
	return base
}

// compare merges by the program, and compares its verdict with the API server's.
func (k *kind) compare(t *testing.T, m *mergeCase, typ string, definition *schema.Type) (outcome, finding.List, []string) {
	t.Helper()
	files := fstest.MapFS{"base.json": {Data: encode(t, m.base)}}
	flags := workspace.Flags{Files: []string{"base.json"}}
	for i, patch := range m.patches {
		name := fmt.Sprintf("%c.json", 'a'+i)
		if typ != option.StrategicType {
			patch = plain(patch).(map[string]any)
		}
		files[name] = &fstest.MapFile{Data: encode(t, patch)}
		flags.Patches = append(flags.Patches, name)
	}
	var object *objectmerge.Object
	var found finding.List
	if typ == option.ApplyType {
		of, err := objectmerge.NewKind(k.version.String(), k.name, objectmerge.Defined{Type: definition})
		if err != nil {
			t.Fatal(err)
		}
		object, found = of.Object("base.json", files["base.json"].Data)
		for _, name := range flags.Patches {
			if object == nil {
				break
			}
			patch, more := of.Patch(name, name, files[name].Data)
			if found = append(found, more...); more.Err() == nil {
				found = append(found, object.Add(patch)...)
			}
		}
	} else {
		var err error
		p := &host.Program{Files: files, Stdin: strings.NewReader("")}
		if object, found, err = objectmerge.Read(p, workspace.New(flags), flags, option.Schema{MergeType: typ}); err != nil {
			t.Fatal(err)
		}
	}
	if object == nil || found.Err() != nil {
		return unmerged, found, nil
	}
	merged, more := object.Apply(found)
	if merged == nil {
		return unmerged, more, nil
	}
	if found = append(found, more...); slices.ContainsFunc(more, func(f finding.Finding) bool { return f.Code == "TW101" }) {
		return unmerged, more, nil
	}
	found = append(found, object.Conflicts(merged, render.Last)...)
	found = append(found, object.Rejected(merged, found)...)
	rejected := k.rejections(merged.Fields)
	refuses := found.Err() != nil
	switch {
	case len(k.rejections(m.base)) > 0:
		return baseRefused, found, rejected
	case refuses && len(rejected) > 0:
		return bothRefuse, found, rejected
	case refuses:
		return falseRefusal, found, rejected
	case len(rejected) > 0:
		return missed, found, rejected
	}
	return bothAccept, found, rejected
}

func encode(t *testing.T, fields map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// plain returns a patch without its directives.
func plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, field := range value {
			if !strings.HasPrefix(name, "$") {
				out[name] = plain(field)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, item := range value {
			if fields, ok := item.(map[string]any); !ok || fields["$patch"] == nil {
				out = append(out, plain(item))
			}
		}
		return out
	}
	return value
}

func (m *mergeCase) describe(result outcome, found finding.List, rejected []string) string {
	var b strings.Builder
	side := "only the API server refuses"
	if result == falseRefusal {
		side = "only the program refuses"
	}
	base, _ := json.Marshal(m.base)
	fmt.Fprintf(&b, "%s\n  base  %s\n", side, base)
	for _, patch := range m.patches {
		text, _ := json.Marshal(patch)
		fmt.Fprintf(&b, "  patch %s\n", text)
	}
	fmt.Fprintf(&b, "  program: %v\n  server: %s", found.Err(), strings.Join(rejected, "\n          "))
	return b.String()
}

// reasons returns the errors of the one side that refuses, without names and positions.
func (m *mergeCase) reasons(result outcome, found finding.List, rejected []string) (reasons []string) {
	switch result {
	case falseRefusal:
		for _, f := range found {
			if f.Severity == finding.Error {
				reasons = append(reasons, "program: "+f.Path.String()+": "+f.Message)
			}
		}
	case missed:
		for _, text := range rejected {
			reasons = append(reasons, "server: "+text)
		}
	}
	for i := range reasons {
		if len(reasons[i]) > 220 {
			reasons[i] = reasons[i][:220]
		}
	}
	return reasons
}
