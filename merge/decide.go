package merge

import (
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/schema"
)

// This file applies the policies that decide to a merged Go value.

// decide applies the policies that need the history of all patches.
func (m *merger) decide(value, base reflect.Value, o Options) (err error) {
	if m.protected, err = m.log.restore(o, value, base); err != nil {
		return err
	}
	if o.precedes() {
		m.log.precedence(o.precedence())
	}
	follows := m.follows && m.log.reordered
	if !follows && o.Unions == AllMembers {
		return nil
	}
	root := visited{at: rootNode, t: m.log.root, value: value}
	for _, patch := range m.log.patches {
		if follows {
			root.patchItems = append(root.patchItems, patch)
		}
	}
	return m.log.visit(root, func(v visited) error {
		if follows {
			m.restoreOrder(v)
		}
		if o.Unions == AllMembers {
			return nil
		}
		return m.unions(v, o.Unions)
	})
}

// unions removes the members of unions that may not stay, or returns an error for several members.
func (m *merger) unions(v visited, policy UnionPolicy) error {
	for _, u := range v.t.Unions {
		gone, winner, last := m.log.excludedMembers(v.t, u, v.value, v.at)
		if len(gone) > 0 && policy == OneMember {
			return m.log.severalMembers(u, v, last)
		}
		for _, f := range gone {
			m.remove(f, v.value, v.at, winner)
		}
	}
	return nil
}

// remove removes a member of a union for the layer of another member.
func (m *merger) remove(f *schema.StructField, object reflect.Value, at node, winner int32) {
	child := m.log.child(at, f, "")
	member, _ := f.Template.In(object)
	writer{log: m.log, onlyRemoved: true}.value(f.Type, nil, child, pointee(member), reflect.Value{})
	member.SetZero()
	m.log.decide("unions", m.log.path(child), winner, m.log.removed(child, winner, nil))
}

// restoreOrder puts the new items of a list into the order of the given patches. These have merged in another order.
func (m *merger) restoreOrder(v visited) {
	if !v.t.HasItems() || v.value.Len() < 2 {
		return
	}
	rank := map[string]int32{}
	for _, part := range v.patchItems {
		items, _ := part.([]any)
		for _, item := range items {
			if key := keyIn(v.t, item); rank[key] == 0 {
				rank[key] = int32(len(rank) + 1)
			}
		}
	}
	keys, order, find := itemKeys(v.t, v.value), make([]int32, v.value.Len()), m.log.finder(v.at)
	for i, key := range keys {
		order[i] = int32(i)
		if child := find(key); child == noNode || m.log.isOfBase(child) {
			rank[key] = 0
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return int(rank[keys[a]] - rank[keys[b]]) })
	reorderList(v.value, order)
}
