package merge

import (
	"maps"
	"slices"

	"github.com/trainweld/trainweld/schema"
)

// applied records the last apply of a manager.
type applied struct {
	fields   map[node]bool
	children map[node][]node // the fields that hold such fields, and the way to these
	claims   int32           // how many claims there were
	owned    map[node]bool   // whether anybody owns something in a field
}

// lastOf returns the fields that the layer has applied so far. The next apply replaces them.
func (m *objects) lastOf() *applied {
	last := &applied{fields: map[node]bool{}, children: map[node][]node{},
		claims: int32(len(m.log.claims)), owned: map[node]bool{}}
	seen := map[node]bool{rootNode: true}
	for _, at := range m.live.named[m.layer] {
		if last.fields[at] || !m.holds(at, m.layer) {
			continue
		}
		last.fields[at] = true
		for ; !seen[at]; at = m.log.nodes[at].parent {
			seen[at] = true
			last.children[m.log.nodes[at].parent] = append(
				last.children[m.log.nodes[at].parent], at)
		}
	}
	return last
}

// replaceLast revokes the claims of the layer's last apply, and removes the fields that nobody owns
// now.
func (m *objects) replaceLast(t *schema.Type, object Object, last *applied) {
	var stays []node
	for _, at := range m.live.named[m.layer] {
		if m.log.revoke(at, m.layer, last.claims) {
			stays = append(stays, at)
		}
	}
	m.live.named[m.layer] = stays
	if len(last.fields) > 0 {
		m.prune(t, object, rootNode, last, false, false)
	}
}

// prune removes the fields and items that the last apply named and nobody owns now. It returns the
// rest of the object or list. A field that it empties is null then. The flags state that the last
// apply named a field around it, and that nobody owned that one.
func (m *objects) prune(t *schema.Type, v any, at node, last *applied, named, unowned bool) any {
	below := map[string]node{}
	for _, child := range last.children[at] {
		below[m.log.name(child)] = child
	}
	rest := func(of *schema.Type, value any, child node) (any, bool) {
		field := m.log.nodes[child].field
		isNamed := field != nil || last.fields[child] // a field is named, or one within it
		named := named || isNamed
		counts := field == nil || isInSet(of, value)
		unowned := unowned || counts && named && !m.isOwned(child, last)
		to := filledOf(of, value)
		if counts && isNamed && !m.isIdentity(child) &&
			(unowned || to != nil && !m.hasRemaining(to, value, child, last, len(t.Keys) == 0)) {
			m.disown(child)
			return nil, false
		}
		if to == nil || len(last.children[child]) == 0 {
			return value, true
		}
		left := m.prune(to, value, child, last, named, unowned)
		m.hasNulls = m.hasNulls || left == nil && of.NonNull
		if left == nil {
			m.log.leftNull(child, m.layer)
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
	parts := map[string]part{}
	partsOf(parts, of, v, true)
	for _, p := range parts {
		if p.field == nil || isInSet(p.typ, p.now) {
			return true
		}
	}
	return false
}

// hasRemaining reports whether a set of fields still names something in an object or a list without
// what nobody owns. If nothing is left, it returns isEmptied.
func (m *objects) hasRemaining(t *schema.Type, v any, at node, last *applied, isEmptied bool) bool {
	parts := map[string]part{}
	partsOf(parts, t, v, true)
	find := m.log.finder(at)
	for key, p := range parts {
		isIn, child := p.field == nil || isInSet(p.typ, p.now), noNode
		if p.field != nil {
			child = m.log.lookup(at, p.field, "")
		} else {
			child = find(key)
		}
		if isIn && (child == noNode || !m.isOwned(child, last)) {
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

// isOwned reports whether any layer owns a field, or something in a field of a struct. The identity
// of the object stays without one.
func (m *objects) isOwned(at node, last *applied) bool {
	if m.holds(at, -1) || m.isIdentity(at) {
		return true
	}
	if m.log.nodes[at].field == nil {
		return false
	}
	if is, known := last.owned[at]; known {
		return is
	}
	is := false
	for child := m.log.nodes[at].child; child != noNode && !is; child = m.log.nodes[child].next {
		is = m.owns(child)
	}
	last.owned[at] = is
	return is
}

// owns reports whether any layer owns a field or something within.
func (m *objects) owns(at node) bool {
	if m.holds(at, -1) {
		return true
	}
	for child := m.log.nodes[at].child; child != noNode; child = m.log.nodes[child].next {
		if m.owns(child) {
			return true
		}
	}
	return false
}

// disown records that the layer has removed a field, which then has no owner but the layer if its
// apply names the field. A field that the object lacked before keeps its owners.
func (m *objects) disown(at node) {
	isNamed, wasAbsent := false, false
	for i := m.log.nodes[at].first; i >= 0; i = m.log.claims[i].next {
		c := &m.log.claims[i]
		isNamed = isNamed || i >= m.live.before && c.layer() == m.layer &&
			c.kind() != unlistedPresence
		wasAbsent = i >= m.log.nodes[at].firstActive && c.kind() == absentValue ||
			wasAbsent && i < m.log.nodes[at].firstActive
	}
	if wasAbsent && !isNamed {
		for child := m.log.nodes[at].child; child != noNode; child = m.log.nodes[child].next {
			m.disown(child)
		}
		return
	}
	// a field that the same apply adds and removes has no conflict
	if taken := m.log.displaced[at]; taken != nil {
		m.log.displaced[at] = slices.DeleteFunc(taken, func(d displacement) bool {
			return d.after >= m.live.before
		})
	}
	if m.log.nodes[at].first >= 0 {
		m.log.add(at, m.layer, nullValue, "")
	}
	m.log.nodes[at].firstActive = int32(len(m.log.claims))
	if isNamed {
		m.log.add(at, m.layer, absentValue, "")
	}
	for child := m.log.nodes[at].child; child != noNode; child = m.log.nodes[child].next {
		m.disown(child)
	}
}
