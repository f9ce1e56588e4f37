package merge

import (
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file gives fields the base's values again: protected ones, and all that the base sets if it wins. One walk copies the values, for
// Go values and for objects. The history then tells that the base's claims are in force.

// restoring is a part of the history whose fields get the base's values.
type restoring struct {
	*log
	policy  string
	removes bool // whether a field that the base lacks goes
}

// restore applies the policies of protected fields and of the base's precedence to a merged value. The base is a copy, whose memory the
// value may share then.
func (l *log) restore(o Options, value, base reflect.Value) (ignored []Ignored, err error) {
	if o.Precedence == BaseAlways {
		r := restoring{l, "precedence", false}
		r.value(l.root, value, base, nil)
		r.overrule(rootNode, nil)
	}
	for _, pattern := range o.Protected {
		r := restoring{l, "protected", true}
		l.match(rootNode, pattern, nil, func(at node, rest fieldpath.Path, emptied []int32) {
			path, layers := l.path(at).Append(rest...), emptied
			if len(rest) == 0 {
				layers = append(l.setters(at, nil), emptied...)
				r.overrule(at, emptied)
			} else if !has(base.Interface(), path) {
				return
			}
			for _, layer := range slices.Compact(slices.Sorted(slices.Values(layers))) {
				ignored = append(ignored, Ignored{l.layers[layer], path})
			}
		})
		r.value(l.root, value, base, pattern)
	}
	if o.ProtectedError && len(ignored) > 0 {
		return nil, &PatchError{
			Layer: ignored[0].Layer, Index: slices.Index(l.ids, l.layerID(ignored[0].Layer)), Path: ignored[0].Path, Err: apiError("Forbidden", "the field is protected"),
		}
	}
	return ignored, nil
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

// match calls do for each field that a pattern names and that patches reached. The layers emptied a field around it. The history of
// an object lacks the fields within an emptied one: then a rest of the pattern is left.
func (l *log) match(at node, pattern fieldpath.Path, emptied []int32, do func(at node, rest fieldpath.Path, emptied []int32)) {
	if len(pattern) == 0 {
		do(at, nil, emptied)
		return
	}
	emptied = slices.Concat(emptied, l.emptiers(at))
	isThere := false
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		if rest, ok := leads(pattern, l.typ(at), l.step(child)); ok {
			isThere = true
			l.match(child, rest, emptied, do)
		}
	}
	if !isThere && len(emptied) > 0 {
		do(at, pattern, emptied)
	}
}

// leads reports whether a pattern leads into a step of a field of type t. It also returns the rest of the pattern. The name of a field
// leads into each item of a list. No pattern leads to a merge key, which an item keeps in any case.
func leads(pattern fieldpath.Path, t *schema.Type, step fieldpath.Step) (rest fieldpath.Path, ok bool) {
	if len(pattern) == 0 {
		return nil, true
	}
	rest, ok = pattern[1:], fieldpath.Path{step}.Matches(pattern[:1])
	if !t.HasItems() {
		return rest, ok
	}
	if _, isField := pattern[0].Field(); isField {
		rest, ok = pattern, true
	}
	if len(rest) > 0 {
		name, isField := rest[0].Field()
		ok = ok && !(isField && (name == t.Key || slices.Contains(t.Keys, name)))
	}
	return rest, ok
}

// claimants returns the managers that claim something on a field.
func (l *log) claimants(at node, isIt func(claim int32) bool) (layers []int32) {
	for i := l.nodes[at].first; i >= 0; i = l.claims[i].next {
		if layer := l.claims[i].layer(); l.isManager(layer) && isIt(i) {
			layers = append(layers, layer)
		}
	}
	return layers
}

// emptiers returns the managers that claim a null on a field. In an object, that may also be a value that replaces the fields within.
func (l *log) emptiers(at node) []int32 {
	return l.claimants(at, func(claim int32) bool {
		kind := l.claims[claim].kind()
		return kind == nullValue || l.root.GoType() == nil && kind <= falseValue
	})
}

// setters returns the manager of each claim on a field or within it.
func (l *log) setters(at node, layers []int32) []int32 {
	layers = append(layers, l.claimants(at, func(int32) bool { return true })...)
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		layers = l.setters(child, layers)
	}
	return layers
}

// overrule records that the base's claims on a field and within it are in force, or that fields are removed. Emptied are the layers that
// emptied a field around it.
func (r restoring) overrule(at node, emptied []int32) {
	base, first := r.baseClaim(at), r.nodes[at].first
	if first >= 0 && (base >= 0 || r.removes) {
		losers := r.claimants(at, func(claim int32) bool { return base < 0 || !r.agree(at, base, claim) })
		r.log.overrule(at, base, baseLayer)
		if r.claims[first].kind() != presenceValue || base < 0 {
			r.decide(r.policy, r.path(at), baseLayer, append(losers, emptied...))
		}
	}
	if base >= 0 && r.claims[base].kind() <= falseValue {
		r.removes = true // the base's value has no fields
	}
	emptied = slices.Concat(emptied, r.emptiers(at))
	for child := r.nodes[at].child; child != noNode; child = r.nodes[child].next {
		r.overrule(child, emptied)
	}
}

// value gives the part of a merged value to which a pattern leads the base's value. An empty pattern names the whole part. Both values
// have one type, which is any within JSON, and the zero value is none.
func (r restoring) value(t *schema.Type, to, base reflect.Value, pattern fieldpath.Path) {
	isNamed := len(pattern) == 0
	if isNamed && (r.removes || to.IsZero()) {
		to.Set(base)
		return
	}
	in, from := inner(to, base), inner(base, to)
	if !in.IsValid() || isNamed && base.IsZero() {
		return // the base sets nothing
	}
	if t.Kind == schema.Untyped {
		if !isNamed { // a pattern leads into objects only
			in, from = objectIn(in), objectIn(from)
		}
		t, _ = as(t, in.Interface()) // JSON, as was checked
	}
	switch {
	case isWhole(t) || in.Type() != from.Type():
		if isNamed {
			to.Set(base)
		}
		return
	case in.Kind() == reflect.Struct:
		r.fields(t, in, from, pattern)
	case in.Kind() == reflect.Map:
		r.entries(t, in, from, pattern)
	default:
		if r.items(t, in, from, pattern); in.Len() == 0 && from.IsNil() {
			to.SetZero() // the base has no list
			return
		}
	}
	switch {
	case in.IsZero():
	case to.Kind() == reflect.Interface:
		to.Set(in)
	case to.Kind() == reflect.Pointer && to.IsNil():
		to.Set(in.Addr())
	}
}

// inner returns the value within a pointer or an interface, for writing. Within nil that is an empty value of the other one's type. It
// is invalid if both are nil.
func inner(v, other reflect.Value) reflect.Value {
	switch {
	case v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface:
		return v
	case v.IsNil() && other.IsNil():
		return reflect.Value{}
	case v.IsNil():
		return reflect.New(other.Elem().Type()).Elem()
	case v.Kind() == reflect.Pointer:
		return v.Elem()
	}
	in := reflect.New(v.Elem().Type()).Elem()
	in.Set(v.Elem())
	return in
}

// isWhole reports whether a field merges as one value.
func isWhole(t *schema.Type) bool { return t.Kind == schema.Scalar || t.Kind == schema.Atomic }

// objectIn returns a value that is an object, or no fields for another one.
func objectIn(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Map {
		return v
	}
	return reflect.New(reflect.TypeFor[Object]()).Elem()
}

// fields restores the fields of a Go struct.
func (r restoring) fields(t *schema.Type, in, from reflect.Value, pattern fieldpath.Path) {
	for _, f := range t.Fields {
		rest, ok := leads(pattern, t, fieldpath.Field(f.Name))
		_, isThere := f.Template.Of(in)
		old, isSet := f.Template.Of(from)
		if !ok || !isThere && !isSet || !r.removes && (!isSet || isWhole(f.Type) && isUnset(f, old.Interface())) {
			continue
		}
		part, _ := f.Template.In(in)
		if !old.IsValid() {
			old = reflect.Zero(part.Type()) // within a nil embedded pointer
		}
		r.value(f.Type, part, old, rest)
	}
}

// entries restores the fields of an object, or the entries of a map. A Go map has whole entries.
func (r restoring) entries(t *schema.Type, in, from reflect.Value, pattern fieldpath.Path) {
	keys := from.MapKeys()
	for _, key := range in.MapKeys() {
		if !from.MapIndex(key).IsValid() {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		rest, ok := leads(pattern, t, t.Step(key.String()))
		if !ok {
			continue
		}
		part, of := entryOf(in, key), scalarType
		if t.GoType() == nil {
			_, of, _ = fieldOf(t, key.String()) // a known field, as was checked
		}
		r.value(of, part, entryOf(from, key), rest)
		switch {
		case part.IsNil() && r.removes:
			in.SetMapIndex(key, reflect.Value{})
		case !part.IsNil():
			if in.IsNil() {
				in.Set(reflect.MakeMap(in.Type()))
			}
			in.SetMapIndex(key, part.Elem())
		}
	}
}

// entryOf returns an entry of a map as a value of type any, which is nil for a missing entry.
func entryOf(in, key reflect.Value) reflect.Value {
	entry := reflect.New(reflect.TypeFor[any]()).Elem()
	if v := in.MapIndex(key); v.IsValid() && !isNil(v) {
		entry.Set(v)
	}
	return entry
}

// items restores the items of a list-map, or the elements of a set. Missing ones follow the others.
func (r restoring) items(t *schema.Type, in, from reflect.Value, pattern fieldpath.Path) {
	keys, left := listKeys(t, from), map[string][]int{}
	for i, key := range keys {
		left[key] = append(left[key], i)
	}
	list := in.Slice3(0, 0, 0)
	for i, key := range listKeys(t, in) {
		item, base, places := in.Index(i), reflect.Zero(in.Type().Elem()), left[key]
		if len(places) > 0 { // the first item of the key, for the first one
			base, left[key] = from.Index(places[0]), places[1:]
		}
		rest, ok := leads(pattern, t, itemStepOf(t, key))
		switch {
		case ok && len(places) == 0 && len(rest) == 0 && r.removes:
			continue
		case ok:
			r.value(t.Elem, item, base, rest)
		}
		list = reflect.Append(list, item)
	}
	for i, key := range keys {
		rest, ok := leads(pattern, t, itemStepOf(t, key))
		if !ok || len(left[key]) == 0 || i < left[key][0] {
			continue
		}
		item := reflect.New(in.Type().Elem()).Elem()
		r.value(t.Elem, item, from.Index(i), rest)
		if len(rest) > 0 && item.IsZero() {
			continue
		}
		r.value(t.Elem, item, from.Index(i), fieldpath.Fields(t.Key)) // no merge of objects removes an item
		list = reflect.Append(list, item)
	}
	in.Set(list)
}

// listKeys returns the log's keys of the items of a list.
func listKeys(t *schema.Type, list reflect.Value) []string {
	if t.GoType() != nil {
		return itemKeys(t, list)
	}
	keys := make([]string, list.Len())
	for i := range keys {
		keys[i], _ = itemKeyOf(t, list.Index(i).Interface()) // it has one, as was checked
	}
	return keys
}
