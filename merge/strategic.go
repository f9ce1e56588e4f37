package merge

import (
	"fmt"
	"maps"
	"reflect"
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
// What the base lacks, fresh takes from the patch. Both leave a value in the normal form of its Go
// type: what the type's encoding omits is not there, and what it always has is. Each claims every
// leaf of the patch and records the base's earlier value. If a step fails, the merger's path leads
// to it.

// object merges a patch's object into one that the base has. It skips the merge key of a list item.
func (m *merger) object(t *schema.Type, key *schema.StructField, old, patch Object,
	at *node) (Object, error) {
	if directive, ok := patch[patchDirective]; ok {
		return m.replaceObject(t, directive, old, patch, at)
	}
	into := old
	if into == nil {
		into = Object{} // an item may be null
	}
	if !holdsDirectives(patch) {
		if err := m.fields(t, key, into, patch, at); err != nil {
			return nil, err
		}
		return m.normal(t, into)
	}
	if _, ok := patch[retainDirective]; ok {
		kept, err := m.retained(patch)
		if err != nil {
			return nil, err
		}
		if err := m.retainFields(t, key, into, kept, at); err != nil {
			return nil, err
		}
	}
	rest := maps.Clone(patch)
	for name, order := range sorted(patch) {
		if !strings.HasPrefix(name, orderDirective) {
			continue
		}
		list := strings.TrimPrefix(name, orderDirective+"/")
		f := t.Field(list)
		if f == nil {
			return nil, fmt.Errorf("%q names no list", name)
		}
		m.enter(fieldpath.Field(list))
		if err := m.ordered(f, into, patch, order, at); err != nil {
			return nil, err
		}
		m.leave()
		delete(rest, list)
	}
	if err := m.fields(t, key, into, rest, at); err != nil {
		return nil, err
	}
	for name, value := range sorted(patch) {
		if strings.HasPrefix(name, deleteDirective) {
			if err := m.deleteElements(t, into, name, value, at); err != nil {
				return nil, err
			}
		}
	}
	return m.normal(t, into)
}

// fields merges the fields of a patch's object into a new object. It skips directives.
func (m *merger) fields(t *schema.Type, key *schema.StructField, into, patch Object,
	at *node) error {
	first := len(m.names)
	m.names = m.appendNames(t, patch)
	for i := first; i < len(m.names); i++ {
		f := m.fieldNamed(t, m.names[i])
		if f == nil || f == key {
			continue
		}
		m.enter(fieldpath.Field(f.Name))
		if err := m.field(f, into, patch[f.Name], at); err != nil {
			return err
		}
		m.leave()
	}
	m.names = m.names[:first]
	return nil
}

// field merges one field of a patch's object into a new object.
func (m *merger) field(f *schema.StructField, into Object, from any, parent *node) error {
	old, at := into[f.Name], m.child(parent, f)
	if m.skips && m.skip(f, old, from, at) {
		return nil
	}
	if from == nil {
		m.noteZeroNull(f, old)
		m.removed(f.Type, old, at)
		m.put(f, into, nil)
		return nil
	}
	value, err := m.value(f, old, from, at)
	if err != nil {
		return err
	}
	m.put(f, into, value)
	return nil
}

// value merges one non-null value of a patch with a field's old value, which is nil for none.
func (m *merger) value(f *schema.StructField, old, from any, at *node) (any, error) {
	t := f.Type
	if hasDirective(from) && t.Kind != schema.Struct && t.Kind != schema.Map && !t.Raw &&
		typeInJSON(old) != "object" {
		m.removed(t, old, at) // upstream drops the value with its directive
		return nil, nil
	}
	if old == nil {
		return m.fresh(t, from, at, true)
	}
	switch old := old.(type) {
	case Object:
		patch, ok := from.(Object)
		switch {
		case t.Kind == schema.Struct && ok:
			claimed := m.claimed
			value, err := m.object(t, nil, old, patch, at)
			// a struct by value is encoded in any case
			if m.claimed == claimed && !t.Plain && f.Template.IsPointer() {
				m.presence(at, true)
			}
			return value, err
		case t.Kind == schema.Map && ok:
			claimed := m.claimed
			value, err := m.mapping(t, old, patch, at)
			if m.claimed == claimed {
				m.empty(at)
			}
			return value, err
		case t.Kind == schema.Struct || t.Kind == schema.Map:
			return nil, wrongType(from, "an object")
		}
	case []any:
		patch, ok := from.([]any)
		switch {
		case t.HasItems() && !ok:
			return nil, wrongType(from, "a list")
		case t.Kind == schema.ListMap:
			return m.listMap(t, old, patch, at)
		case t.Kind == schema.Set:
			return m.set(t, old, patch, at)
		}
	}
	return m.replace(f, old, from, at)
}

// replaceObject obeys $patch in an object. The directive "replace" puts the rest of the patch,
// verbatim, in the base's place. The directive "delete" leaves an empty object.
func (m *merger) replaceObject(t *schema.Type, directive any, old, patch Object,
	at *node) (Object, error) {
	if directive != "replace" && directive != "delete" {
		return nil, fmt.Errorf("%s: unknown directive %q", patchDirective, fmt.Sprint(directive))
	}
	m.claimed++ // upstream creates no object for a directive, so its presence is not claimed
	if isPureDirective(patch) {
		if err := m.retainFields(t, nil, old, nil, at); err != nil {
			return nil, err
		}
		return m.normal(t, Object{})
	}
	m.recordRemoved(t, nil, at, old)
	m.claimNull(at)
	return m.freshObject(t, nil, patch, at, false)
}

// listMap merges a list item by item, by merge key. It orders the result as upstream does
// (apimachinery v0.36.3 pkg/util/strategicpatch, mergeSlice and normalizeElementOrder).
func (m *merger) listMap(t *schema.Type, old, items []any, at *node) ([]any, error) {
	old, plain, err := m.special(t, old, items, at)
	if err != nil || plain == nil {
		return old, err
	}
	items = plain
	if len(items) == 0 {
		m.empty(at) // deletions alone make an empty list where there is none
	}
	names := keysOfPatch(t, items)
	if err := m.distinct(t, names); err != nil {
		return nil, err
	}
	first := len(m.names)
	list, err := m.indexed(t, old, len(items))
	if err != nil {
		return nil, err
	}
	if list.hasDuplicates && len(items) > 0 {
		m.noteDuplicates(t, list.names, at)
	}
	var targets []int32
	if !m.isRaw && secondOf(names) >= 0 {
		targets, err = m.mergeTwice(t, &list, items, at)
	} else {
		targets, err = m.mergeItems(t, &list, items, at)
	}
	if err != nil {
		return nil, err
	}
	made := list.arranged(targets, len(old), m.follows)
	if m.names = m.names[:first]; list.index != nil {
		clear(list.index)
		m.index = list.index
	}
	return made, nil
}

// mergeTwice merges as mergeItems does, if the patch names an item twice: the first one stays as it
// is for the second.
func (m *merger) mergeTwice(t *schema.Type, list *indexedList, items []any,
	at *node) ([]int32, error) {
	m.isRaw = true
	targets, err := m.mergeItems(t, list, items, at)
	m.isRaw = false
	for _, i := range targets {
		if err == nil {
			list.items[i], err = m.read(t.Elem, list.items[i])
		}
	}
	return targets, err
}

// mergeItems merges the items of a patch into a list, behind which it adds the new ones. It returns
// the place of each item.
func (m *merger) mergeItems(t *schema.Type, list *indexedList, items []any,
	at *node) ([]int32, error) {
	targets := make([]int32, len(items))
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
			if item, err = m.newItem(t, child, from, false); err == nil {
				place = list.add(name, item)
			}
		} else {
			m.presence(child, true)
			base, _ := list.items[place].(Object)
			list.items[place], err = m.object(t.Elem, t.KeyField(), base, from, child)
		}
		if err != nil {
			return nil, err
		}
		m.leave()
		targets[i] = int32(place)
	}
	return targets, nil
}

// deleteElements obeys $deleteFromPrimitiveList: it removes the named elements from a list of
// scalars. In any other field, the directive's value merges like a patch's if the base's is of the
// same kind.
func (m *merger) deleteElements(t *schema.Type, into Object, directive string, value any,
	parent *node) error {
	name, ok := strings.CutPrefix(directive, deleteDirective+"/")
	if !ok {
		return fmt.Errorf("%q names no list", directive)
	}
	f := t.Field(name)
	if f == nil || f.Patch == nil {
		return nil
	}
	old := into[name]
	list, inBase := old.([]any)
	deleted, isList := value.([]any)
	m.enter(fieldpath.Field(name))
	isList = isList && !f.Type.Raw && !f.Template.IsPointer()
	switch {
	case value != nil && typeInJSON(old) != typeInJSON(value), inBase && isList && len(list) == 0 &&
		areAlike(deleted) && !holdsObjects(deleted):
	case value == nil || !inBase || f.Type.Key != "" && (len(list) > 0 || holdsObjects(deleted)):
		if err := m.field(f, into, value, parent); err != nil {
			return err
		}
	case !isList || !holdsScalars(f.Type, list, deleted):
		return fmt.Errorf("%s is for lists of scalars of one type", deleteDirective)
	case len(deleted) > 0:
		named, err := m.readList(f.Type, deleted)
		if err != nil {
			return err
		}
		child := m.child(parent, f)
		m.recordBase(child, f.Type, list)
		texts := elementTexts(f.Type, named)
		left := slices.DeleteFunc(slices.Clone(list), func(element any) bool {
			return slices.Contains(texts, keyTypeOf(f.Type).text(element))
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
func (m *merger) ordered(f *schema.StructField, into, patch Object, order any, parent *node) error {
	wanted, ok := order.([]any)
	if !ok {
		return fmt.Errorf("%s must be a list", orderDirective)
	}
	old, inBase := into[f.Name]
	list, isList := old.([]any)
	if k := f.Template.Kind(); k != reflect.Slice && k != reflect.Pointer || inBase && !isList {
		return fmt.Errorf("%s must name a list", orderDirective)
	}
	value, inPatch := patch[f.Name]
	items, ok := value.([]any)
	if inPatch && !ok {
		return fmt.Errorf("must be a list beside %s", orderDirective)
	}
	if !inBase && !inPatch {
		return nil
	}
	if f.Type.Raw {
		return fmt.Errorf("%s must name a list: the type has no rules for one", orderDirective)
	}
	keys, err := m.orderedKeys(f.Type, wanted)
	if err != nil {
		return err
	}
	if err := m.followsOrder(f.Type, items, keys); err != nil {
		return err
	}
	before := itemKeys(f.Type, list)
	if len(before)+len(items) == 0 {
		return fmt.Errorf("%s orders a list without items", orderDirective)
	}
	at := m.child(parent, f)
	if !inBase {
		plain, err := m.plainItems(f.Type, items)
		if err != nil {
			return err
		}
		value = plain
		if len(plain) == 0 {
			items = nil
		}
	}
	if f.Type.Key == "" && !holdsScalars(f.Type, list, items) {
		return fmt.Errorf("%s is for lists with a merge key and for those of scalars of one type",
			orderDirective)
	}
	if inPatch {
		if err := m.field(f, into, value, parent); err != nil {
			return err
		}
		list, _ = into[f.Name].([]any)
	}
	if list == nil {
		return nil
	}
	if f.Type.Kind == schema.Set && inBase && inPatch {
		before, _ = dedupe(before, elementTexts(f.Type, items))
	}
	if f.Type.Key != "" {
		for i, item := range list {
			if _, ok := itemName(f.Type, item); !ok {
				return m.errNoKey(i, f.Type.Key)
			}
		}
	}
	if m.follows && f.Type.Kind != schema.Atomic {
		return nil
	}
	have := itemKeys(f.Type, list)
	places := arrange(len(have), ranks(have, shifted(f.Type, before, items)), ranks(have, keys))
	if slices.IsSorted(places) {
		return nil
	}
	made := reordered(list, places)
	m.put(f, into, made)
	if f.Type.Kind == schema.Atomic {
		m.recordBase(at, f.Type, list)
		m.claim(at, made)
	}
	return nil
}
