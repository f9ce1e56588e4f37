package merge

import (
	"maps"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file gives fields the base's values again: protected ones, and all that the base sets if it wins. The history has the
// base's value of each field that patches reached.

// restoring is a part of the history whose fields get the base's values.
type restoring struct {
	*log
	policy  string
	removes bool // whether a field that the base lacks goes
}

// restore applies the policies of protected fields and of the base's precedence. Put gives the fields that a pattern names the base's
// values. Had reports whether the base has a field.
func (l *log) restore(o Options, had func(fieldpath.Path) bool, put func(r restoring, pattern fieldpath.Path)) (ignored []Ignored, err error) {
	if o.Precedence == BaseAlways {
		r := restoring{l, "precedence", false}
		put(r, nil)
		r.overruleWithin(rootNode, nil)
	}
	for _, pattern := range o.Protected {
		r := restoring{l, "protected", true}
		l.match(rootNode, l.root, pattern, nil, func(at node, rest fieldpath.Path, emptied []int32) {
			path, layers := l.path(at).Append(rest...), emptied
			if len(rest) == 0 {
				layers = append(l.setters(at, nil), emptied...)
				r.overruleWithin(at, emptied)
			} else if !had(path) {
				return
			}
			for _, layer := range slices.Compact(slices.Sorted(slices.Values(layers))) {
				ignored = append(ignored, Ignored{l.layers[layer], path})
			}
		})
		put(r, pattern)
	}
	if o.ProtectedError && len(ignored) > 0 {
		return nil, &PatchError{
			Layer: ignored[0].Layer, Index: slices.Index(l.ids, l.layerID(ignored[0].Layer)), Path: ignored[0].Path, Err: apiError("Forbidden", "the field is protected"),
		}
	}
	return ignored, nil
}

// match calls do for each field that a pattern names and that patches reached. The layers emptied a field around it. The history of
// an object lacks the fields within an emptied one: then a rest of the pattern is left.
func (l *log) match(at node, t *schema.Type, pattern fieldpath.Path, emptied []int32, do func(at node, rest fieldpath.Path, emptied []int32)) {
	if len(pattern) == 0 {
		do(at, nil, emptied)
		return
	}
	emptied = append(emptied[:len(emptied):len(emptied)], l.emptiers(at)...)
	t = granular(t)
	isThere := false
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		of := t.Elem
		if f := l.nodes[child].field; f != nil {
			of = f.Type
		}
		if rest, ok := l.leads(pattern, t, child); ok {
			isThere = true
			l.match(child, of, rest, emptied, do)
		}
	}
	if !isThere && len(emptied) > 0 {
		do(at, pattern, emptied)
	}
}

// leads reports whether a pattern leads into a child of a field of type t. It also returns the rest of the pattern. The name of a
// field leads into each item of a list.
func (l *log) leads(pattern fieldpath.Path, t *schema.Type, child node) (rest fieldpath.Path, ok bool) {
	if len(pattern) == 0 {
		return nil, true
	}
	if _, isField := pattern[0].Field(); isField && t.Kind == schema.ListMap {
		return pattern, true
	}
	return leadsTo(pattern, l.step(child))
}

// emptiers returns the managers that claim a null on a field.
func (l *log) emptiers(at node) (layers []int32) {
	for _, null := range l.nulls(at) {
		if layer := l.claims[null.claim].layer(); l.isManager(layer) {
			layers = append(layers, layer)
		}
	}
	return layers
}

// setters returns the manager of each claim on a field or within it.
func (l *log) setters(at node, layers []int32) []int32 {
	for i := l.nodes[at].first; i >= 0; i = l.claims[i].next {
		if l.isManager(l.claims[i].layer()) {
			layers = append(layers, l.claims[i].layer())
		}
	}
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		layers = l.setters(child, layers)
	}
	return layers
}

// baseClaim returns the base's claim on a field, -1 for none. A field that is always encoded is not set by an empty value.
func (l *log) baseClaim(at node) int32 {
	first := l.nodes[at].first
	if !l.isOfBase(at) || l.claims[first].kind() != presenceValue && l.isEmpty(at, l.valueOf(first)) {
		return -1
	}
	return first
}

// overrule records that the base's claim on a field is in force, or that the field is removed. Emptied are the layers that emptied a
// field around it.
func (r restoring) overrule(at node, emptied []int32) {
	base := r.baseClaim(at)
	if r.nodes[at].first < 0 || base < 0 && !r.removes {
		return
	}
	losers := slices.Clone(emptied)
	for i := r.nodes[at].first; i >= 0; i = r.claims[i].next {
		if r.isManager(r.claims[i].layer()) && (base < 0 || !r.agree(at, base, i)) {
			losers = append(losers, r.claims[i].layer())
		}
	}
	r.log.overrule(at, base, baseLayer)
	if r.claims[r.nodes[at].first].kind() != presenceValue || base < 0 {
		r.decide(r.policy, r.path(at), baseLayer, losers)
	}
}

// overruleWithin records that the base's claims on a field and within it are in force.
func (r restoring) overruleWithin(at node, emptied []int32) {
	r.overrule(at, emptied)
	emptied = append(emptied[:len(emptied):len(emptied)], r.emptiers(at)...)
	for child := r.nodes[at].child; child != noNode; child = r.nodes[child].next {
		r.overruleWithin(child, emptied)
	}
}

// slot returns the place of a field in the merged value. With make, it makes missing values. Otherwise it returns an invalid value if
// one is missing.
type slot func(make bool) reflect.Value

// inner returns the value within the pointer at the slot.
func (s slot) inner(make bool) reflect.Value {
	switch v := s(make); {
	case v.IsValid() && make:
		return allocated(v)
	case v.IsValid() && v.Kind() == reflect.Pointer:
		return v.Elem()
	default:
		return v
	}
}

// restore gives the field at a node, and the fields within it, the base's values. Within is the part of a pattern that leads on.
func (m *merger) restore(r restoring, at node, t *schema.Type, to slot, within fieldpath.Path) {
	isMatched := len(within) == 0
	children := func(do func(child node, rest fieldpath.Path)) {
		for child := r.nodes[at].child; child != noNode; child = r.nodes[child].next {
			if rest, ok := r.leads(within, t, child); ok {
				do(child, rest)
			}
		}
	}
	switch t.Kind {
	case schema.Struct:
		if isMatched && r.baseClaim(at) >= 0 {
			to.inner(true)
		}
		children(func(child node, rest fieldpath.Path) {
			f := r.nodes[child].field
			m.restore(r, child, f.Type, func(make bool) reflect.Value {
				parent := to.inner(make)
				if !parent.IsValid() {
					return parent
				}
				v, _ := f.Template.In(parent)
				return v
			}, rest)
		})
		if isMatched && r.isForeign(at) {
			r.empty(to)
		}
	case schema.ListMap:
		m.restoreItems(r, t, to, children)
	case schema.Map, schema.Set:
		children(func(child node, rest fieldpath.Path) {
			if len(rest) == 0 {
				m.restoreEntry(r, child, t, to)
			}
		})
	default:
		if base := r.baseClaim(at); base >= 0 {
			setTo(to(true), r.valueOf(base), r.goValue(base))
		} else if r.removes && r.nodes[at].first >= 0 {
			r.empty(to)
		}
	}
	if v := to.inner(false); isMatched && r.removes && v.IsValid() && (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0 {
		r.empty(to) // the base has no empty list that a patch could fill
	}
}

// isForeign reports whether a patch made a field that goes.
func (r restoring) isForeign(at node) bool {
	return r.removes && r.nodes[at].createdBy != baseLayer && !r.hasBase(at)
}

// hasBase reports whether the base claims something on a field or within it.
func (l *log) hasBase(at node) bool {
	if l.baseClaim(at) >= 0 {
		return true
	}
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		if l.hasBase(child) {
			return true
		}
	}
	return false
}

// empty removes a value.
func (r restoring) empty(to slot) {
	if v := to(false); v.IsValid() {
		v.SetZero()
	}
}

// restoreItems restores the items of a list-map.
func (m *merger) restoreItems(r restoring, t *schema.Type, to slot, children func(func(node, fieldpath.Path))) {
	places, gone := map[string]int{}, map[string]bool{}
	if list := to.inner(false); list.IsValid() {
		for i, key := range itemKeys(t, list) {
			if _, isDuplicate := places[key]; !isDuplicate {
				places[key] = i
			}
		}
	}
	children(func(child node, rest fieldpath.Path) {
		key := r.nodes[child].key
		item := func(make bool) reflect.Value {
			i, ok := places[key]
			list := to.inner(make)
			if !ok && (!make || !list.IsValid()) {
				return reflect.Value{}
			}
			if !ok {
				i = list.Len()
				list.Set(reflect.Append(list, reflect.Zero(list.Type().Elem())))
				places[key] = i
				_ = m.setKey(t, list.Index(i), Object{t.Key: jsonOfKey(t, key)}) // a key that was there
			}
			return list.Index(i)
		}
		if len(rest) == 0 && r.baseClaim(child) >= 0 {
			item(true)
		}
		if len(rest) == 0 && r.isForeign(child) {
			gone[key] = true
			return
		}
		m.restore(r, child, t.Elem, item, rest)
	})
	list := to.inner(false)
	if len(gone) == 0 || !list.IsValid() {
		return
	}
	left := reflect.MakeSlice(list.Type(), 0, list.Len())
	for i, key := range itemKeys(t, list) {
		if !gone[key] {
			left = reflect.Append(left, list.Index(i))
		}
	}
	list.Set(left)
}

// restoreEntry restores an entry of a map or an element of a set.
func (m *merger) restoreEntry(r restoring, at node, t *schema.Type, to slot) {
	base, key := r.baseClaim(at), r.nodes[at].key
	of := to.inner(base >= 0)
	if !of.IsValid() || base < 0 && !r.removes {
		return
	}
	if t.Kind == schema.Map {
		name, value := reflect.ValueOf(key).Convert(of.Type().Key()), reflect.Value{}
		if base >= 0 {
			if of.IsNil() {
				of.Set(reflect.MakeMap(of.Type()))
			}
			value = reflect.New(of.Type().Elem()).Elem()
			setTo(value, r.valueOf(base), r.goValue(base))
		}
		if !of.IsNil() {
			of.SetMapIndex(name, value)
		}
		return
	}
	i := slices.Index(elementTexts(of), key)
	switch {
	case base >= 0 && i < 0:
		element := reflect.New(of.Type().Elem()).Elem()
		if m.read(t.Elem, element, jsonOfKey(t, key)) == nil {
			of.Set(reflect.Append(of, element))
		}
	case base < 0 && i >= 0:
		of.Set(reflect.AppendSlice(of.Slice3(0, i, i), of.Slice(i+1, of.Len())))
	}
}

// goValue returns the value of a claim as the base holds it, or nil.
func (l *log) goValue(claim int32) any {
	if l.claims[claim].kind() == otherValue {
		return l.other(claim)
	}
	return nil
}

// setTo sets a place to a value of the base, which may be within a pointer.
func setTo(to reflect.Value, value, goValue any) {
	v := reflect.ValueOf(value)
	if goValue != nil {
		v = reflect.ValueOf(goValue)
	}
	switch {
	case !to.IsValid() || !v.IsValid():
	case v.Type().AssignableTo(to.Type()):
		to.Set(v)
	case to.Kind() == reflect.Pointer && v.Kind() != reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		setTo(to.Elem(), value, goValue)
	case v.CanConvert(to.Type()):
		to.Set(v.Convert(to.Type()))
	}
}

// jsonOfKey returns the JSON of a merge key or an element.
func jsonOfKey(t *schema.Type, key string) any {
	if value, isTyped := typedOf(key); isTyped {
		return value
	}
	if of := keyTypeOf(t); of.Type == nil || of.Kind() == reflect.String || of.Kind() == reflect.Struct {
		return key
	}
	value, err := decoded([]byte(key))
	if err != nil {
		return key
	}
	return value
}

// object returns a part of an object with the base's values where a pattern names it. An empty pattern names the whole part. An
// object that is absent is nil.
func (m *objects) object(r restoring, t *schema.Type, live, base any, within fieldpath.Path) any {
	if len(within) == 0 && r.removes {
		restored, _ := m.copy(t, base) // the base was copied before
		return restored
	}
	if base == nil && (live == nil || !r.removes) {
		return live
	}
	known := base
	if known == nil {
		known = live
	}
	to, err := as(t, known)
	if err != nil {
		return live // the base was checked before
	}
	fields, isObject := live.(map[string]any)
	old, wasObject := base.(map[string]any)
	items, isList := live.([]any)
	before, wasList := base.([]any)
	switch {
	case (to.Kind == schema.Struct || to.Kind == schema.Map) && (isObject || live == nil) && (wasObject || base == nil):
		if fields == nil {
			fields = map[string]any{}
		}
		names := maps.Clone(fields)
		maps.Copy(names, old)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			_, of, err := fieldOf(to, name)
			rest, ok := leadsTo(within, to.Step(name))
			if err != nil || !ok {
				continue
			}
			if value := m.object(r, of, fields[name], old[name], rest); value != nil {
				fields[name] = value
			} else {
				delete(fields, name)
			}
		}
		if live == nil && len(fields) == 0 && !wasObject {
			return nil
		}
		return fields
	case to.Kind == schema.ListMap && (isList || live == nil) && (wasList || base == nil):
		return m.objectItems(r, to, items, before, within)
	case to.Kind == schema.Set && isList && wasList && len(within) == 0:
		for _, element := range before {
			if !slices.ContainsFunc(items, func(is any) bool { return sameObject(is, element) }) {
				items = append(items, element)
			}
		}
		return items
	case len(within) > 0 || base == nil || isComposite(base) && isEmpty(base):
		return live
	}
	restored, _ := m.copy(t, base)
	return restored
}

// objectItems returns a list-map with the base's values in its items.
func (m *objects) objectItems(r restoring, t *schema.Type, items, before []any, within fieldpath.Path) any {
	old, there := map[string]any{}, map[string]bool{}
	for _, item := range before {
		if key, err := itemKeyOf(t, item); err == nil && old[key] == nil {
			old[key] = item
		}
	}
	var out []any
	add := func(live any, key string) {
		rest, ok := leadsTo(within, itemStepOf(t, key))
		if len(within) > 0 {
			if _, isField := within[0].Field(); isField {
				rest, ok = within, true
			}
		}
		if ok {
			live = m.object(r, t.Elem, live, old[key], rest)
		}
		if live != nil {
			out = append(out, live)
		}
	}
	for _, item := range items {
		if key, err := itemKeyOf(t, item); err == nil {
			there[key] = true
			add(item, key)
		}
	}
	for _, item := range before {
		if key, err := itemKeyOf(t, item); err == nil && !there[key] {
			there[key] = true
			add(nil, key)
		}
	}
	if out == nil {
		return nil
	}
	return out
}

// leadsTo reports whether a pattern leads into a step, and returns the rest of the pattern.
func leadsTo(pattern fieldpath.Path, step fieldpath.Step) (rest fieldpath.Path, ok bool) {
	if len(pattern) == 0 {
		return nil, true
	}
	return pattern[1:], fieldpath.Path{step}.Matches(pattern[:1])
}

// partAt returns the part of an object that a pattern names first, or nil.
func partAt(of any, pattern fieldpath.Path) any {
	if len(pattern) == 0 || of == nil {
		return of
	}
	switch of := of.(type) {
	case map[string]any:
		name, _ := pattern[0].Name()
		return partAt(of[name], pattern[1:])
	case []any:
		key, value, isItem := pattern[0].Item()
		for _, item := range of {
			object, _ := item.(map[string]any)
			rest := pattern
			if isItem {
				if rest = pattern[1:]; value != "" && object[key] != value {
					continue
				}
			}
			if part := partAt(item, rest); part != nil {
				return part
			}
		}
	}
	return nil
}
