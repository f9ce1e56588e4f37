package strategic

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// This file makes patches of values: it puts nulls, directives and mistakes into them.

func sortedNames(o object) []string {
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// twist puts nulls and directives into a value of a patch, of type t. If the value is an item of a
// list, key is the list's merge key.
func (g *generator) twist(t reflect.Type, key string, v any, with oddities) {
	t = indirect(t)
	switch v := v.(type) {
	case object:
		isStruct := t.Kind() == reflect.Struct && textsFor(t) == nil
		for _, name := range sortedNames(v) {
			var inner reflect.Type = reflect.TypeFor[any]()
			innerKey := ""
			if isStruct {
				if f := fieldNamed(t, name); f != nil {
					inner, innerKey = f.typ, f.tag.Get("patchMergeKey")
				}
			} else if t.Kind() == reflect.Map {
				inner = t.Elem()
			}
			if list, ok := v[name].([]any); ok {
				v[name] = g.twistList(inner, innerKey, list, with)
			} else {
				g.twist(inner, "", v[name], with)
			}
			switch {
			case name == key && !(with.wild && g.chance(0.02)):
			case with.directives && g.chance(0.04):
				v[name] = nil
			case with.wild && g.chance(0.02):
				v[name] = g.wrong()
			case with.wild && name == key:
				delete(v, name)
			}
		}
		if with.wild && g.chance(0.02) {
			v["unknownField"] = g.wrong()
		}
		if with.directives && g.chance(0.06) {
			g.direct(t, v, key, with.wild)
		}
	case []any:
		g.twistList(t, "", v, with)
	}
}

// wrong is a value that few fields take.
func (g *generator) wrong() any {
	return pick[any](g, "x", int64(5), true, 1.5, nil, object{}, object{"a": nil, "b": "x"},
		[]any{}, []any{"a", nil}, []any{object{"name": "a"}}, []any{[]any{}},
		object{"$patch": "delete"})
}

func (g *generator) twistList(t reflect.Type, key string, list []any, with oddities) []any {
	t = indirect(t)
	inner := reflect.TypeFor[any]()
	if t.Kind() == reflect.Slice {
		inner = t.Elem()
	}
	for i := range list {
		g.twist(inner, key, list[i], with)
		if with.wild && g.chance(0.01) {
			list[i] = g.wrong()
		}
	}
	e := indirect(inner)
	if !with.directives || key == "" && !with.wild || e.Kind() != reflect.Struct ||
		textsFor(e) != nil || !g.chance(0.12) {
		return list
	}
	if key == "" {
		key = "name"
	}
	special := object{"$patch": "delete", key: g.keyOf(e, key)}
	switch {
	case g.chance(0.25):
		special = object{"$patch": "replace"}
		if g.chance(0.3) {
			special[key] = g.keyOf(e, key)
		}
	case with.wild && g.chance(0.3):
		special["$patch"] = pick[any](g, "merge", "x", int64(1), nil, object{})
	case with.wild && g.chance(0.3):
		delete(special, key)
	}
	return slices.Insert(list, g.rng.IntN(len(list)+1), any(special))
}

// keyOf is a value that the key of a list's items may have.
func (g *generator) keyOf(item reflect.Type, key string) any {
	if f := fieldNamed(item, key); f != nil {
		if f.typ == reflect.TypeFor[intstr.IntOrString]() {
			return pick[any](g, int64(80), "80", "a", "", "null")
		}
		if k := indirect(f.typ).Kind(); k >= reflect.Int && k <= reflect.Int64 {
			return pick[any](g, int64(1), int64(2), int64(80), int64(443))
		}
	}
	return pick[any](g, "a", "b", "c", "d", "e")
}

// direct puts a directive among the fields of an object.
func (g *generator) direct(t reflect.Type, o object, key string, wild bool) {
	if textsFor(t) != nil {
		t = reflect.TypeFor[any]()
	}
	switch g.rng.IntN(8) {
	case 0:
		if key == "" { // in an item it is the list's
			o["$patch"] = "replace"
		}
	case 1:
		if key == "" && g.chance(0.5) {
			o["$patch"] = "delete"
		}
		if wild && g.chance(0.2) {
			o["$patch"] = pick[any](g, "merge", "x", int64(1), nil, object{})
		}
	case 2:
		var kept []any
		for _, name := range sortedNames(o) {
			if o[name] != nil && !strings.HasPrefix(name, "$") && !(wild && g.chance(0.05)) {
				kept = append(kept, name)
			}
		}
		if t.Kind() == reflect.Struct {
			for _, f := range fieldsOf(t) {
				if _, there := o[f.name]; !there && g.chance(0.3) {
					kept = append(kept, f.name)
				}
			}
		} else {
			kept = append(kept, "a", "c")
		}
		o["$retainKeys"] = append([]any{}, kept...)
		if wild && g.chance(0.1) {
			o["$retainKeys"] = g.wrong()
		}
	case 3, 4, 5:
		g.order(t, o, wild)
	default:
		g.deletions(t, o, wild)
	}
}

// lists are the fields of a struct that are lists, the ones that an object has first.
func lists(t reflect.Type, o object) (all []field) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range fieldsOf(t) {
		if indirect(f.typ).Kind() != reflect.Slice || f.typ.Elem().Kind() == reflect.Uint8 {
			continue
		}
		if _, there := o[f.name]; there {
			all = slices.Insert(all, 0, f)
		} else {
			all = append(all, f)
		}
	}
	return all
}

// order puts $setElementOrder next to a list.
func (g *generator) order(t reflect.Type, o object, wild bool) {
	all := lists(t, o)
	if len(all) == 0 || wild && g.chance(0.02) {
		o["$setElementOrder/"+pick(g, "a", "name", "unknown", "")] = pick[any](g, []any{}, "x",
			[]any{"a"})
		return
	}
	f := all[0]
	if g.chance(0.5) {
		f = pick(g, all...)
	}
	key, item := f.tag.Get("patchMergeKey"), indirect(f.typ.Elem())
	var order []any
	add := func(value any) {
		if key != "" {
			value = object{key: value}
		}
		order = append(order, value)
	}
	more := func() {
		for g.chance(0.4) {
			if key != "" {
				add(g.keyOf(item, key))
			} else {
				add(pick(g, words...))
			}
		}
	}
	if list, ok := o[f.name].([]any); ok {
		for _, element := range list {
			more()
			if item, ok := element.(object); ok {
				if item["$patch"] != nil {
					continue
				}
				element = item[key]
			}
			add(element)
		}
	}
	more()
	if wild && g.chance(0.2) {
		g.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	o["$setElementOrder/"+f.name] = append([]any{}, order...)
	if wild && g.chance(0.05) {
		o["$setElementOrder/"+f.name] = g.wrong()
	}
}

// deletions puts $deleteFromPrimitiveList into an object. If the object also has the list that it
// names, upstream's result depends on the order of a Go map. It does not if $setElementOrder names
// the list as well.
func (g *generator) deletions(t reflect.Type, o object, wild bool) {
	name := "a"
	if all := lists(t, o); len(all) > 0 && !(wild && g.chance(0.1)) {
		name = pick(g, all...).name
	} else if t.Kind() == reflect.Struct && len(fieldsOf(t)) > 0 {
		name = pick(g, fieldsOf(t)...).name
	}
	if _, ordered := o["$setElementOrder/"+name]; !ordered {
		delete(o, name)
	}
	var gone any = []any{pick(g, words...), pick(g, words...)}
	if wild && g.chance(0.2) {
		gone = g.wrong()
	}
	if wild && g.chance(0.03) {
		name = ""
	}
	o["$deleteFromPrimitiveList/"+name] = gone
}
