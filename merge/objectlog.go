package merge

import (
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file is the log's side of a merge of objects. It records the patches' claims, and the fields
// that patches take from each other. A field is claimed where a set of fields of
// structured-merge-diff names it. A patch that changes a field's value takes the field from all
// earlier claimants. Each node keeps the first claim that still counts.

// objects merges one patch after the other into an object that it may change.
type objects struct {
	log             *log
	live            *live // the owners of a live object, otherwise nil
	layer           int32
	depth           int
	allowDuplicates bool // whether a list may hold two items of one name; only the base's may
	removes         bool // whether a null removes its key
	follows         bool // whether new items follow those of the base
	hasNulls        bool // whether a null came up that its type refuses
}

// copy returns a deep copy of a value and checks the value against its type.
func (m *objects) copy(t *schema.Type, v any) (any, error) {
	if m.depth++; m.depth > deepest {
		return nil, errTooDeep
	}
	defer func() { m.depth-- }()
	to, err := as(t, v)
	if err != nil || v == nil {
		m.hasNulls = m.hasNulls || v == nil && t.NonNull
		return nil, err
	}
	if to.Kind == schema.Atomic && to.Object != nil {
		to = to.Object
	}
	switch v := v.(type) {
	case map[string]any:
		return m.copyFields(to, v)
	case []any:
		out := make([]any, len(v))
		if to.Kind != schema.Atomic && !m.allowDuplicates {
			if _, err := m.itemsOf(to, v); err != nil {
				return nil, err
			}
		}
		for i, item := range v {
			key := ""
			if to.Kind != schema.Atomic {
				if key, err = itemKeyOf(to, item); err != nil {
					return nil, inside(fieldpath.Index(i), err)
				}
			}
			out[i], err = m.copy(to.Elem, item)
			switch {
			case err != nil && to.Kind != schema.Atomic:
				return nil, inside(itemStepOf(to, key), err)
			case err != nil:
				return nil, inside(fieldpath.Index(i), err)
			}
		}
		return out, nil
	default:
		return scalarOf(v)
	}
}

func (m *objects) copyFields(t *schema.Type, v map[string]any) (any, error) {
	out := make(map[string]any, len(v))
	var failed error
	worst := ""
	for name, value := range v {
		_, of, err := fieldOf(t, name)
		if err == nil {
			out[name], err = m.copy(of, value)
		}
		// the first by name, whatever the order of the map
		if err != nil && (failed == nil || name < worst) {
			failed, worst = inside(t.Step(name), err), name
		}
	}
	return out, failed
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

// live holds the owners of a live object.
type live struct {
	entries []Object
	layers  []Owner           // of the entries
	named   map[int32][]*node // the fields that an owner has claimed
	applies bool              // whether a patch of a manager is being applied, and not an update
	before  int32             // how many claims were made before the apply
	// whether the object has owners. The first apply makes the base one otherwise.
	owned bool
}

// revoke removes the claims of an owner that were made before others, and reports whether it has
// later ones.
func (n *node) revoke(layer, before int32) (stays bool) {
	n.claims = slices.DeleteFunc(n.claims, func(c claim) bool {
		stays = stays || c.layer == layer && c.number >= before
		return c.layer == layer && c.number < before
	})
	return stays
}

// recordBase records the base's claim on a field that a patch reaches first.
func (m *objects) recordBase(at *node, t *schema.Type, old any, named bool) {
	if old == any(missing{}) || len(at.claims) > 0 {
		return
	}
	if kind := claimedAs(t, old, named); kind != unlistedPresence {
		m.log.add(at, baseLayer, kind, old)
		m.unowned(at)
	}
}

// unowned takes a field of a live object from the base: nobody owns it.
func (m *objects) unowned(at *node) {
	if m.live != nil {
		at.active = m.log.claims
	}
}

// recordBasePresence records that the base has an item.
func (m *objects) recordBasePresence(at *node) {
	if len(at.claims) == 0 {
		m.log.add(at, baseLayer, presenceValue, nil)
		m.unowned(at)
	}
}

// claimValue records the patch's claim on a field.
func (m *objects) claimValue(at *node, kind valueKind, value any) {
	if m.live != nil {
		m.live.named[m.layer] = append(m.live.named[m.layer], at)
	}
	m.log.add(at, m.layer, kind, value)
}

// isIdentity reports whether a field identifies the object, so that it has no owner and stays.
func (n *node) isIdentity() bool {
	var steps []objectStep
	for ; n.parent != nil; n = n.parent {
		steps = append(steps, objectStep{key: n.name()})
	}
	slices.Reverse(steps)
	return serverKeeps(steps)
}

// revokeEarlier takes a field from all earlier claimants, because the patch changes the field.
func (m *objects) revokeEarlier(at *node) {
	if m.live != nil && m.live.applies && !at.isIdentity() {
		m.displace(at)
	}
	at.active = m.log.claims
}

// displace records the owners from which an apply takes a field. They have claimed it before the
// apply.
func (m *objects) displace(at *node) {
	for _, c := range at.claims {
		if c.number >= at.active && c.number < m.live.before && c.layer != m.layer &&
			c.kind != unlistedPresence {
			at.displaced = append(at.displaced, displacement{c, m.layer, m.log.claims})
		}
	}
}

// added takes a field that a live object lacks from the owners that it has all the same.
func (m *objects) added(at *node, old any) {
	if m.live != nil && old == any(missing{}) {
		m.revokeEarlier(at)
	}
}

// revokeWithin takes a field from the owners that claimed something within it, and removes their
// claims there.
func (m *objects) revokeWithin(at *node) {
	var within []int32
	var gather func(*node)
	gather = func(parent *node) {
		for _, child := range parent.children {
			for _, c := range child.claims {
				within = append(within, c.layer)
			}
			child.active = m.log.claims
			gather(child)
		}
	}
	gather(at)
	for _, c := range at.claims {
		within = slices.DeleteFunc(within, func(layer int32) bool { return layer == c.layer })
	}
	slices.Sort(within)
	for _, layer := range slices.Compact(within) {
		m.log.add(at, layer, presenceValue, nil)
	}
	at.children, at.byKey = nil, nil
}
