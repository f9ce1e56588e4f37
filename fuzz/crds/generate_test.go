package crds_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// generator draws objects and patches of one definition. Its patches meet: of each type a case uses
// few fields, and of each scalar few values.
type generator struct {
	*rand.Rand
	root *schema.Type
	seed uint64
	// wild is the share of values that may be of the wrong type, unknown, without a key or named
	// twice.
	wild   float64
	budget int
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

func pick[T any](g *generator, all ...T) T { return all[g.IntN(len(all))] }

// pair draws a base and one to five patches.
func (g *generator) pair() pair {
	g.seed = g.Uint64()
	g.wild = 0
	if g.chance(0.2) {
		g.wild = 0.01
	}
	p := pair{base: g.object(), updated: g.chance(0.1)}
	if p.updated {
		twice(g, p.base)
	}
	for range 1 + g.IntN(5) {
		if g.chance(0.3) {
			patch := thinned(g, p.base).(map[string]any)
			if meta, ok := patch["metadata"].(map[string]any); !ok || meta["name"] == nil {
				delete(patch, "metadata") // no patch takes the name from its object
			}
			p.patches = append(p.patches, patch)
		} else {
			p.patches = append(p.patches, g.object())
		}
	}
	return p
}

func (g *generator) object() merge.Object {
	g.budget = 120
	object := merge.Object{}
	for _, f := range g.few(g.root, 6) {
		switch f.Name {
		case "apiVersion", "kind", "metadata":
		default:
			object[f.Name] = g.value(f.Type, 0)
		}
	}
	if g.root.Elem != nil && g.chance(0.3) {
		object["extra-"+g.word()] = g.value(g.root.Elem, 0)
	}
	meta, ok := map[string]any(nil), false
	if g.chance(0.6) {
		meta, ok = g.value(g.root.Field("metadata").Type, 0).(map[string]any)
	}
	if !ok {
		meta = map[string]any{}
	}
	delete(meta, "managedFields")
	meta["name"] = "it"
	object["metadata"] = meta
	return object
}

// few are fields of a type, the same ones for the whole of a case.
func (g *generator) few(t *schema.Type, most int) []*schema.StructField {
	if len(t.Fields) <= most {
		return t.Fields
	}
	r := rand.New(rand.NewPCG(g.seed, uint64(len(t.Fields))))
	var chosen []*schema.StructField
	for _, i := range r.Perm(len(t.Fields))[:most] {
		chosen = append(chosen, t.Fields[i])
	}
	return chosen
}

func (g *generator) word() string { return pick(g, "a", "b", "c", "") }

func (g *generator) value(t *schema.Type, depth int) any {
	g.budget--
	if g.chance(0.04) {
		return nil
	}
	if g.chance(g.wild) {
		return g.anything(2)
	}
	switch t.Kind {
	case schema.Scalar:
		switch t.JSON {
		case "string":
			return g.word()
		case "number":
			return pick[any](g, int64(1), int64(2), 1.0, 2.5, int64(-7), 1e30)
		case "integer":
			if g.chance(g.wild) {
				return pick[any](g, 2.5, 1e30, -0.5, 3.0000000001, g.word())
			}
			return pick[any](g, int64(1), int64(2), 1.0, int64(-7))
		case schema.IntOrString:
			if g.chance(g.wild) {
				return pick[any](g, 2.5, true, map[string]any{}, []any{})
			}
			return pick[any](g, g.word(), int64(1), 1.0, "1")
		case "boolean":
			return g.chance(0.5)
		default:
			return pick[any](g, g.word(), int64(1), 1.0, "1", true)
		}
	case schema.Untyped:
		switch {
		case g.chance(0.3) || depth > 8:
			return pick[any](g, g.word(), int64(1), 1.0, true)
		case g.chance(0.3):
			return g.value(t.List, depth+1)
		default:
			return g.value(t.Object, depth+1)
		}
	case schema.Atomic:
		if t.Object != nil {
			return g.fields(t.Object, depth)
		}
		return g.list(t, depth)
	case schema.Struct, schema.Map:
		return g.fields(t, depth)
	default:
		return g.list(t, depth)
	}
}

func (g *generator) fields(t *schema.Type, depth int) any {
	object := map[string]any{}
	if g.chance(0.08) || g.budget < 0 {
		return object
	}
	for _, f := range g.few(t, 5) {
		if g.chance(0.6) {
			object[f.Name] = g.value(f.Type, depth+1)
		}
	}
	if t.Elem != nil {
		for range g.IntN(3) {
			object[pick(g, "x", "y", "z", "we.ird/k\"<ey")] = g.value(t.Elem, depth+1)
		}
	}
	if g.chance(g.wild) {
		object["unknown"] = g.anything(1)
	}
	return object
}

func (g *generator) list(t *schema.Type, depth int) any {
	list := []any{}
	if g.chance(0.1) || g.budget < 0 {
		return list
	}
	seen := map[string]bool{}
	for range g.IntN(5) {
		item := g.value(t.Elem, depth+1)
		if t.Kind == schema.ListMap && !g.chance(g.wild) {
			fields, ok := item.(map[string]any)
			if !ok {
				continue
			}
			key := ""
			of := t.Elem
			if of.Object != nil {
				of = of.Object
			}
			for _, name := range t.Keys {
				f := of.Field(name)
				if f.Default != nil && g.chance(0.4) || len(t.Keys) > 1 && g.chance(0.1) &&
					key != "" {
					delete(fields, name)
				} else {
					fields[name] = g.key(f.Type)
				}
				v := fields[name]
				if v == nil {
					v = f.Default
				}
				key += fmt.Sprint(v) + "|"
			}
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		if t.Kind == schema.Set && !g.chance(g.wild) {
			if item == nil || seen[fmt.Sprint(item)] {
				continue
			}
			seen[fmt.Sprint(item)] = true
		}
		list = append(list, item)
	}
	return list
}

// key is the value of a merge key, never null.
func (g *generator) key(t *schema.Type) any {
	if t.JSON == "number" || t.JSON == "integer" || t.JSON == schema.IntOrString {
		return pick[any](g, int64(80), int64(81), int64(443), 82.0)
	}
	if t.JSON == "boolean" {
		return g.chance(0.5)
	}
	return pick(g, "a", "b", "c", "d", "e")
}

// anything is a value of any type.
func (g *generator) anything(depth int) any {
	switch {
	case depth > 0 && g.chance(0.3):
		return map[string]any{g.word(): g.anything(depth - 1)}
	case depth > 0 && g.chance(0.3):
		return []any{g.anything(depth - 1), g.anything(depth - 1)}
	default:
		return pick[any](g, nil, g.word(), int64(1), 1.5, true)
	}
}

// thinned is a part of a value, with some of it changed.
func thinned(g *generator, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range sorted(v) {
			if g.chance(0.6) || name == "name" {
				out[name] = thinned(g, v[name])
			}
		}
		return out
	case []any:
		var out []any
		for _, item := range v {
			if g.chance(0.7) {
				out = append(out, thinned(g, item))
			}
		}
		if g.chance(0.3) {
			g.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		if out == nil {
			out = []any{}
		}
		return out
	default:
		if g.chance(0.05) {
			return nil
		}
		return v
	}
}

// twice names items of lists twice.
func twice(g *generator, v any) {
	object, _ := v.(map[string]any)
	for _, name := range sorted(object) {
		if list, ok := object[name].([]any); ok && len(list) > 0 && g.chance(0.5) {
			object[name] = append(list, fuzz.Copy(list[g.IntN(len(list))]))
		} else {
			twice(g, object[name])
		}
		if list, ok := object[name].([]any); ok {
			for _, item := range list {
				twice(g, item)
			}
		}
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
