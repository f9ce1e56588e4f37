package merge

import (
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file applies the policies that decide to a merged Go value.

// decide applies the policies that need the history of all patches.
func (m *merger) decide(value reflect.Value, o Options) (err error) {
	had := func(fieldpath.Path) bool { return false } // the history has all fields within an emptied one
	m.protected, err = m.log.restore(o, had, func(r restoring, pattern fieldpath.Path) {
		m.restore(r, rootNode, r.root, func(bool) reflect.Value { return value }, pattern)
	})
	if err != nil {
		return err
	}
	if o.precedes() {
		m.log.precedence(o.precedence())
	}
	follows := m.follows && m.log.reordered
	if !follows && o.Unions == AllMembers {
		return nil
	}
	root := visited{at: rootNode, t: m.log.root, value: value}
	for _, patch := range m.log.patches {
		if follows {
			root.patchItems = append(root.patchItems, patch)
		}
	}
	return m.log.visit(root, func(v visited) error {
		if follows {
			m.restoreOrder(v)
		}
		if o.Unions == AllMembers {
			return nil
		}
		return m.unions(v, o.Unions)
	})
}

// unions removes the members of unions that may not stay, or returns an error for several members.
func (m *merger) unions(v visited, policy UnionPolicy) error {
	for _, u := range v.t.Unions {
		if !m.log.reaches(v.at, u) {
			continue
		}
		gone, winner, last := m.log.excludedMembers(v.t, u, v.value, v.at)
		if len(gone) > 0 && policy == OneMember {
			return m.log.severalMembers(u, v, last)
		}
		for _, f := range gone {
			m.remove(f, v.value, v.at, winner)
		}
	}
	return nil
}

// remove removes a member of a union for the layer of another member.
func (m *merger) remove(f *schema.StructField, object reflect.Value, at node, winner int32) {
	child := m.log.child(at, f, "")
	member, _ := f.Template.In(object)
	writer{log: m.log, onlyRemoved: true}.value(f.Type, nil, child, pointee(member), reflect.Value{})
	member.SetZero()
	m.log.decide("unions", m.log.path(child), winner, m.log.removed(child, winner, nil))
}

// restoreOrder puts the new items of a list into the order of the given patches. These have merged in another order.
func (m *merger) restoreOrder(v visited) {
	if v.t.Kind != schema.ListMap && v.t.Kind != schema.Set || v.value.Len() < 2 {
		return
	}
	rank := map[string]int32{}
	for _, part := range v.patchItems {
		items, _ := part.([]any)
		for _, item := range items {
			if key := keyIn(v.t, item); rank[key] == 0 {
				rank[key] = int32(len(rank) + 1)
			}
		}
	}
	keys, order, find := itemKeys(v.t, v.value), make([]int32, v.value.Len()), m.log.finder(v.at)
	for i, key := range keys {
		order[i] = int32(i)
		if child := find(key); child == noNode || m.log.isOfBase(child) {
			rank[key] = 0
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return int(rank[keys[a]] - rank[keys[b]]) })
	reorderList(v.value, order)
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
