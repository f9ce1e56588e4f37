package crds_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// schemas draws schemas that are structural except in a few places.
type schemas struct {
	*rand.Rand
	flaws   float64
	marring bool // what makes a flaw has none itself
}

func (g *schemas) chance(p float64) bool { return g.Float64() < p }

func (g *schemas) flaw() bool { return g.chance(g.flaws) }

func (g *schemas) one(all ...string) string { return all[g.IntN(len(all))] }

// root draws the schema of a version.
func (g *schemas) root() map[string]any {
	s := map[string]any{"type": "object", "properties": g.properties(4)}
	if g.chance(0.2) {
		s["x-kubernetes-preserve-unknown-fields"] = true
	}
	if g.chance(0.2) {
		s["properties"].(map[string]any)["metadata"] = map[string]any{"type": "object"}
	}
	if g.flaw() {
		s["properties"].(map[string]any)[g.one("metadata", "kind", "apiVersion")] = g.value(2)
	}
	if g.chance(0.2) {
		s[g.one("anyOf", "allOf", "oneOf")] = []any{g.nested(s)}
	}
	g.mar(s, 3)
	return s
}

func (g *schemas) properties(depth int) map[string]any {
	properties := map[string]any{}
	for range 1 + g.IntN(4) {
		properties[g.one("a", "b", "c", "d", "spec")] = g.value(depth - 1)
	}
	return properties
}

// value draws the schema of a value.
func (g *schemas) value(depth int) map[string]any {
	s := map[string]any{}
	kind := g.IntN(10)
	if depth <= 0 && kind > 4 {
		kind = g.IntN(5)
	}
	switch kind {
	case 0, 1:
		s["type"] = "string"
		if g.chance(0.3) {
			s["format"] = g.one("date-time", "byte", "")
		}
	case 2:
		s["type"] = g.one("integer", "number", "boolean")
	case 3:
		s["x-kubernetes-int-or-string"] = true
		switch g.IntN(3) {
		case 0:
			s["anyOf"] = []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}
		case 1:
			s["allOf"] = []any{
				map[string]any{
					"anyOf": []any{map[string]any{"type": "integer"},
						map[string]any{"type": "string"}}}, map[string]any{"minLength": 1}}
		}
	case 4:
		s["x-kubernetes-preserve-unknown-fields"] = true
		if g.chance(0.5) {
			s["type"] = "object"
		}
		if depth > 0 && g.chance(0.5) {
			s["properties"] = g.properties(depth)
		}
		if depth > 0 && s["type"] == nil && g.chance(0.3) {
			s["items"] = g.value(depth - 1)
		}
	case 5, 6:
		s["type"], s["properties"] = "object", g.properties(depth)
		if g.chance(0.3) {
			s["x-kubernetes-map-type"] = g.one("atomic", "granular")
		}
		if g.chance(0.1) {
			s["x-kubernetes-preserve-unknown-fields"] = true
		}
		if g.chance(0.1) {
			s["x-kubernetes-embedded-resource"] = true
		}
	case 7:
		s["type"] = "object"
		s["additionalProperties"] = any(g.value(depth - 1))
		if g.chance(0.2) {
			s["additionalProperties"] = g.chance(0.7)
		}
		if g.chance(0.2) {
			s["x-kubernetes-map-type"] = g.one("atomic", "granular")
		}
	default:
		g.list(s, depth)
	}
	if g.chance(0.1) {
		s["nullable"] = true
	}
	if g.chance(0.1) && s["anyOf"] == nil {
		s[g.one("anyOf", "allOf", "oneOf")] = []any{g.nested(s), map[string]any{"minLength": 1}}
	}
	g.mar(s, depth)
	return s
}

func (g *schemas) list(s map[string]any, depth int) {
	s["type"] = "array"
	switch g.IntN(3) {
	case 0:
		s["items"] = g.value(depth - 1)
	case 1:
		s["x-kubernetes-list-type"] = "set"
		s["items"] = map[string]any{"type": g.one("string", "integer", "boolean")}
		if g.chance(0.2) {
			s["items"] = map[string]any{"type": "object", "x-kubernetes-map-type": "atomic",
				"additionalProperties": map[string]any{"type": "string"}}
		}
	default:
		s["x-kubernetes-list-type"] = "map"
		properties := g.properties(depth)
		keys, required := []any{}, []any{}
		for _, name := range []string{"k", "l"}[:1+g.IntN(2)] {
			key := map[string]any{"type": g.one("string", "integer", "boolean")}
			if g.chance(0.2) {
				key = map[string]any{"x-kubernetes-int-or-string": true}
			}
			switch {
			case g.chance(0.5):
				required = append(required, name)
			case key["type"] == "integer":
				key["default"] = 80
			case key["type"] == "boolean":
				key["default"] = true
			default:
				key["default"] = "x"
			}
			if g.flaw() {
				delete(key, "default")
			}
			properties[name], keys = key, append(keys, name)
		}
		items := map[string]any{"type": "object", "properties": properties}
		if len(required) > 0 {
			items["required"] = required
		}
		if g.chance(0.2) {
			items["x-kubernetes-map-type"] = g.one("atomic", "granular")
		}
		if g.flaw() {
			keys = append(keys, g.one("k", "zz", "a"))
		}
		s["items"], s["x-kubernetes-list-map-keys"] = items, keys
	}
}

// nested draws a schema that may stand in anyOf, allOf or oneOf of another one.
func (g *schemas) nested(of map[string]any) map[string]any {
	s := map[string]any{}
	properties, _ := of["properties"].(map[string]any)
	if len(properties) > 0 && g.chance(0.6) {
		name := slices.Sorted(maps.Keys(properties))[g.IntN(len(properties))]
		sub, _ := properties[name].(map[string]any)
		s["properties"] = map[string]any{name: g.nested(sub)}
		s["required"] = []any{name}
	}
	if items, ok := of["items"].(map[string]any); ok && g.chance(0.5) {
		s["items"] = g.nested(items)
	}
	if g.flaw() {
		s["properties"] = map[string]any{g.one("a", "nowhere", "metadata"): map[string]any{}}
	}
	if g.chance(0.3) {
		s["minLength"] = 1
	}
	if g.chance(0.1) {
		s["not"] = map[string]any{"enum": []any{"x"}}
	}
	g.mar(s, 1)
	return s
}

// mar makes a flaw, or not.
func (g *schemas) mar(s map[string]any, depth int) {
	if g.marring || !g.flaw() {
		return
	}
	g.marring = true
	defer func() { g.marring = false }()
	keyword := []any{
		"type", g.one("", "null", "text", "array", "object", "string", "integer"),
		"nullable", true, "$ref", g.one("#", "#/properties/a"), "items", g.value(min(depth, 1) - 1),
		"items", []any{map[string]any{"type": "string"}},
		"properties", g.properties(1), "additionalProperties", g.chance(0.5),
		"additionalProperties", g.value(0),
		"x-kubernetes-preserve-unknown-fields", g.chance(0.5), "x-kubernetes-embedded-resource",
		true, "x-kubernetes-int-or-string", true,
		"x-kubernetes-list-type", g.one("set", "map", "atomic", "other"), "x-kubernetes-map-type",
		g.one("atomic", "granular", "other"),
		"x-kubernetes-list-map-keys", []any{g.one("a", "b", "k")}, "uniqueItems", g.chance(0.5),
		"pattern", g.one("a(", "a*"),
		"title", "t", "description", "d", "id", "i", "definitions",
		map[string]any{"a": map[string]any{}}, "patternProperties",
		map[string]any{"a": map[string]any{}},
		"additionalItems", true, "dependencies", map[string]any{"a": []any{"b"}}, "anyOf",
		[]any{map[string]any{"type": "string"}},
		"not", map[string]any{"type": "string"}, "not",
		map[string]any{"properties": map[string]any{"zz": map[string]any{}}},
		"properties", map[string]any{"metadata": map[string]any{"type": g.one("object", "string")}},
	}
	i := 2 * g.IntN(len(keyword)/2)
	if g.chance(0.2) {
		delete(s, keyword[i].(string))
	} else {
		s[keyword[i].(string)] = keyword[i+1]
	}
}

// wrapped is a definition with a schema.
func wrapped(root any) []byte {
	data, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "things.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced",
			"names": map[string]any{"plural": "things", "singular": "thing", "kind": "Thing",
				"listKind": "ThingList"},
			"versions": []any{
				map[string]any{"name": "v1", "served": true, "storage": true,
					"schema": map[string]any{"openAPIV3Schema": root}}},
		},
		"status": map[string]any{"storedVersions": []any{"v1"}},
	})
	if err != nil {
		panic(err)
	}
	return data
}

// isRefused reports whether apiextensions refuses a definition.
func isRefused(data []byte) bool {
	crd, internal := &v1.CustomResourceDefinition{}, &apiextensions.CustomResourceDefinition{}
	if err := json.Unmarshal(data, crd); err != nil {
		return true
	}
	v1.SetDefaults_CustomResourceDefinition(crd)
	v1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	if err := v1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
		crd, internal, nil); err != nil {
		return true
	}
	return len(validation.ValidateCustomResourceDefinition(context.Background(), internal)) > 0
}

// TestLenient reads schemas that apiextensions refuses in a few places, and merges objects by them.
// It takes random schemas, and real ones with flaws. No schema is an error, and no merge panics.
func TestLenient(t *testing.T) {
	g := &schemas{Rand: rand.New(rand.NewPCG(testenv.NumberOr(t, "TRAINWELD_SEED", 1), 0))}
	cases := int(testenv.NumberOr(t, "TRAINWELD_SCHEMAS", 2000))
	var roots []map[string]any
	for _, data := range files(t) {
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct{ OpenAPIV3Schema map[string]any }
				}
			}
		}
		if err := json.Unmarshal(data, &crd); err != nil {
			t.Fatal(err)
		}
		if root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema; len(data) < 200_000 {
			roots = append(roots, root)
		}
	}
	merged, rejected := 0, 0
	for i := range cases {
		g.flaws = []float64{0.01, 0.05, 0.2}[i%3]
		root := g.root()
		if i%100 == 99 {
			root = fuzz.Copy(roots[g.IntN(len(roots))]).(map[string]any)
			for range 1 + g.IntN(3) {
				at := g.somewhere(root)
				g.flaws = 1
				g.mar(at, 0)
			}
		}
		typ, err := schema.ParseOpenAPI(wrapped(root))
		if err != nil {
			t.Fatalf("%v:\n%s", err, canonical(root))
		}
		// the root may merge whole
		p := pair{base: merge.Object{"a": "b"},
			patches: []merge.Object{{"a": merge.Object{"c": nil}}}}
		if typ.Field("metadata") != nil {
			p = (&generator{Rand: g.Rand, root: typ}).pair()
		}
		var patches []merge.Patch
		for i := range p.patches {
			patches = append(patches, merge.Patch{Manager: fmt.Sprint("m", i), Value: p.patches[i]})
		}
		if _, err := merge.Apply(typ, p.base, patches); err != nil {
			rejected++
		} else {
			merged++
		}
	}
	if t.Logf("%d merged, %d refused", merged, rejected); merged < rejected {
		t.Error("most merges are refused")
	}
}

func (g *schemas) somewhere(s map[string]any) map[string]any {
	for {
		var within []map[string]any
		properties, _ := s["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			within = append(within, properties[name].(map[string]any))
		}
		for _, keyword := range []string{"items", "additionalProperties"} {
			if sub, ok := s[keyword].(map[string]any); ok {
				within = append(within, sub)
			}
		}
		if len(within) == 0 || g.chance(0.2) {
			return s
		}
		s = within[g.IntN(len(within))]
	}
}

// cut shortens what no one reads to its end.
