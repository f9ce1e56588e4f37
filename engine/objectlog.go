package engine

import (
	"slices"

	"github.com/trainweld/trainweld/schema"
)

// This file is the log's side of a merge of objects: what patches claim, and what they take from each other. A field is claimed
// where a set of fields of structured-merge-diff names it. A patch that changes what stands in a field takes it from all
// who claimed it before: nodes keep the first claim that still counts.

// child is the node of a field, of an entry or of an item.
func (m *objects) child(at node, f *schema.StructField, key string) node {
	if !m.owners {
		return noNode
	}
	if f != nil {
		key = ""
	}
	return m.log.child(at, f, key)
}

// keep notes what the base claims of a field that a patch reaches first. had says that the field was there.
func (m *objects) keep(at node, t *schema.Type, old any, had, named bool) {
	if !m.owners || !had || m.log.nodes[at].first >= 0 {
		return
	}
	if kind := claimedAs(t, old, named); kind == otherValue {
		m.log.addPlain(at, baseLayer, old)
	} else if kind != aroundValue {
		m.log.add(at, baseLayer, kind, "")
	}
}

// keepPresence notes that the base has an item.
func (m *objects) keepPresence(at node) {
	if m.owners && m.log.nodes[at].first < 0 {
		m.log.add(at, baseLayer, presenceValue, "")
	}
}

// claimedAs is how a set of fields names a field that holds a value: by its value, as null, by its presence, or not at all,
// which is aroundValue.
func claimedAs(t *schema.Type, v any, named bool) valueKind {
	if v == nil {
		return nothingValue
	}
	of, err := as(t, v)
	if err != nil {
		return aroundValue
	}
	if of.Kind == schema.Scalar || of.Kind == schema.Atomic {
		return otherValue
	}
	if _, list := v.([]any); named || !list && isEmpty(v) {
		return presenceValue
	}
	return aroundValue
}

// say claims a field for the patch.
func (m *objects) say(at node, kind valueKind, value any) {
	if !m.owners {
		return
	}
	n := &m.log.nodes[at]
	contested := n.contested
	if kind == otherValue {
		m.log.addPlain(at, m.layer, value)
	} else {
		m.log.add(at, m.layer, kind, "")
	}
	n.contested = contested // a change makes a contest, and not that two claims differ
}

// lose takes a field from all who claimed it, since the patch changes it.
func (m *objects) lose(at node) {
	if !m.owners {
		return
	}
	l := m.log
	n := &l.nodes[at]
	for i := n.first; i >= 0 && !n.contested; i = l.claims[i].next {
		n.contested = l.isManager(l.claims[i].layer()) && l.claims[i].layer() != m.layer
	}
	n.held = int32(len(l.claims))
}

// overturn takes a field from those who claimed something within it, and forgets what they claimed there.
func (m *objects) overturn(at node) {
	if !m.owners {
		return
	}
	var within []int32
	var gather func(node)
	gather = func(parent node) {
		for child := m.log.nodes[parent].child; child != noNode; child = m.log.nodes[child].next {
			for i := m.log.nodes[child].first; i >= 0; i = m.log.claims[i].next {
				within = append(within, m.log.claims[i].layer())
			}
			gather(child)
		}
	}
	gather(at)
	n := &m.log.nodes[at]
	for i := n.first; i >= 0; i = m.log.claims[i].next {
		said := m.log.claims[i].layer()
		within = slices.DeleteFunc(within, func(layer int32) bool { return layer == said })
	}
	slices.Sort(within)
	for _, layer := range slices.Compact(within) {
		m.log.add(at, layer, presenceValue, "")
	}
	n.child, n.tail, n.children = noNode, noNode, 0
	delete(m.log.wide, at)
}

// addPlain claims a field with a value that JSON has.
func (l *log) addPlain(at node, layer int32, v any) {
	switch v := v.(type) {
	case string:
		l.add(at, layer, textValue, v)
	case bool:
		l.add(at, layer, map[bool]valueKind{true: trueValue, false: falseValue}[v], "")
	default:
		l.values = append(l.values, anyValue{int32(len(l.claims)), v})
		l.add(at, layer, otherValue, "")
	}
}

// logOf is an empty log for patches.
func logOf[P any](root *schema.Type, patches []Layered[P], o Options) *log {
	l := newLog(root, len(patches), o)
	for i := range patches {
		l.ids[i] = l.layerID(patches[i].Layer)
		l.from(l.ids[i], patches[i].Source)
	}
	l.managers = int32(len(l.layers) - 1)
	return l
}
