package merge

import (
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges the lists of objects.

// list merges a list-map or a set item by item. Items that the patch names follow its order. The other items keep their places
// among them.
func (m *objects) list(t *schema.Type, old, patch []any, at node) ([]any, error) {
	patched, err := m.itemsOf(t, patch)
	if err != nil {
		return nil, err
	}
	named := make([]int32, len(old)) // the patch's item for each old item, -1 for none
	for i, item := range old {
		key, _ := itemKeyOf(t, item)
		named[i] = patched.find(key)
		if j := named[i]; j >= 0 {
			if patched.items[j].old >= 0 {
				patched.items[j].hasDuplicates = true
			} else {
				patched.items[j].old = int32(i)
			}
		}
	}
	out := make([]any, 0, len(old)+len(patch))
	shared := patched.shared(-1)
	merge := func(j int32) error {
		item := &patched.items[j]
		item.merged = true
		value, err := m.item(t, old, item, patch[j], at)
		if err != nil {
			return inside(itemStepOf(t, item.key), err)
		}
		out = append(out, value)
		return nil
	}
	if m.follows {
		for i, of := range named {
			if of < 0 {
				out = append(out, old[i])
			} else if !patched.items[of].merged { // otherwise it has the place of its duplicate
				if err := merge(of); err != nil {
					return nil, err
				}
			}
		}
		for j := range patched.items {
			if !patched.items[j].merged {
				if err := merge(int32(j)); err != nil {
					return nil, err
				}
			}
		}
		return out, nil
	}
	for i, j := 0, int32(0); i < len(old) || int(j) < len(patch); {
		if i < len(old) && int(j) < len(patch) {
			of := named[i]
			if of == j {
				if err := merge(j); err != nil {
					return nil, err
				}
				i, j, shared = i+1, j+1, patched.shared(shared)
				continue
			}
			if of >= 0 && shared >= 0 && of != shared {
				i++ // it comes at its place in the patch
				continue
			}
		}
		if i < len(old) {
			of := named[i]
			if of < 0 {
				out = append(out, old[i])
				i++
				continue
			}
			if patched.items[of].merged {
				i++
			}
		}
		if int(j) < len(patch) {
			if err := merge(j); err != nil {
				return nil, err
			}
			j++
		}
	}
	return out, nil
}

// item merges one item of a patch's list. If the base has two items of that name, it keeps neither.
func (m *objects) item(t *schema.Type, list []any, patched *patchItem, patch any, at node) (any, error) {
	child := m.child(at, nil, patched.key)
	had := patched.old >= 0
	if had && (patched.hasDuplicates || t.Kind == schema.Set) {
		m.recordBasePresence(child)
	}
	if patched.hasDuplicates {
		m.revokeEarlier(child)
		had = false
	}
	if t.Kind == schema.Set {
		m.claimValue(child, presenceValue, nil)
		return m.copy(t.Elem, patch)
	}
	var old any
	if had {
		old = list[patched.old]
	}
	return m.value(t.Elem, old, had, patch, child, true)
}

// patchItems holds the items of a patch's list.
type patchItems struct {
	items []patchItem
	index map[string]int32 // nil for a short list
}

type patchItem struct {
	key                   string
	old                   int32 // the position in the old list, -1 for none
	hasDuplicates, merged bool
}

// fewItems is the length up to which a linear search is used.
const fewItems = 8

// itemsOf reads the keys of a patch's list. Two items of one key are an error.
func (m *objects) itemsOf(t *schema.Type, list []any) (*patchItems, error) {
	s := &patchItems{items: make([]patchItem, 0, len(list))}
	if len(list) > fewItems {
		s.index = make(map[string]int32, len(list))
	}
	for i, item := range list {
		key, err := itemKeyOf(t, item)
		if err != nil {
			return nil, inside(fieldpath.Index(i), err)
		}
		if s.find(key) >= 0 {
			return nil, inside(itemStepOf(t, key), errDuplicate)
		}
		if s.index != nil {
			s.index[key] = int32(i)
		}
		s.items = append(s.items, patchItem{key: key, old: -1})
	}
	return s, nil
}

func (s *patchItems) find(key string) int32 {
	if s.index != nil {
		if i, ok := s.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range s.items {
		if s.items[i].key == key {
			return int32(i)
		}
	}
	return -1
}

// shared returns the first item after another that the old list has, or -1.
func (s *patchItems) shared(after int32) int32 {
	for i := after + 1; int(i) < len(s.items); i++ {
		if s.items[i].old >= 0 {
			return i
		}
	}
	return -1
}
