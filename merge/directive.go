package merge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file reads the directives that order a list or keep fields, and removes directives from
// values that the base lacks.

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

// appendNames appends the names of the fields of a patch's object to m.names. An object has no
// order, so they are sorted. For a Go value, it appends only the fields that a patch may set, in
// the order of the type.
func (m *merger) appendNames(t *schema.Type, patch Object) []string {
	if m.ofValue {
		left := len(patch)
		for _, f := range t.Patchable() {
			value, has := patch[f.Name]
			if !has {
				continue
			}
			if !m.skipsZero || !f.Patch.IsAlways() || value != nil && value != "" {
				m.names = append(m.names, f.Name)
			}
			if left--; left == 0 {
				break
			}
		}
		return m.names
	}
	return appendSorted(m.names, patch)
}

// appendSorted appends the names of an object's entries, sorted.
func appendSorted(names []string, object Object) []string {
	first := len(names)
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names[first:])
	return names
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

// retainFields obeys $retainKeys: it removes every field that the directive does not name from a
// new object.
func (m *merger) retainFields(t *schema.Type, key *schema.StructField, into Object,
	kept map[string]bool, at *node) error {
	for _, f := range t.Fields {
		old, has := into[f.Name]
		if !has || kept[f.Name] {
			continue
		}
		if f == key {
			return fmt.Errorf("%s has no %q, by which the item merges", retainDirective, f.Name)
		}
		delete(into, f.Name)
		if old != nil && !f.IsEmpty(old) {
			m.removed(f.Type, old, m.child(at, f))
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
	for name, value := range sorted(patch) {
		isOther := name == retainDirective || strings.HasPrefix(name, deleteDirective) ||
			strings.HasPrefix(name, orderDirective)
		if !isOther && value != nil && !kept[name] {
			return kept, fmt.Errorf("%s does not name %q, which the patch sets", retainDirective,
				name)
		}
	}
	return kept, nil
}

// withoutDirectives returns a patch's value as upstream sets it if the base has none. It removes
// nulls from objects, and objects that hold a $patch directive. If the value itself is such an
// object, keep is false.
func withoutDirectives(value any) (stripped any, keep bool) {
	switch value := value.(type) {
	case Object:
		if value[patchDirective] != nil {
			return nil, false
		}
		kept := make(Object, len(value))
		for name, v := range value {
			if v == nil {
				continue
			}
			if v, keep := withoutDirectives(v); keep {
				kept[name] = v
			}
		}
		return kept, true
	case []any:
		kept := make([]any, 0, len(value))
		for _, v := range value {
			if v, keep := withoutDirectives(v); keep {
				kept = append(kept, v)
			}
		}
		return kept, true
	default:
		return value, true
	}
}

// fieldNamed returns a field that a patch may set. Any other one is ignored, except a directive.
func (m *merger) fieldNamed(t *schema.Type, name string) *schema.StructField {
	f := t.Field(name)
	if f != nil && f.Patch != nil {
		return f
	}
	if !strings.HasPrefix(name, "$") {
		m.notes = append(
			m.notes, Note{Kind: Ignored, Owner: m.of, Path: m.path.Append(fieldpath.Field(name))})
	}
	return nil
}
