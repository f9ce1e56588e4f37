package merge

import (
	"errors"
	"fmt"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file deletes items of lists, and merges sets.

// special reads $patch in the items of a patch's list. It returns the plain items, the keys of
// those to delete, and whether the plain ones take the place of the base's.
func (m *merger) special(t *schema.Type, items []any) (plain []any, deleted []string,
	replaces bool, err error) {
	isSpecial := false
	for i, item := range items {
		object, ok := item.(Object)
		if !ok {
			m.enter(fieldpath.Index(i))
			return nil, nil, false, errors.New("must be an object")
		}
		_, is := object[patchDirective]
		isSpecial = isSpecial || is
	}
	if !isSpecial {
		return items, nil, false, nil
	}
	plain = make([]any, 0, len(items))
	for i, item := range items {
		object := item.(Object)
		directive, ok := object[patchDirective]
		switch {
		case !ok:
			plain = append(plain, item)
		case directive == "replace":
			replaces = true
		case directive == "delete":
			key, ok := object[t.Key]
			if !ok {
				return nil, nil, false, m.errNoKey(i, t.Key)
			}
			deleted = append(deleted, keyTypeOf(t).text(key))
		default:
			m.enter(fieldpath.Index(i))
			return nil, nil, false, fmt.Errorf("%s: unknown directive %q for an item",
				patchDirective, fmt.Sprint(directive))
		}
	}
	return plain, deleted, replaces, nil
}

// deleteItems returns a list without the items that have one of the keys.
func (m *merger) deleteItems(at *node, list []any, deleted []string) []any {
	children := make(map[string]*node, len(deleted))
	for _, name := range deleted {
		children[name] = m.keyed(at, name)
	}
	left := make([]any, 0, len(list))
	for _, item := range list {
		name, _ := itemName(at.typ, item)
		child, gone := children[name]
		if !gone {
			left = append(left, item)
			continue
		}
		m.recordRemoved(child, item)
	}
	for _, name := range deleted {
		m.claimNull(children[name])
	}
	return left
}

// set merges two lists of scalars by union, in the order of a list-map.
func (m *merger) set(at *node, old, items []any) ([]any, error) {
	t := at.typ
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
	had, named := keysOf(t, old), keysOf(t, made)
	if len(named) == 0 {
		m.empty(at)
	}
	values, inBase := make(map[string]any, len(had)+len(named)), make(map[string]bool, len(had))
	for i, element := range had {
		values[element], inBase[element] = old[i], true
	}
	for i, element := range named {
		m.presence(m.keyed(at, element), inBase[element])
		if _, has := values[element]; !has {
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

// newSet returns the elements of a set that the base lacks.
func (m *merger) newSet(at *node, items []any, verbatim bool) ([]any, error) {
	if !verbatim {
		kept, _ := withoutDirectives(items)
		items = kept.([]any)
	}
	made, err := m.readList(at.typ, items)
	if err != nil {
		return nil, err
	}
	names := keysOf(at.typ, made)
	if len(names) == 0 {
		m.empty(at)
	}
	for _, element := range names {
		m.presence(m.keyed(at, element), false)
	}
	return made, nil
}
