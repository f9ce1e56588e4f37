package merge

import (
	"slices"

	"github.com/trainweld/trainweld/schema"
)

// This file applies the policies that decide to a merged tree.

// decide applies the policies that need the history of all patches, and returns the value that they
// leave.
func (m *merger) decide(value, base Object, o *options) (Object, error) {
	value, notes, err := m.log.restore(o, value, base)
	if err != nil {
		return nil, err
	}
	m.notes = append(m.notes, notes...)
	d := deciding{m.log, o.unions, m.follows && m.log.reordered}
	if !d.follows && o.unions == "" {
		return value, nil
	}
	var patches []any
	for _, patch := range m.log.again.trees {
		if d.follows {
			patches = append(patches, patch)
		}
	}
	return d.object(m.log.root, value, m.log.top, patches)
}

// deciding walks the structs and lists that patches reached, from the outside to the inside.
type deciding struct {
	*log
	unions UnionPolicy
	// whether new items go into the order of the given patches, which have merged in another order
	follows bool
}

// object decides within a struct. The parts are what the patches hold there, in their given order.
func (d deciding) object(t *schema.Type, object Object, at *node, parts []any) (Object, error) {
	if d.unions != "" {
		for _, u := range t.Unions {
			gone, winner := d.excludedMembers(t, u, object, at)
			if len(gone) > 0 && d.unions == Error {
				return nil, d.severalMembers(u, t, object, at)
			}
			for _, f := range gone {
				d.remove(f, object, at, winner)
			}
		}
	}
	for _, child := range at.children {
		f := child.field
		if f == nil {
			continue
		}
		var within []any
		for _, part := range parts {
			if patch, _ := part.(Object); patch[f.Name] != nil {
				within = append(within, patch[f.Name])
			}
		}
		var made any
		var err error
		switch value := object[f.Name].(type) {
		case Object:
			if f.Type.Kind != schema.Struct {
				continue
			}
			made, err = d.object(f.Type, value, child, within)
		case []any:
			if !f.Type.HasItems() {
				continue
			}
			made, err = d.list(f.Type, value, child, within)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		object[f.Name] = made
	}
	return object, nil
}

// list decides within a list.
func (d deciding) list(t *schema.Type, list []any, at *node, parts []any) ([]any, error) {
	if d.follows {
		d.restoreOrder(t, list, at, parts)
	}
	if t.Key == "" {
		return list, nil
	}
	keys := keysOf(t, list)
	within := make([][]any, len(list))
	places := make(map[string]int, len(list))
	for i, key := range keys {
		if _, known := places[key]; !known {
			places[key] = i
		}
	}
	for _, part := range parts {
		items, _ := part.([]any)
		for _, item := range items {
			if i, known := places[keyOf(t, item)]; known && item != nil {
				within[i] = append(within[i], item)
			}
		}
	}
	for _, child := range at.children {
		i, known := places[child.key]
		if !known {
			continue
		}
		if item, ok := list[i].(Object); ok {
			made, err := d.object(t.Elem, item, child, within[i])
			if err != nil {
				return nil, err
			}
			list[i] = made
		}
	}
	return list, nil
}

// remove removes a member of a union for the owner of another member.
func (d deciding) remove(f *schema.StructField, object Object, at *node, winner int32) {
	child := d.child(at, f, "")
	writer{log: d.log, onlyRemoved: true}.value(child, object[f.Name], nil)
	f.Put(object, nil)
	d.decide("Unions", child.path(), winner, d.removed(child, winner, nil))
}

// restoreOrder puts the new items of a list into the order of the given patches.
func (d deciding) restoreOrder(t *schema.Type, list []any, at *node, parts []any) {
	rank := map[string]int32{}
	for _, part := range parts {
		items, _ := part.([]any)
		for _, item := range items {
			if key := keyOf(t, item); rank[key] == 0 {
				rank[key] = int32(len(rank) + 1)
			}
		}
	}
	keys, order := keysOf(t, list), make([]int32, len(list))
	for i, key := range keys {
		order[i] = int32(i)
		if child := at.find(nil, key); child == nil || child.isOfBase() {
			rank[key] = 0
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return int(rank[keys[a]] - rank[keys[b]]) })
	copy(list, reordered(list, order))
}
