package merge

import (
	"errors"
	"fmt"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file obeys $patch in the items of lists that the base has, and merges sets.

// special obeys $patch in the items of a patch's list. It returns the list without the deleted
// items, and the plain items of the patch. These are nil if they took the place of the base's.
func (m *merger) special(t *schema.Type, list, items []any,
	at *node) (left, plain []any, err error) {
	isSpecial := false
	for i, item := range items {
		object, ok := item.(Object)
		if !ok {
			m.enter(fieldpath.Index(i))
			return nil, nil, errors.New("must be an object")
		}
		_, is := object[patchDirective]
		isSpecial = isSpecial || is
	}
	if !isSpecial {
		return list, items, nil
	}
	plain, replace := make([]any, 0, len(items)), false
	var deleted []string
	for i, item := range items {
		object := item.(Object)
		directive, ok := object[patchDirective]
		switch {
		case !ok:
			plain = append(plain, item)
		case directive == "replace":
			replace = true
		case directive == "delete":
			key, ok := object[t.Key]
			if !ok {
				return nil, nil, m.errNoKey(i, t.Key)
			}
			deleted = append(deleted, keyTypeOf(t).text(key))
		default:
			m.enter(fieldpath.Index(i))
			return nil, nil,
				fmt.Errorf("%s: unknown directive %q for an item", patchDirective,
					fmt.Sprint(directive))
		}
	}
	list = m.deleteItems(t, list, deleted, at)
	if !replace {
		return list, plain, nil
	}
	for i, item := range plain {
		if item.(Object)[t.Key] == nil {
			return nil, nil, m.errNoKey(i, t.Key)
		}
	}
	m.recordRemoved(t, nil, at, list)
	m.claimNull(at)
	made, err := m.freshList(t, plain, at, false)
	if err != nil {
		return nil, nil, err
	}
	left = made.([]any)
	keys := itemKeys(t, left)
	first := ranks(keys, keys)
	// duplicates go together
	return reordered(left, arrange(len(keys), first, slices.Repeat([]int32{-1}, len(keys)))),
		nil, nil
}

// deleteItems returns a list without the items that have one of the keys.
func (m *merger) deleteItems(t *schema.Type, list []any, deleted []string, at *node) []any {
	children := make(map[string]*node, len(deleted))
	for _, name := range deleted {
		children[name] = m.keyed(at, name)
	}
	left := make([]any, 0, len(list))
	for _, item := range list {
		name, _ := itemName(t, item)
		child, gone := children[name]
		if !gone {
			left = append(left, item)
			continue
		}
		m.recordRemoved(t.Elem, t.KeyField(), child, item)
	}
	for _, name := range deleted {
		m.claimNull(children[name])
	}
	return left
}

// set merges two lists of scalars by union, in the order of a list-map.
func (m *merger) set(t *schema.Type, old, items []any, at *node) ([]any, error) {
	if !areAlike(items) {
		return nil, errors.New("must have elements of one type, none of them null")
	}
	made, err := m.readList(t, items)
	if err != nil {
		return nil, err
	}
	if t.Elem.Kind != schema.Scalar && len(old)+len(made) > 0 {
		return nil, errNoMergeKey
	}
	had, named := elementTexts(t, old), elementTexts(t, made)
	if len(named) == 0 {
		m.empty(at)
	}
	values := make(map[string]any, len(had)+len(named))
	for i, element := range had {
		values[element] = old[i]
	}
	for i, element := range named {
		_, has := values[element]
		m.presence(m.keyed(at, element), has && slices.Contains(had, element))
		if !has {
			values[element] = made[i]
		}
	}
	server, union := dedupe(had, named) // even an empty patch removes duplicates
	order := arrange(len(union), ranks(union, server), ranks(union, named))
	if m.follows {
		union, order = distinctOf(had, named)
	}
	merged := make([]any, len(union))
	for place, i := range order {
		merged[place] = values[union[i]]
	}
	return merged, nil
}
