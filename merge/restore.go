package merge

import (
	"maps"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file gives fields the base's values again: protected ones, and all that the base sets if it
// wins. The history then tells that the base's claims are in force.

// restoring is a part of the history whose fields get the base's values.
type restoring struct {
	*log
	policy  string
	removes bool // whether a field that the base lacks goes
}

// restore applies the policies of protected fields and of the base's precedence to a merged value,
// and returns it with the base's values.
func (l *log) restore(o *options, value, base Object) (restored Object, notes []Note, err error) {
	restored = value
	if o.precedence == baseWins {
		r := restoring{l, "BaseWins", false}
		restored, _ = r.value(l.root, restored, base, nil).(Object)
		r.overrule(l.top, nil)
	}
	for _, path := range o.protected {
		pattern, _ := l.root.Resolve(path) // it is a field, as was checked
		r := restoring{l, "Protect", true}
		l.match(l.top, pattern, nil, func(at *node, rest fieldpath.Path, emptied []int32) {
			path, layers := at.path().Append(rest...), emptied
			if len(rest) == 0 {
				layers = append(l.setters(at, nil), emptied...)
				r.overrule(at, emptied)
			} else if !has(base, path) {
				return
			}
			for _, layer := range slices.Compact(slices.Sorted(slices.Values(layers))) {
				notes = append(notes, Note{Kind: Protected, Owner: l.layers[layer], Path: path})
			}
		})
		restored, _ = r.value(l.root, restored, base, pattern).(Object)
	}
	if o.protectedError && len(notes) > 0 {
		return nil, nil, &PatchError{
			Owner: notes[0].Owner, Index: slices.Index(l.ids, l.layerID(notes[0].Owner)),
			Path: notes[0].Path, Err: apiError("Forbidden", "the field is protected"),
		}
	}
	return restored, notes, nil
}

// has reports whether an object without a schema has a field.
func has(object any, path fieldpath.Path) bool {
	for _, step := range path {
		fields, _ := object.(Object)
		name, _ := step.Name()
		object = fields[name]
	}
	return object != nil
}

// match calls do for each field that a pattern names and that patches reached. The owners emptied a
// field around it. The history of an object lacks the fields within an emptied one: then a rest of
// the pattern is left.
func (l *log) match(at *node, pattern fieldpath.Path, emptied []int32,
	do func(at *node, rest fieldpath.Path, emptied []int32)) {
	if len(pattern) == 0 {
		do(at, nil, emptied)
		return
	}
	emptied = slices.Concat(emptied, l.emptiers(at))
	isThere := false
	for _, child := range at.children {
		if rest, ok := leads(pattern, at.typ, child.step()); ok {
			isThere = true
			l.match(child, rest, emptied, do)
		}
	}
	if !isThere && len(emptied) > 0 {
		do(at, pattern, emptied)
	}
}

// leads reports whether a pattern leads into a step of a field of type t. It also returns the rest
// of the pattern. No pattern leads to a merge key, which an item keeps in any case.
func leads(pattern fieldpath.Path, t *schema.Type,
	step fieldpath.Step) (rest fieldpath.Path, ok bool) {
	if len(pattern) == 0 {
		return nil, true
	}
	rest, ok = pattern[1:], fieldpath.Path{step}.Matches(pattern[:1])
	if t.HasItems() && len(rest) > 0 {
		name, isField := rest[0].Field()
		ok = ok && !(isField && (name == t.Key || slices.Contains(t.Keys, name)))
	}
	return rest, ok
}

// claimants returns the managers that claim something on a field.
func (l *log) claimants(at *node, isIt func(*claim) bool) (layers []int32) {
	for _, c := range at.claims {
		if l.isManager(c.layer) && isIt(&c) {
			layers = append(layers, c.layer)
		}
	}
	return layers
}

// emptiers returns the managers that claim a null on a field. In an object, that may also be a
// value that replaces the fields within.
func (l *log) emptiers(at *node) []int32 {
	return l.claimants(at, func(c *claim) bool {
		return c.kind == nullValue || l.root.GoType() == nil && c.kind == plainValue
	})
}

// setters returns the manager of each claim on a field or within it.
func (l *log) setters(at *node, layers []int32) []int32 {
	layers = append(layers, l.claimants(at, func(*claim) bool { return true })...)
	for _, child := range at.children {
		layers = l.setters(child, layers)
	}
	return layers
}

// overrule records that the base's claims on a field and within it are in force, or that fields are
// removed. Emptied are the owners that emptied a field around it.
func (r restoring) overrule(at *node, emptied []int32) {
	base := r.baseClaim(at)
	if len(at.claims) > 0 && (base != nil || r.removes) {
		losers := r.claimants(at, func(c *claim) bool { return base == nil || !at.agree(base, c) })
		r.rule(at, base, baseLayer)
		if at.claims[0].kind != presenceValue || base == nil {
			r.decide(r.policy, at.path(), baseLayer, append(losers, emptied...))
		}
	}
	if base != nil && base.kind == plainValue {
		r.removes = true // the base's value has no fields
	}
	emptied = slices.Concat(emptied, r.emptiers(at))
	for _, child := range at.children {
		r.overrule(child, emptied)
	}
}

// value returns the part of a merged value to which a pattern leads with the base's value. An empty
// pattern names the whole part. Nil is no value.
func (r restoring) value(t *schema.Type, to, base any, pattern fieldpath.Path) any {
	isNamed := len(pattern) == 0
	if isNamed && (r.removes || to == nil) {
		return base
	}
	if to == nil && base == nil || isNamed && base == nil {
		return to // the base sets nothing
	}
	in, from := to, base
	if t.Kind == schema.Untyped {
		if !isNamed { // a pattern leads into objects only
			in, from = objectIn(in), objectIn(from)
		}
		t, _ = as(t, firstOf(in, from)) // JSON, as was checked
	}
	if isWhole(t) || in != nil && from != nil && typeInJSON(in) != typeInJSON(from) {
		if isNamed {
			return base
		}
		return to
	}
	if t.HasItems() {
		list, _ := in.([]any)
		had, _ := from.([]any)
		if made := r.items(t, list, had, pattern); len(made) > 0 || had != nil {
			return made
		}
		return nil // the base has no list
	}
	object, isObject := in.(Object)
	had, _ := from.(Object)
	if made := r.members(t, object, had, pattern); isObject || len(made) > 0 {
		return made
	}
	return to
}

// objectIn returns a value that is an object, or no fields for another one.
func objectIn(v any) any {
	if _, isObject := v.(Object); isObject {
		return v
	}
	return nil
}

// members returns an object with the base's fields or entries.
func (r restoring) members(t *schema.Type, in, from Object, pattern fieldpath.Path) Object {
	made := make(Object, len(in))
	maps.Copy(made, in)
	names := slices.AppendSeq(slices.Collect(maps.Keys(in)), maps.Keys(from))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		step := fieldpath.Field(name)
		if t.Kind == schema.Map || t.GoType() == nil {
			step = t.Step(name)
		}
		rest, ok := leads(pattern, t, step)
		if !ok {
			continue
		}
		if t.GoType() == nil || t.Kind == schema.Map {
			of := scalarType // an entry of a Go map is whole
			if t.GoType() == nil {
				_, of, _ = fieldOf(t, name) // a known field, as was checked
			}
			if part := r.value(of, in[name], from[name], rest); part != nil {
				made[name] = part
			} else if r.removes {
				delete(made, name)
			}
			continue
		}
		f := t.Field(name)
		old := from[name]
		if !r.removes && (old == nil || isWhole(f.Type) && f.IsUnset(old)) {
			continue
		}
		f.Put(made, r.value(f.Type, in[name], old, rest))
	}
	return made
}

// items returns a list-map with the base's items, or a set with its elements. Missing ones follow
// the others.
func (r restoring) items(t *schema.Type, in, from []any, pattern fieldpath.Path) []any {
	keys, left := keysOf(t, from), map[string][]int{}
	for i, key := range keys {
		left[key] = append(left[key], i)
	}
	list := make([]any, 0, len(in))
	for i, key := range keysOf(t, in) {
		item, places := in[i], left[key]
		var base any
		if len(places) > 0 { // the first item of the key, for the first one
			base, left[key] = from[places[0]], places[1:]
		}
		rest, ok := leads(pattern, t, itemStepOf(t, key))
		switch {
		case ok && len(places) == 0 && len(rest) == 0 && r.removes:
			continue
		case ok:
			item = r.value(t.Elem, item, base, rest)
		}
		list = append(list, item)
	}
	for i, key := range keys {
		rest, ok := leads(pattern, t, itemStepOf(t, key))
		if !ok || len(left[key]) == 0 || i < left[key][0] {
			continue
		}
		item := r.value(t.Elem, nil, from[i], rest)
		if len(rest) > 0 && item == nil {
			continue
		}
		// no merge of objects removes an item
		list = append(list, r.value(t.Elem, item, from[i], fieldpath.Fields(t.Key)))
	}
	return list
}

// firstOf returns a value, or else another one.
func firstOf(value, other any) any {
	if value != nil {
		return value
	}
	return other
}
