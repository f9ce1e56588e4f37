package merge

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file obeys the directives of a patch's object, and removes them from values that the base lacks.

// appendNames appends the names of the fields of a patch's object to m.names. An object has no order, so they are sorted. For
// a Go value, it appends only the fields that a patch may set, in the order of the type.
func (m *merger) appendNames(t *schema.Type, patch Object) []string {
	if m.ofValue {
		for _, f := range t.Patchable() {
			if _, ok := patch[f.Name]; ok {
				m.names = append(m.names, f.Name)
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
func isPureDirective(patch Object) bool { return len(patch) == 1 || patch[patchDirective] == "delete" }

// retainFields obeys $retainKeys: it empties every field that the directive does not name.
func (m *merger) retainFields(t *schema.Type, key *schema.StructField, dst reflect.Value, kept map[string]bool, at node) error {
	for _, f := range t.Fields {
		to, present := f.Template.Of(dst)
		if !present || kept[f.Name] {
			continue
		}
		if f == key {
			return fmt.Errorf("%s has no %q, by which the item merges", retainDirective, f.Name)
		}
		if to.IsZero() {
			continue
		}
		m.null(f.Type, to, present, m.field(at, f))
	}
	return nil
}

// retained returns the keys of a $retainKeys directive. The directive must name every key that the patch sets.
func retained(patch Object) (map[string]bool, error) {
	kept := map[string]bool{}
	list, ok := patch[retainDirective].([]any)
	if !ok {
		return kept, fmt.Errorf("%s must be a list", retainDirective)
	}
	for i, name := range list {
		if isComposite(name) {
			return kept, within(fieldpath.Index(i), fmt.Errorf("an item of %s must be a string", retainDirective))
		}
		if name, ok := name.(string); ok {
			kept[name] = true
		}
	}
	for name, value := range sorted(patch) {
		isOther := name == retainDirective || strings.HasPrefix(name, deleteDirective) || strings.HasPrefix(name, orderDirective)
		if !isOther && value != nil && !kept[name] {
			return kept, fmt.Errorf("%s does not name %q, which the patch sets", retainDirective, name)
		}
	}
	return kept, nil
}

// claimDeleted claims the removals of $deleteFromPrimitiveList from an empty list: another patch may fill the list.
func (m *merger) claimDeleted(f *schema.StructField, deleted []any, at node) {
	switch {
	case f.Type.Kind == schema.Atomic && len(deleted) > 0:
		m.claimNull(m.field(at, f))
	case f.Type.Kind == schema.Set:
		for _, element := range deleted {
			m.claimNull(m.keyed(m.field(at, f), keyTypeOf(f.Type).text(element)))
		}
	}
}

// deleteItems removes all items of a list that have one of the keys.
func (m *merger) deleteItems(t *schema.Type, list reflect.Value, deleted []string, at node) {
	children := make(map[string]node, len(deleted))
	for _, name := range deleted {
		children[name] = m.keyed(at, name)
	}
	left := reflect.MakeSlice(list.Type(), 0, list.Len())
	names := keysIn(t, list)
	for i := range list.Len() {
		name, _ := names.at(i)
		child, gone := children[name]
		if !gone {
			left = reflect.Append(left, list.Index(i))
			continue
		}
		m.recordRemoved(t.Elem, t.KeyField(), child, pointee(list.Index(i)))
	}
	for _, name := range deleted {
		m.claimNull(children[name])
	}
	list.Set(left)
}

// withoutDirectives returns a patch's value as upstream sets it if the base has none. It removes nulls from objects, and
// objects that hold a $patch directive. If the value itself is such an object, keep is false.
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
