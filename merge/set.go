package merge

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges sets, and obeys $setElementOrder, the directive that orders a list.

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

// allKeyed returns an error if an item of a list-map lacks its merge key.
func allKeyed(t *schema.Type, list reflect.Value) error {
	if t.Key == "" {
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
		if t.Key != "" {
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
		if t.Key != "" {
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
		if t.Key != "" {
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

func reorderList(list reflect.Value, order []int32) {
	sortedList := reflect.MakeSlice(list.Type(), list.Len(), list.Len())
	for place, i := range order {
		sortedList.Index(place).Set(list.Index(int(i)))
	}
	list.Set(sortedList)
}
