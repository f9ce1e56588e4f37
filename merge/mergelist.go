package merge

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
func (m *merger) listMap(t *schema.Type, dst reflect.Value, present bool, from any, at node) error {
	items, ok := from.([]any)
	if !ok {
		return wrongType(from, "a list")
	}
	if !present || dst.IsNil() {
		if len(items) == 0 && m.ignoresDirectives {
			m.empty(at) // takeList claims it otherwise
		}
		return m.takeList(t, dst, items, at)
	}
	if len(m.jsonOnly) > 0 && m.isJSONOnly(dst) {
		return errNoKey(0, t.Key)
	}
	items, err := m.special(t, dst, items, at)
	if err != nil || items == nil {
		return err
	}
	if len(items) == 0 {
		m.empty(at) // deletions alone make an empty list where there is none
	}
	base, names := keysIn(t, dst), m.keysOfPatch(t, items)
	if err := m.distinct(t, names); err != nil {
		return err
	}
	f, hasDuplicates, err := m.prependedOf(t, dst, &base)
	if err != nil {
		return err
	}
	if hasDuplicates && m.owners && len(items) > 0 {
		m.noteDuplicates(t, &base, dst.Len(), at)
	}
	first := len(m.targets)
	added, inOrder, err := m.findTargets(t, f, &base, names, dst.Len())
	if err != nil {
		return err
	}
	switch {
	case m.follows:
		f.extend(dst, added)
	case hasDuplicates || !inOrder:
		m.reorder(f, t, dst, m.targets[first:], hasDuplicates)
	default:
		f.prepend(dst, m.targets[first:], added, m.remaining)
	}
	for i, item := range items {
		target := m.targets[first+i]
		isNew := target < 0
		if isNew {
			target = ^target
		}
		if err := m.item(t, names[i].text, dst.Index(int(target)), at, item.(Object), isNew); err != nil {
			return within(itemStep(t, names[i].text), err)
		}
	}
	m.targets, m.keys = m.targets[:first], m.keys[:len(m.keys)-len(items)]
	return nil
}

// item merges one item of a patch into its place in the list at a node.
func (m *merger) item(t *schema.Type, name string, item reflect.Value, list node, from Object, isNew bool) error {
	if !isNew {
		at := m.keyed(list, name)
		m.presence(at, true)
		return m.fields(t, item, from, at)
	}
	ignoresDirectives, inNew := m.ignoresDirectives, m.inNew
	m.ignoresDirectives, m.inNew = true, true
	err := m.newItem(t, name, item, list, from)
	m.ignoresDirectives, m.inNew = ignoresDirectives, inNew
	return err
}

// newItem merges one item of a patch into an empty item.
func (m *merger) newItem(t *schema.Type, name string, item reflect.Value, list node, from Object) error {
	at := m.keyed(list, name)
	m.markCreated(at)
	m.presence(at, false)
	if err := m.setKey(t, item, from); err != nil {
		return err
	}
	return m.fields(t, item, from, at)
}

// fields merges the fields of an item except its merge key.
func (m *merger) fields(t *schema.Type, item reflect.Value, from Object, at node) error {
	return m.structure(t.Elem, t.KeyField(), allocated(item), from, at)
}

// takeList sets a list that the base lacks to the patch's items, verbatim. Two of them may share a key, and one may have none.
func (m *merger) takeList(t *schema.Type, dst reflect.Value, items []any, at node) error {
	inNew := m.inNew
	m.inNew = true
	defer func() { m.inNew = inNew }()
	if !m.ignoresDirectives {
		if slices.ContainsFunc(items, hasDirective) {
			items = slices.DeleteFunc(slices.Clone(items), func(item any) bool {
				m.claimSpecial(t, item, at)
				return hasDirective(item)
			})
		}
		if len(items) == 0 {
			m.empty(at)
		}
	}
	makeList(dst, len(items))
	list, key := dst, t.KeyField()
	names := m.keysOfPatch(t, items)
	if err := m.distinct(t, names); err != nil {
		return err
	}
	for i, item := range items {
		if item == nil {
			m.jsonOnly = append(m.jsonOnly, list.Pointer())
			child := m.keyed(at, keyText(key, list.Index(i)))
			m.markCreated(child)
			m.presence(child, false)
			continue
		}
		from, ok := item.(Object)
		if !ok {
			return within(fieldpath.Index(i), wrongType(item, "an object"))
		}
		name := names[i].text
		if !names[i].ok {
			m.jsonOnly = append(m.jsonOnly, list.Pointer())
			name = keyText(key, list.Index(i)) // that of the Go value
		}
		if err := m.newItem(t, name, list.Index(i), at, from); err != nil {
			return within(itemStep(t, name), err)
		}
	}
	m.keys = m.keys[:len(m.keys)-len(items)]
	return nil
}

// claimSpecial claims the values that an item's $patch would remove from a list that the base lacks. Another patch may fill the list.
func (m *merger) claimSpecial(t *schema.Type, item any, at node) {
	object, _ := item.(Object)
	switch key, hasKey := object[t.Key]; {
	case object[patchDirective] == "replace":
		m.claimNull(at)
	case object[patchDirective] == "delete" && hasKey:
		m.claimNull(m.keyed(at, keyTypeOf(t).text(key)))
	}
}

// A setPatch is an empty set that its type omits, or a set with duplicates that the base lacks.
type setPatch struct {
	layer int32
	value []string
}

// noteSet records a patch's set if the order of the sets may matter. Upstream takes a set verbatim where the base lacks it. The set of
// the next patch removes the duplicates, even if it is empty.
func (m *merger) noteSet(at node, named []string) {
	if !m.owners {
		return
	}
	if m.log.sets == nil {
		m.log.sets = map[node][]setPatch{}
	}
	m.log.sets[at] = append(m.log.sets[at], setPatch{m.layer, append([]string{}, named...)})
}

// contestRepeats claims each set with duplicates that one layer alone fills, if another layer's empty set removes the duplicates.
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
func (m *merger) set(t *schema.Type, dst reflect.Value, present bool, from any, at node) error {
	items, ok := from.([]any)
	if !ok {
		return wrongType(from, "a list")
	}
	inBase := present && !dst.IsNil()
	switch {
	case inBase && !areAlike(items):
		return errors.New("must have elements of one type, none of them null")
	case !inBase && !m.ignoresDirectives:
		kept, _ := withoutDirectives(items)
		items = kept.([]any)
	}
	m.reading = at
	patch := reflect.New(dst.Type()).Elem()
	if err := m.read(t, patch, items); err != nil {
		return err
	}
	if t.Elem.Kind != schema.Scalar && inBase && dst.Len()+patch.Len() > 0 {
		return errNoMergeKey
	}
	old, named := elementTexts(dst), elementTexts(patch)
	if len(named) == 0 {
		m.empty(at)
	}
	if !inBase && len(named) > len(slices.Compact(slices.Sorted(slices.Values(named)))) {
		m.noteSet(at, named)
	}
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
	order := arrange(len(union), ranks(union, server), ranks(union, named))
	if m.follows {
		union, order = distinctOf(old, named)
	}
	merged := reflect.MakeSlice(dst.Type(), len(union), len(union))
	for place, i := range order {
		merged.Index(place).Set(values[union[i]])
	}
	dst.Set(merged)
	return nil
}
