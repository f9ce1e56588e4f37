package merge

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file obeys the directives that order a list or keep fields.

// plainItems returns the items without a $patch, even a null one. An item of a list-map needs a
// merge key.
func (m *merger) plainItems(t *schema.Type, items []any) ([]any, error) {
	plain := make([]any, 0, len(items))
	for i, item := range items {
		object, _ := item.(Object)
		if _, isDirective := object[patchDirective]; isDirective {
			continue
		}
		if t.Key != "" {
			if _, err := m.orderedItem(t, i, item); err != nil {
				return nil, err
			}
		}
		plain = append(plain, item)
	}
	return plain, nil
}

// orderedItem returns the merge key of a patch's item.
func (m *merger) orderedItem(t *schema.Type, i int, item any) (any, error) {
	object, ok := item.(Object)
	if !ok {
		m.enter(fieldpath.Index(i))
		return nil, wrongType(item, "an object")
	}
	name, ok := object[t.Key]
	if !ok {
		return nil, m.errNoKey(i, t.Key)
	}
	return name, nil
}

// shifted returns the keys of the base's list as upstream sees them after the patch has deleted
// items. The remaining keys move up, and the patch's new items fill the free places.
func shifted(t *schema.Type, before []string, items []any) []string {
	deleted := map[string]bool{}
	var named []string
	for _, item := range items {
		item, _ := item.(Object)
		if key := keyTypeOf(t).text(item[t.Key]); item[patchDirective] == "delete" {
			deleted[key] = true
		} else if item[patchDirective] == nil {
			named = append(named, key)
		}
	}
	if len(deleted) == 0 {
		return before
	}
	left := make([]string, 0, len(before))
	there := map[string]bool{}
	for _, key := range before {
		if !deleted[key] {
			left, there[key] = append(left, key), true
		}
	}
	for _, key := range named {
		if !there[key] && len(left) < len(before) {
			left, there[key] = append(left, key), true
		}
	}
	return left
}

// holdsScalars reports whether the elements of the base's list and of the patch's are scalars of
// one type.
func holdsScalars(t *schema.Type, list, items []any) bool {
	if t.Elem == nil || t.Elem.Kind != schema.Scalar {
		return len(items) == 0 && len(list) == 0
	}
	if t.Elem.Raw {
		items = slices.Concat(list, items)
	}
	return areAlike(items) && !holdsObjects(items)
}

// orderedKeys returns the keys or elements that a $setElementOrder directive names.
func (m *merger) orderedKeys(t *schema.Type, order []any) ([]string, error) {
	keys, of := make([]string, len(order)), keyTypeOf(t)
	for i, item := range order {
		if t.Key != "" {
			object, _ := item.(Object)
			var ok bool
			if item, ok = object[t.Key]; !ok {
				m.enter(fieldpath.Index(i))
				return nil, fmt.Errorf("an item of %s has no %q", orderDirective, t.Key)
			}
		}
		if isComposite(item) {
			m.enter(fieldpath.Index(i))
			return nil, fmt.Errorf("an item of %s must be a scalar", orderDirective)
		}
		keys[i] = of.text(item)
	}
	return keys, nil
}

// followsOrder returns an error for a patch item that the patch's own $setElementOrder omits or
// orders differently.
func (m *merger) followsOrder(t *schema.Type, items []any, order []string) error {
	if len(order) == 0 {
		return nil
	}
	next := 0
	for i, item := range items {
		if t.Key != "" {
			object, _ := item.(Object)
			if directive, ok := object[patchDirective]; ok &&
				(directive == "delete" || next < len(order)) {
				continue
			}
			var err error
			if item, err = m.orderedItem(t, i, item); err != nil {
				return err
			}
		}
		key := keyTypeOf(t).text(item)
		at := slices.Index(order[next:], key)
		if at < 0 {
			shown, _ := json.Marshal(item) // of JSON
			m.enter(fieldpath.Index(i))
			return fmt.Errorf("%s does not name %s at its place", orderDirective, shown)
		}
		next += at + 1
	}
	return nil
}

// given are the fields that a patch's object sets. An object has no order, so they come by their
// names. Of a Go value, they are those that a patch may set, in the order of the type.
type given struct {
	*merger
	t     *schema.Type
	patch Object
}

func (g given) all(yield func(*schema.StructField, any) bool) {
	if !g.ofValue {
		for name, value := range byName(g.patch).all {
			if f := g.fieldNamed(g.t, name); f != nil && !yield(f, value) {
				return
			}
		}
		return
	}
	left := len(g.patch)
	for _, f := range g.t.Patchable() {
		value, has := g.patch[f.Name]
		if !has {
			continue
		}
		isZero := g.skipsZero && f.IsAlways() && (value == nil || value == "")
		if !isZero && !yield(f, value) {
			return
		}
		if left--; left == 0 {
			return
		}
	}
}

// holdsDirectives reports whether a patch's object may hold a directive.
func holdsDirectives(patch Object) bool {
	for name := range patch {
		if strings.HasPrefix(name, "$") {
			return true
		}
	}
	return false
}

// isPureDirective reports whether a patch object empties another object and sets nothing.
func isPureDirective(patch Object) bool {
	return len(patch) == 1 || patch[patchDirective] == "delete"
}

// retainFields obeys $retainKeys: it removes every field that the directive does not name from an
// object.
func (m *merger) retainFields(at *node, into Object, kept map[string]bool) error {
	for _, f := range at.typ.Fields {
		old, has := into[f.Name]
		if !has || kept[f.Name] {
			continue
		}
		if f == at.keyField() {
			return fmt.Errorf("%s has no %q, by which the item merges", retainDirective, f.Name)
		}
		delete(into, f.Name)
		if old != nil && !f.IsEmpty(old) {
			m.removed(m.log.child(at, f, ""), old)
		}
	}
	return nil
}

// retained returns the keys of a $retainKeys directive. The directive must name every key that the
// patch sets.
func (m *merger) retained(patch Object) (map[string]bool, error) {
	kept := map[string]bool{}
	list, ok := patch[retainDirective].([]any)
	if !ok {
		return kept, fmt.Errorf("%s must be a list", retainDirective)
	}
	for i, name := range list {
		if isComposite(name) {
			m.enter(fieldpath.Index(i))
			return kept, fmt.Errorf("an item of %s must be a string", retainDirective)
		}
		if name, ok := name.(string); ok {
			kept[name] = true
		}
	}
	for name, value := range byName(patch).all {
		isOther := name == retainDirective || strings.HasPrefix(name, deleteDirective) ||
			strings.HasPrefix(name, orderDirective)
		if !isOther && value != nil && !kept[name] {
			return kept, fmt.Errorf("%s does not name %q, which the patch sets", retainDirective,
				name)
		}
	}
	return kept, nil
}

// fieldNamed returns a field that a patch may set. Any other one is ignored, except a directive.
func (m *merger) fieldNamed(t *schema.Type, name string) *schema.StructField {
	f := t.Field(name)
	if f != nil && f.IsPatchable() {
		return f
	}
	if !strings.HasPrefix(name, "$") {
		m.notes = append(
			m.notes, Note{Kind: Ignored, Owner: m.of, Path: m.path.Append(fieldpath.Field(name))})
	}
	return nil
}

// orderOf returns the keys or elements that a $setElementOrder directive names for a list of the
// base or the patch.
func (m *merger) orderOf(f *schema.StructField, into, patch Object, order any) ([]string, error) {
	wanted, ok := order.([]any)
	if !ok {
		return nil, fmt.Errorf("%s must be a list", orderDirective)
	}
	old, inBase := into[f.Name]
	list, isList := old.([]any)
	mayBeList := f.IsPointer() || f.Type.GoType().Kind() == reflect.Slice
	if !mayBeList || inBase && !isList {
		return nil, fmt.Errorf("%s must name a list", orderDirective)
	}
	value, inPatch := patch[f.Name]
	items, ok := value.([]any)
	switch {
	case inPatch && !ok:
		return nil, fmt.Errorf("must be a list beside %s", orderDirective)
	case !inBase && !inPatch:
		return nil, nil
	case f.Type.Raw:
		return nil, fmt.Errorf("%s must name a list: the type has no rules for one",
			orderDirective)
	}
	keys, err := m.orderedKeys(f.Type, wanted)
	if err != nil {
		return nil, err
	}
	if err := m.followsOrder(f.Type, items, keys); err != nil {
		return nil, err
	}
	if len(list)+len(items) == 0 {
		return nil, fmt.Errorf("%s orders a list without items", orderDirective)
	}
	return keys, nil
}

// arrangeItems puts the items of a merged list into the order of keys. The others keep theirs,
// which is that of before.
func (m *merger) arrangeItems(at *node, into Object, keys, before []string) error {
	t := at.typ
	list, _ := into[at.field.Name].([]any)
	if t.Key != "" {
		for i, item := range list {
			if _, ok := itemName(t, item); !ok {
				return m.errNoKey(i, t.Key)
			}
		}
	}
	if m.follows && t.Kind != schema.Atomic {
		return nil
	}
	have := keysOf(t, list)
	places := arrange(len(have), ranks(have, before), ranks(have, keys))
	if slices.IsSorted(places) {
		return nil
	}
	made := reordered(list, places)
	m.put(at.field, into, made)
	if t.Kind == schema.Atomic {
		m.recordBase(at, list)
		m.claim(at, made)
	}
	return nil
}
