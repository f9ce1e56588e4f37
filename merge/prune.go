package merge

import (
	"maps"
	"slices"

	"github.com/trainweld/trainweld/schema"
)

// applied records the last apply of a manager.
type applied struct {
	fields   map[*node]bool
	children map[*node][]*node // the fields that hold such fields, and the way to these
	claims   int32             // how many claims there were
	owned    map[*node]bool    // whether anybody owns something in a field
}

// lastOf returns the fields that the owner has applied so far. The next apply replaces them.
func (m *objects) lastOf() *applied {
	last := &applied{fields: map[*node]bool{}, children: map[*node][]*node{},
		claims: m.log.claims, owned: map[*node]bool{}}
	seen := map[*node]bool{m.log.top: true}
	for _, at := range m.live.named[m.layer] {
		if last.fields[at] || !at.holds(m.layer) {
			continue
		}
		last.fields[at] = true
		for ; !seen[at]; at = at.parent {
			seen[at] = true
			last.children[at.parent] = append(last.children[at.parent], at)
		}
	}
	return last
}

// replaceLast revokes the claims of the owner's last apply, and removes the fields that nobody owns
// now.
func (m *objects) replaceLast(t *schema.Type, object Object, last *applied) {
	var stays []*node
	for _, at := range m.live.named[m.layer] {
		if at.revoke(m.layer, last.claims) {
			stays = append(stays, at)
		}
	}
	m.live.named[m.layer] = stays
	if len(last.fields) > 0 {
		m.prune(t, object, m.log.top, last, lastAround{})
	}
}

// lastAround states that the last apply named a field around another one, and that nobody owned it.
type lastAround struct{ isNamed, isUnowned bool }

// prune removes the fields and items that the last apply named and nobody owns now. It returns the
// rest of the object or list. A field that it empties is null then.
func (m *objects) prune(t *schema.Type, v any, at *node, last *applied, around lastAround) any {
	below := map[string]*node{}
	for _, child := range last.children[at] {
		below[child.name()] = child
	}
	rest := func(of *schema.Type, value any, child *node) (any, bool) {
		field := child.field
		isNamed := field != nil || last.fields[child] // a field is named, or one within it
		counts := field == nil || isInSet(of, value)
		inner := lastAround{isNamed: around.isNamed || isNamed}
		inner.isUnowned = around.isUnowned || counts && inner.isNamed && !m.isOwned(child, last)
		to := filledOf(of, value)
		if counts && isNamed && !child.isIdentity() &&
			(inner.isUnowned || to != nil && !m.hasRemaining(to, value, child, last, len(t.Keys) == 0)) {
			m.disown(child)
			return nil, false
		}
		if to == nil || len(last.children[child]) == 0 {
			return value, true
		}
		left := m.prune(to, value, child, last, inner)
		m.hasNulls = m.hasNulls || left == nil && of.NonNull
		if left == nil {
			child.nulledBy = m.layer
		}
		return left, true
	}
	if fields, ok := v.(Object); ok {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			child, is := below[name]
			if !is {
				continue
			}
			_, of, _ := fieldOf(t, name) // a known field, as was checked
			var stays bool
			if fields[name], stays = rest(of, fields[name], child); !stays {
				delete(fields, name)
			}
		}
		if len(fields) == 0 {
			return nil
		}
		return fields
	}
	var out []any
	for _, item := range v.([]any) {
		key, _ := itemKeyOf(t, item)
		if child, is := below[key]; is {
			var stays bool
			if item, stays = rest(t.Elem, item, child); !stays {
				continue
			}
		}
		if item != nil { // an emptied one has no key
			out = append(out, item)
		}
	}
	if out == nil {
		return nil
	}
	return out
}

// isInSet reports whether a set of fields names a field of a struct, or something within.
func isInSet(t *schema.Type, v any) bool {
	of := filledOf(t, v)
	if of == nil {
		return claimedAs(t, v, false) != unlistedPresence
	}
	for _, p := range membersOf(t, v) {
		if p.field == nil || isInSet(p.typ, p.now) {
			return true
		}
	}
	return false
}

// hasRemaining reports whether a set of fields still names something in an object or a list without
// what nobody owns. If nothing is left, it returns isEmptied.
func (m *objects) hasRemaining(t *schema.Type, v any, at *node, last *applied, isEmptied bool) bool {
	for key, p := range membersOf(t, v) {
		isIn, child := p.field == nil || isInSet(p.typ, p.now), at.find(p.field, key)
		if isIn && (child == nil || !m.isOwned(child, last)) {
			continue
		}
		isEmptied = false
		of := filledOf(p.typ, p.now)
		if p.field == nil || isIn && (of == nil || m.hasRemaining(of, p.now, child, last, true)) {
			return true
		}
	}
	return isEmptied
}

// isOwned reports whether anybody owns a field, or something in a field of a struct. The identity
// of the object stays without one.
func (m *objects) isOwned(at *node, last *applied) bool {
	if at.holds(-1) || at.isIdentity() {
		return true
	}
	if at.field == nil {
		return false
	}
	if is, known := last.owned[at]; known {
		return is
	}
	last.owned[at] = slices.ContainsFunc(at.children, (*node).isHeld)
	return last.owned[at]
}

// isHeld reports whether anybody owns a field or something within.
func (n *node) isHeld() bool {
	return n.holds(-1) || slices.ContainsFunc(n.children, (*node).isHeld)
}

// disown records that an apply has removed a field, which then has no owner but that of the apply
// if the apply names the field. A field that the object lacked before keeps its owners.
func (m *objects) disown(at *node) {
	isNamed, wasAbsent := false, false
	for _, c := range at.claims {
		isNamed = isNamed || c.number >= m.live.before && c.layer == m.layer &&
			c.kind != unlistedPresence
		wasAbsent = c.number >= at.active && c.kind == absentValue ||
			wasAbsent && c.number < at.active
	}
	if !wasAbsent || isNamed {
		// a field that the same apply adds and removes has no conflict
		at.displaced = slices.DeleteFunc(at.displaced, func(d displacement) bool {
			return d.after >= m.live.before
		})
		if len(at.claims) > 0 {
			m.log.add(at, m.layer, nullValue, nil)
		}
		at.active = m.log.claims
		if isNamed {
			m.log.add(at, m.layer, absentValue, nil)
		}
	}
	for _, child := range at.children {
		m.disown(child)
	}
}
