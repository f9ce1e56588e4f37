package merge

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file obeys $setElementOrder, the directive that orders a list.

// ordered obeys $setElementOrder. It merges the list of the patch, if present. Then the items that the directive names follow
// its order, and the other items keep theirs. The flag cleared states that the patch's $retainKeys has removed the list.
func (m *merger) ordered(f *schema.StructField, dst reflect.Value, patch Object, order any, cleared bool, at node) error {
	wanted, ok := order.([]any)
	if !ok {
		return fmt.Errorf("%s must be a list", orderDirective)
	}
	list, inBase := f.Template.In(dst)
	inBase = inBase && !cleared
	if k := list.Kind(); k != reflect.Slice && k != reflect.Pointer || inBase && jsonKind(list) != reflect.Slice {
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
	keys, err := orderedKeys(f.Type, wanted)
	if err != nil {
		return err
	}
	if err := followsOrder(f.Type, items, keys); err != nil {
		return err
	}
	var before []string
	if inBase {
		before = itemKeys(f.Type, pointee(list))
	}
	if len(before)+len(items) == 0 {
		return fmt.Errorf("%s orders a list without items", orderDirective)
	}
	if !inBase {
		child := m.field(at, f)
		for _, item := range items {
			m.claimSpecial(f.Type, item, child)
		}
		plain, err := plainItems(f.Type, items)
		if err != nil {
			return err
		}
		value = plain
		if len(plain) == 0 {
			items = nil
		}
	}
	if f.Type.Kind != schema.ListMap && !holdsScalars(f.Type, list, items) {
		return fmt.Errorf("%s is for lists with a merge key and for those of scalars of one type", orderDirective)
	}
	if inPatch {
		if err := m.encoded(f, dst, value, at); err != nil {
			return err
		}
	}
	if list = pointee(list); !list.IsValid() {
		return nil
	}
	if f.Type.Kind == schema.Set && inBase && inPatch {
		before, _ = dedupe(before, elementTexts(reflect.ValueOf(items)))
	}
	if err := allKeyed(f.Type, list); err != nil {
		return err
	}
	have := itemKeys(f.Type, list)
	if m.follows && f.Type.Kind != schema.Atomic {
		return nil
	}
	places := arrange(len(have), ranks(have, shifted(f.Type, before, items)), ranks(have, keys))
	if f.Type.Kind != schema.Atomic || slices.IsSorted(places) {
		reorderList(list, places)
		return nil
	}
	child := m.field(at, f)
	m.recordBase(child, f.Type, list, true)
	reorderList(list, places)
	m.claim(child, list)
	return nil
}

// allKeyed returns an error if an item of a list-map lacks its merge key.
func allKeyed(t *schema.Type, list reflect.Value) error {
	if t.Kind != schema.ListMap {
		return nil
	}
	names := keysIn(t, list)
	for i := range list.Len() {
		if _, ok := names.at(i); !ok {
			return errNoKey(i, t.Key)
		}
	}
	return nil
}

// plainItems returns the items without a $patch, even a null one. An item of a list-map needs a merge key.
func plainItems(t *schema.Type, items []any) ([]any, error) {
	plain := make([]any, 0, len(items))
	for i, item := range items {
		object, _ := item.(Object)
		if _, isDirective := object[patchDirective]; isDirective {
			continue
		}
		if t.Kind == schema.ListMap {
			if _, err := itemName(t, i, item); err != nil {
				return nil, err
			}
		}
		plain = append(plain, item)
	}
	return plain, nil
}

// itemName returns the merge key of a patch's item.
func itemName(t *schema.Type, i int, item any) (any, error) {
	object, ok := item.(Object)
	if !ok {
		return nil, within(fieldpath.Index(i), wrongType(item, "an object"))
	}
	name, ok := object[t.Key]
	if !ok {
		return nil, errNoKey(i, t.Key)
	}
	return name, nil
}

// shifted returns the keys of the base's list as upstream sees them after the patch has deleted items. The remaining keys move
// up, and the patch's new items fill the free places.
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

func reorderList(list reflect.Value, order []int32) {
	sortedList := reflect.MakeSlice(list.Type(), list.Len(), list.Len())
	for place, i := range order {
		sortedList.Index(place).Set(list.Index(int(i)))
	}
	list.Set(sortedList)
}

// holdsScalars reports whether the elements of the base's list and of the patch's are scalars of one type.
func holdsScalars(t *schema.Type, list reflect.Value, items []any) bool {
	if t.Elem == nil || t.Elem.Kind != schema.Scalar {
		return len(items) == 0 && (list.Kind() != reflect.Slice || list.Len() == 0)
	}
	if t.Elem.Raw {
		value, _ := jsonOf(list)
		inBase, _ := value.([]any)
		items = slices.Concat(inBase, items)
	}
	return areAlike(items) && !holdsObjects(items)
}

// orderedKeys returns the keys or elements that a $setElementOrder directive names.
func orderedKeys(t *schema.Type, order []any) ([]string, error) {
	keys, of := make([]string, len(order)), keyTypeOf(t)
	for i, item := range order {
		if t.Kind == schema.ListMap {
			object, _ := item.(Object)
			var ok bool
			if item, ok = object[t.Key]; !ok {
				return nil, within(fieldpath.Index(i), fmt.Errorf("an item of %s has no %q", orderDirective, t.Key))
			}
		}
		if isComposite(item) {
			return nil, within(fieldpath.Index(i), fmt.Errorf("an item of %s must be a scalar", orderDirective))
		}
		keys[i] = of.text(item)
	}
	return keys, nil
}

// followsOrder returns an error for a patch item that the patch's own $setElementOrder omits or orders differently.
func followsOrder(t *schema.Type, items []any, order []string) error {
	if len(order) == 0 {
		return nil
	}
	next := 0
	for i, item := range items {
		if t.Kind == schema.ListMap {
			object, _ := item.(Object)
			if directive, ok := object[patchDirective]; ok && (directive == "delete" || next < len(order)) {
				continue
			}
			var err error
			if item, err = itemName(t, i, item); err != nil {
				return err
			}
		}
		key := keyTypeOf(t).text(item)
		at := slices.Index(order[next:], key)
		if at < 0 {
			shown, _ := json.Marshal(item) // of JSON
			return within(fieldpath.Index(i), fmt.Errorf("%s does not name %s at its place", orderDirective, shown))
		}
		next += at + 1
	}
	return nil
}
