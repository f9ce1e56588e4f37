package engine

import (
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges the lists of Go values: list-maps and sets.

// listMap merges a list item by item, by merge key. It orders the result as upstream does (apimachinery v0.36.3
// pkg/util/strategicpatch, mergeSlice and normalizeElementOrder). If the base's encoding lacks the list, listMap takes the
// patch's list verbatim.
func (m *merger) listMap(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	if src.Kind() != reflect.Slice {
		return wrongType(src, "a list")
	}
	if src.Len() == 0 {
		m.empty(at)
	}
	if !present || dst.IsNil() {
		return m.takeList(t, dst, src, at)
	}
	if len(m.raw) > 0 && m.isRaw(dst) {
		return errNoKey(0, t.Key)
	}
	if src.Type().Elem().Kind() == reflect.Interface {
		var err error
		if src, err = m.special(t, dst, src, at); err != nil || !src.IsValid() {
			return err
		}
		if src.Len() == 0 {
			m.empty(at) // deletions alone make an empty list where there is none
		}
	}
	var base, names keys
	base.read(t, dst, false)
	names.read(t, src, true)
	if err := m.distinct(t, &names, src.Len()); err != nil {
		return err
	}
	f, twins, err := m.frontOf(t, dst, &base)
	if err != nil {
		return err
	}
	if twins && m.owners && src.Len() > 0 {
		m.noteDuplicates(t, &base, dst.Len(), at)
	}
	first := len(m.targets)
	added, inOrder, err := m.findTargets(t, f, &base, &names, dst.Len(), src.Len())
	if err != nil {
		return err
	}
	if twins || !inOrder {
		m.reorder(f, t, dst, m.targets[first:], twins)
	} else {
		f.prepend(dst, m.targets[first:], added, m.left)
	}
	for i := range src.Len() {
		target := m.targets[first+i]
		isNew := target < 0
		if isNew {
			target = ^target
		}
		name, _ := names.at(i)
		if err := m.item(t, name, dst.Index(int(target)), at, pointee(src.Index(i)), isNew); err != nil {
			return within(itemStep(t, name), err)
		}
	}
	m.targets = m.targets[:first]
	return nil
}

// item merges one item of a patch into its place in the list at a node.
func (m *merger) item(t *schema.Type, name string, item reflect.Value, list node, from reflect.Value, isNew bool) error {
	if !isNew {
		at := m.keyed(list, name)
		if at != noNode && m.log.nodes[at].whole {
			m.split(t, item, at)
		}
		m.presence(at, true)
		return m.fields(t, item, from, at)
	}
	verbatim, fresh := m.verbatim, m.fresh
	m.verbatim, m.fresh = true, true
	err := m.newItem(t, name, true, item, list, from, !m.unseen) // no patch claimed an item that the list lacks
	m.verbatim, m.fresh = verbatim, fresh
	return err
}

// fields merges the fields of an item except its merge key.
func (m *merger) fields(t *schema.Type, item, from reflect.Value, at node) error {
	if item.Kind() == reflect.Pointer {
		if item.IsNil() {
			item.Set(reflect.New(item.Type().Elem()))
		}
		item = item.Elem()
	}
	return m.structure(t.Elem, t.KeyField(), item, from, at)
}

// newItem merges one item of a patch into an empty item. The flag unknown states that the log has no node for its key. If a
// copy of the item shows all its claims, newItem only marks it as whole. The mark lasts until another layer touches the item.
func (m *merger) newItem(t *schema.Type, name string, ok bool, item reflect.Value, list node, from reflect.Value, unknown bool) error {
	at := noNode
	if unknown && m.owners {
		at = m.log.grow(list, nil, name)
	} else {
		at = m.keyed(list, name)
		m.unseen = m.unseen || m.owners && !m.untouched(at)
	}
	m.make(at)
	m.presence(at, false)
	if err := m.setKey(t, item, from, ok); err != nil {
		return err
	}
	if !m.owners || from.Type() != t.Elem.GoType() {
		return m.fields(t, item, from, at)
	}
	said := m.said
	m.owners = false
	err := m.fields(t, item, from, noNode)
	m.owners = true
	if err != nil {
		return err
	}
	n := &m.log.nodes[at]
	switch {
	case m.said != said:
		n.whole = false
		item.SetZero()
		m.setKey(t, item, from, ok)
		return m.fields(t, item, from, at)
	case n.first == n.last:
		n.whole = true
	default:
		n.whole = false
		m.claimItem(t, item, at, m.layer)
	}
	return nil
}

// takeList sets a list that the base lacks to the patch's items, verbatim. Two of them may share a key, and one may have none.
func (m *merger) takeList(t *schema.Type, dst, src reflect.Value, at node) error {
	fresh := m.fresh
	m.fresh = true
	defer func() { m.fresh = fresh }()
	if src.Type().Elem().Kind() == reflect.Interface && !m.verbatim {
		src = reflect.ValueOf(slices.DeleteFunc(slices.Clone(src.Interface().([]any)), func(item any) bool {
			m.claimSpecial(t, item, at)
			object, _ := item.(Object)
			return object[patchDirective] != nil
		}))
		if src.Len() == 0 {
			m.empty(at)
		}
	}
	makeList(dst, src.Len())
	list, key := dst, t.KeyField()
	var names keys
	names.read(t, src, true)
	if err := m.distinct(t, &names, src.Len()); err != nil {
		return err
	}
	firsts := firstsOf(&names, src.Len())
	for i := range src.Len() {
		from := pointee(src.Index(i))
		if !from.IsValid() {
			m.raw = append(m.raw, list.Pointer())
			child := m.keyed(at, keyText(key, list.Index(i))) // the item is null
			m.make(child)
			m.presence(child, false)
			continue
		}
		if k := from.Kind(); k != reflect.Struct && k != reflect.Map {
			return within(fieldpath.Index(i), wrongType(from, "an object"))
		}
		name, ok := names.at(i)
		twin := firsts.find(i, name)
		if !ok {
			m.raw = append(m.raw, list.Pointer())
			name = keyText(key, list.Index(i)) // that of the Go value
		}
		if m.owners && twin >= 0 {
			m.expand(t.Elem, key, list.Index(twin), m.keyed(at, name))
		}
		if err := m.newItem(t, name, ok, list.Index(i), at, from, false); err != nil {
			return within(itemStep(t, name), err)
		}
	}
	return nil
}

// claimSpecial claims what the $patch of an item would remove from a list that the base lacks: another patch may fill the list.
func (m *merger) claimSpecial(t *schema.Type, item any, at node) {
	object, _ := item.(Object)
	switch key, hasKey := object[t.Key]; {
	case object[patchDirective] == "replace":
		m.claimNull(at)
	case object[patchDirective] == "delete" && hasKey:
		m.claimNull(m.keyed(at, keyTypeOf(t).text(key)))
	}
}

// A setPatch is a set without an element, or one that repeats an element where there are none.
type setPatch struct {
	layer int32
	value []string
}

// noteRepeats records a patch's set if its order with others may decide: upstream takes a set verbatim where the base lacks it, and the
// next patch removes the duplicates, even an empty one.
func (m *merger) noteRepeats(at node, inBase bool, named []string) {
	if !m.owners || len(named) > 0 && (inBase || len(named) == len(slices.Compact(slices.Sorted(slices.Values(named))))) {
		return
	}
	if m.log.sets == nil {
		m.log.sets = map[node][]setPatch{}
	}
	m.log.sets[at] = append(m.log.sets[at], setPatch{m.layer, append([]string{}, named...)})
}

// contestRepeats claims the sets in which only one layer sets elements, with duplicates, and an empty set of another layer removes them.
func (l *log) contestRepeats() {
	for _, at := range slices.Sorted(maps.Keys(l.sets)) {
		patches := l.sets[at]
		i := slices.IndexFunc(patches, func(p setPatch) bool { return len(p.value) > 0 })
		if i < 0 || !slices.ContainsFunc(patches, func(p setPatch) bool { return p.layer != patches[i].layer }) || l.hasOthers(at, patches[i].layer) {
			continue
		}
		for _, p := range patches {
			l.addValue(at, p.layer, reflect.ValueOf(p.value))
		}
	}
}

// hasOthers reports whether a layer other than the given one claims a field directly within a node.
func (l *log) hasOthers(at node, layer int32) bool {
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		for i := l.nodes[child].first; i >= 0; i = l.claims[i].next {
			if l.claims[i].layer() != layer {
				return true
			}
		}
	}
	return false
}

// set merges two lists of scalars by union, in the order of a list-map.
func (m *merger) set(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	if src.Kind() != reflect.Slice {
		return wrongType(src, "a list")
	}
	inBase := present && !dst.IsNil()
	if items, ok := src.Interface().([]any); ok {
		switch {
		case inBase && !areAlike(items):
			return errors.New("must have elements of one type, none of them null")
		case !inBase && !m.verbatim:
			kept, _ := withoutDirectives(items)
			src = reflect.ValueOf(kept)
		}
	}
	m.reading = at
	patch := reflect.New(dst.Type()).Elem()
	if src.Type() == dst.Type() {
		m.plan.clone(patch, src)
		if !inBase && !m.verbatim {
			m.plan.stripDirectives(patch)
		}
	} else if err := m.read(t, patch, src.Interface()); err != nil {
		return err
	}
	if t.Elem.Kind != schema.Scalar && inBase && dst.Len()+patch.Len() > 0 {
		return errNoMergeKey
	}
	old, named := texts(dst), texts(patch)
	if len(named) == 0 {
		m.empty(at)
	}
	m.noteRepeats(at, inBase, named)
	has := make(map[string]bool, len(old))
	for _, element := range old {
		has[element] = true
	}
	for _, element := range named {
		m.presence(m.keyed(at, element), has[element])
	}
	if !inBase {
		dst.Set(patch)
		return nil
	}
	server, union := dedupe(old, named) // even an empty patch removes duplicates
	values := make(map[string]reflect.Value, len(union))
	for i, element := range named {
		values[element] = patch.Index(i)
	}
	for i, element := range old {
		values[element] = dst.Index(i)
	}
	merged := reflect.MakeSlice(dst.Type(), len(union), len(union))
	for place, i := range arrange(len(union), ranks(union, server), ranks(union, named)) {
		merged.Index(place).Set(values[union[i]])
	}
	dst.Set(merged)
	return nil
}
