package merge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges a patch into a tree, as upstream's strategic merge patch does. The source is
// apimachinery v0.36.3 pkg/util/strategicpatch. A tree is decoded JSON that the merger made: it
// shares no object and no list of a struct with the patches, so objects change in place. Values
// that are replaced whole never change, since claims hold them. Each kind has a function and a law:
//
//	struct    object     each field merges by itself; fields that the patch does not name stay
//	map       mapping    each key merges by itself; a null removes its key
//	list-map  listMap    items of one merge key merge, new ones go in front, and the patch orders its own items
//	set       set        the union of both lists, each element once, in the order of a list-map
//	scalar    replace    the patch's value, even if it is equal; null empties the field
//	atomic    replace    like a scalar
//	raw       overlay    objects merge name by name, since upstream has no rules for their contents
//
// What the base lacks is taken from the patch by the same walk. There, upstream strips a value of
// its nulls and of the objects with a directive, and directives remove nothing. It takes a value
// verbatim that replaces the base's, or is in a new item of a list that the base has.
//
// A value is left in the normal form of its Go type: what the type's encoding omits is not there,
// and what it always has is. The walk claims every leaf of the patch, and records the base's
// earlier value. If a step fails, the merger's path leads to it.

// object merges a patch's object into one that the base has.
func (m *merger) object(at *node, old, patch Object) (Object, error) {
	if directive, ok := patch[patchDirective]; ok {
		return m.replaceObject(at, directive, old, patch)
	}
	into := old
	if into == nil {
		into = Object{} // an item may be null
	}
	if !holdsDirectives(patch) {
		if err := m.fields(at, into, patch, false); err != nil {
			return nil, err
		}
		return m.normal(at.typ, into)
	}
	if _, ok := patch[retainDirective]; ok {
		kept, err := m.retained(patch)
		if err != nil {
			return nil, err
		}
		if err := m.retainFields(at, into, kept); err != nil {
			return nil, err
		}
	}
	rest := maps.Clone(patch)
	for name, order := range byName(patch).all {
		if !strings.HasPrefix(name, orderDirective) {
			continue
		}
		list := strings.TrimPrefix(name, orderDirective+"/")
		f := at.typ.Field(list)
		if f == nil {
			return nil, fmt.Errorf("%q names no list", name)
		}
		m.enter(fieldpath.Field(list))
		if err := m.ordered(at, f, into, patch, order); err != nil {
			return nil, err
		}
		m.leave()
		delete(rest, list)
	}
	if err := m.fields(at, into, rest, false); err != nil {
		return nil, err
	}
	for name, value := range byName(patch).all {
		if strings.HasPrefix(name, deleteDirective) {
			if err := m.deleteElements(at, into, name, value); err != nil {
				return nil, err
			}
		}
	}
	return m.normal(at.typ, into)
}

// replaceObject obeys $patch in an object. The directive "replace" puts the rest of the patch,
// verbatim, in the base's place. The directive "delete" leaves an empty object.
func (m *merger) replaceObject(at *node, directive any, old, patch Object) (Object, error) {
	if directive != "replace" && directive != "delete" {
		return nil, fmt.Errorf("%s: unknown directive %q", patchDirective, fmt.Sprint(directive))
	}
	m.claimed++ // upstream creates no object for a directive, so its presence is not claimed
	if isPureDirective(patch) {
		if err := m.retainFields(at, old, nil); err != nil {
			return nil, err
		}
		return m.normal(at.typ, Object{})
	}
	m.recordRemoved(at, old)
	m.claimNull(at)
	return m.newObject(at, patch, true)
}

// newObject returns a patch's object where the base has none, without the merge key of a list item.
func (m *merger) newObject(at *node, patch Object, verbatim bool) (Object, error) {
	into := make(Object, len(patch))
	if err := m.fields(at, into, patch, verbatim); err != nil {
		return nil, err
	}
	return m.normal(at.typ, into)
}

// fields merges the fields of a patch's object into one that the merger may change. It skips
// directives, and the merge key of a list item.
func (m *merger) fields(at *node, into, patch Object, verbatim bool) error {
	key := at.keyField()
	for f, from := range (given{m, at.typ, patch}).all {
		if f == key {
			continue
		}
		m.enter(fieldpath.Field(f.Name))
		if err := m.field(m.log.child(at, f, ""), into, from, verbatim); err != nil {
			return err
		}
		m.leave()
	}
	return nil
}

// field merges one field of a patch's object into an object.
func (m *merger) field(at *node, into Object, from any, verbatim bool) error {
	f := at.field
	old := into[f.Name]
	if m.skips && m.skip(at, old, from) {
		return nil
	}
	if from == nil {
		m.noteZeroNull(f, old)
		m.removed(at, old)
		m.put(f, into, nil)
		return nil
	}
	value, err := m.value(at, old, from, verbatim)
	if err == nil {
		m.put(f, into, value)
	}
	return err
}

// value merges one non-null value of a patch with a field's old value, which is nil for none. It
// returns nil for a value that is dropped.
func (m *merger) value(at *node, old, from any, verbatim bool) (any, error) {
	t := at.typ
	if !verbatim && hasDirective(from) && t.Kind != schema.Struct && t.Kind != schema.Map &&
		!t.Raw && typeInJSON(old) != "object" {
		m.removed(at, old) // upstream drops the value with its directive
		return nil, nil
	}
	switch t.Kind {
	case schema.Struct, schema.Map:
		patch, ok := from.(Object)
		if !ok {
			return nil, wrongType(from, "an object")
		}
		base, _ := old.(Object)
		if t.Kind == schema.Map {
			return m.mapping(at, base, patch, verbatim)
		}
		return m.structure(at, base, patch, verbatim)
	case schema.ListMap, schema.Set:
		items, ok := from.([]any)
		if !ok {
			return nil, wrongType(from, "a list")
		}
		list, _ := old.([]any)
		switch {
		case old == nil && t.Kind == schema.Set:
			return m.newSet(at, items, verbatim)
		case old == nil:
			return m.newList(at, items, verbatim)
		case t.Kind == schema.Set:
			return m.set(at, list, items)
		}
		return m.listMap(at, list, items)
	}
	return m.replace(at, old, from, verbatim)
}

// structure merges a struct's field, or makes the struct. A patch that sets nothing in it claims
// its presence, if that differs from its absence.
func (m *merger) structure(at *node, old, patch Object, verbatim bool) (value any, err error) {
	claimed := m.claimed
	switch {
	case old != nil:
		value, err = m.object(at, old, patch)
	case !verbatim && hasDirective(patch):
		return nil, nil
	default:
		if at.isOptional() {
			at.createdBy = m.layer
		}
		value, err = m.newObject(at, patch, verbatim)
	}
	if err == nil && m.claimed == claimed && !at.typ.Plain && at.isPointer() {
		m.presence(at, old != nil)
	}
	return value, err
}

// listMap merges a list item by item, by merge key. It orders the result as upstream does
// (apimachinery v0.36.3 pkg/util/strategicpatch, mergeSlice and normalizeElementOrder).
func (m *merger) listMap(at *node, old, items []any) ([]any, error) {
	t := at.typ
	items, deleted, replaces, err := m.special(t, items)
	if err != nil {
		return nil, err
	}
	if deleted != nil {
		old = m.deleteItems(at, old, deleted)
	}
	if replaces {
		return m.replaceItems(at, old, items)
	}
	if len(items) == 0 {
		m.empty(at) // deletions alone make an empty list where there is none
	}
	names := keysOfPatch(t, items)
	if err := m.distinct(t, names); err != nil {
		return nil, err
	}
	list, err := m.indexed(t, old, len(items))
	if err != nil {
		return nil, err
	}
	if list.hasDuplicates && len(items) > 0 {
		m.noteDuplicates(t, list.names, at)
	}
	var targets []int32
	if !m.isRaw && secondOf(names) >= 0 {
		targets, err = m.mergeTwice(at, &list, items)
	} else {
		targets, err = m.mergeItems(at, &list, items)
	}
	if err != nil {
		return nil, err
	}
	return list.arranged(targets, len(old), m.follows), nil
}

// mergeTwice merges as mergeItems does, if the patch names an item twice: the first one stays as it
// is for the second.
func (m *merger) mergeTwice(at *node, list *indexedList, items []any) ([]int32, error) {
	m.isRaw = true
	targets, err := m.mergeItems(at, list, items)
	m.isRaw = false
	for _, i := range targets {
		if err == nil {
			list.items[i], err = m.read(at.typ.Elem, list.items[i])
		}
	}
	return targets, err
}

// mergeItems merges the items of a patch into a list, behind which it adds the new ones. It returns
// the place of each item.
func (m *merger) mergeItems(at *node, list *indexedList, items []any) ([]int32, error) {
	t, targets := at.typ, make([]int32, len(items))
	for i, item := range items {
		from := item.(Object)
		name, ok := itemName(t, from)
		if !ok {
			return nil, m.errNoKey(i, t.Key)
		}
		child := m.keyed(at, name)
		m.enter(itemStep(t, name))
		place := list.find(name)
		var err error
		if place < 0 {
			if item, err = m.newItem(child, from, true); err == nil {
				place = list.add(name, item)
			}
		} else {
			m.presence(child, true)
			base, _ := list.items[place].(Object)
			list.items[place], err = m.object(child, base, from)
		}
		if err != nil {
			return nil, err
		}
		m.leave()
		targets[i] = int32(place)
	}
	return targets, nil
}

// replaceItems puts the items of a patch, verbatim, in the place of the base's.
func (m *merger) replaceItems(at *node, old, items []any) ([]any, error) {
	t := at.typ
	for i, item := range items {
		if item.(Object)[t.Key] == nil {
			return nil, m.errNoKey(i, t.Key)
		}
	}
	m.recordRemoved(at, old)
	m.claimNull(at)
	made, err := m.newList(at, items, true)
	if err != nil {
		return nil, err
	}
	keys := keysOf(t, made)
	first := ranks(keys, keys)
	// duplicates go together
	return reordered(made, arrange(len(keys), first, slices.Repeat([]int32{-1}, len(keys)))), nil
}

// newList returns the items of a list-map that the base lacks. Two of them may share a key, and one
// may have none.
func (m *merger) newList(at *node, items []any, verbatim bool) ([]any, error) {
	t := at.typ
	if !verbatim && slices.ContainsFunc(items, hasDirective) {
		items = slices.DeleteFunc(slices.Clone(items), hasDirective)
	}
	if len(items) == 0 {
		m.empty(at)
	}
	names := keysOfPatch(t, items)
	if err := m.distinct(t, names); err != nil {
		return nil, err
	}
	made := make([]any, len(items))
	for i, item := range items {
		name := names[i].text
		if item == nil {
			child := m.keyed(at, name)
			child.createdBy = m.layer
			m.presence(child, false)
			if !m.isRaw {
				made[i] = t.EmptyItem()
			}
			continue
		}
		from, ok := item.(Object)
		if !ok {
			m.enter(fieldpath.Index(i))
			return nil, wrongType(item, "an object")
		}
		m.enter(itemStep(t, name))
		var err error
		if made[i], err = m.newItem(m.keyed(at, name), from, verbatim); err != nil {
			return nil, err
		}
		m.leave()
	}
	return made, nil
}

// newItem returns an item of a list-map that the base lacks.
func (m *merger) newItem(at *node, from Object, verbatim bool) (any, error) {
	at.createdBy = m.layer
	m.presence(at, false)
	item, err := m.newObject(at, from, verbatim)
	f := at.keyField()
	if key := from[f.Name]; err == nil && key != nil {
		m.enter(fieldpath.Field(f.Name))
		if key, err = m.read(f.Type, key); err != nil {
			return nil, err
		}
		m.leave()
		m.put(f, item, key)
	}
	return item, err
}

// deleteElements obeys $deleteFromPrimitiveList: it removes the named elements from a list of
// scalars. In any other field, the directive's value merges like a patch's if the base's is of the
// same kind.
func (m *merger) deleteElements(parent *node, into Object, directive string, value any) error {
	name, ok := strings.CutPrefix(directive, deleteDirective+"/")
	if !ok {
		return fmt.Errorf("%q names no list", directive)
	}
	f := parent.typ.Field(name)
	if f == nil || !f.IsPatchable() {
		return nil
	}
	old := into[name]
	list, inBase := old.([]any)
	deleted, isList := value.([]any)
	m.enter(fieldpath.Field(name))
	isList = isList && !f.Type.Raw && !f.IsPointer()
	switch {
	case value != nil && typeInJSON(old) != typeInJSON(value), inBase && isList && len(list) == 0 &&
		areAlike(deleted) && !holdsObjects(deleted):
	case value == nil || !inBase || f.Type.Key != "" && (len(list) > 0 || holdsObjects(deleted)):
		if err := m.field(m.log.child(parent, f, ""), into, value, false); err != nil {
			return err
		}
	case !isList || !holdsScalars(f.Type, list, deleted):
		return fmt.Errorf("%s is for lists of scalars of one type", deleteDirective)
	case len(deleted) > 0:
		named, err := m.readList(f.Type, deleted)
		if err != nil {
			return err
		}
		child := m.log.child(parent, f, "")
		m.recordBase(child, list)
		texts, gone := keysOf(f.Type, named), map[string]bool{}
		for _, text := range texts {
			gone[text] = true
		}
		left := slices.DeleteFunc(slices.Clone(list), func(element any) bool {
			return gone[keyTypeOf(f.Type).text(element)]
		})
		m.put(f, into, left)
		if f.Type.Kind == schema.Atomic {
			m.claim(child, left)
			break
		}
		for _, element := range texts {
			m.claimNull(m.keyed(child, element))
		}
	}
	m.leave()
	return nil
}

// ordered obeys $setElementOrder. It merges the list of the patch, if present. Then the items that
// the directive names follow its order, and the other items keep theirs.
func (m *merger) ordered(parent *node, f *schema.StructField, into, patch Object,
	order any) error {
	old, inBase := into[f.Name]
	value, inPatch := patch[f.Name]
	list, _ := old.([]any)
	items, _ := value.([]any)
	keys, err := m.orderOf(f, into, patch, order)
	if err != nil || !inBase && !inPatch {
		return err
	}
	before := keysOf(f.Type, list)
	at := m.log.child(parent, f, "")
	if !inBase {
		plain, err := m.plainItems(f.Type, items)
		if err != nil {
			return err
		}
		value, _ = strip(plain, true)
		if len(plain) == 0 {
			items = nil
		}
	}
	if f.Type.Key == "" && !holdsScalars(f.Type, list, items) {
		return fmt.Errorf("%s is for lists with a merge key and for those of scalars of one type",
			orderDirective)
	}
	if inPatch {
		if err := m.field(at, into, value, !inBase); err != nil {
			return err
		}
		if list, _ = into[f.Name].([]any); inBase && f.Type.Kind == schema.Set {
			before, _ = dedupe(before, keysOf(f.Type, items))
		}
	}
	if list == nil {
		return nil
	}
	return m.arrangeItems(at, into, keys, shifted(f.Type, before, items))
}
