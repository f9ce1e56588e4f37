package merge

import (
	"maps"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file is the log's side of a merge of objects. It records the patches' claims, and the fields that patches take from each
// other. A field is claimed where a set of fields of structured-merge-diff names it. A patch that changes a field's value takes
// the field from all earlier claimants. Each node keeps the first claim that still counts.

// child returns the node of a field, of an entry or of an item.
func (m *objects) child(at node, f *schema.StructField, key string) node {
	if !m.owners {
		return noNode
	}
	return m.log.child(at, f, key)
}

// recordBase records the base's claim on a field that a patch reaches first. The flag had states that the base has the field.
func (m *objects) recordBase(at node, t *schema.Type, old any, had, named bool) {
	if !m.owners || !had || m.log.nodes[at].first >= 0 {
		return
	}
	if kind := claimedAs(t, old, named); kind != unlistedPresence {
		m.log.addAs(at, baseLayer, kind, old)
		m.unowned(at)
	}
}

// unowned takes a field of a live object from the base: nobody owns it.
func (m *objects) unowned(at node) {
	if m.live != nil {
		m.log.nodes[at].firstActive = int32(len(m.log.claims))
	}
}

// recordBasePresence records that the base has an item.
func (m *objects) recordBasePresence(at node) {
	if m.owners && m.log.nodes[at].first < 0 {
		m.log.add(at, baseLayer, presenceValue, "")
		m.unowned(at)
	}
}

// claimedAs returns how a set of fields names a field with a value: by value, as null, or by presence. It returns unlistedPresence
// if no set names the field.
func claimedAs(t *schema.Type, v any, named bool) valueKind {
	if v == nil {
		return ineffectiveNull
	}
	of, err := as(t, v)
	if err != nil {
		return unlistedPresence
	}
	if of.Kind == schema.Scalar || of.Kind == schema.Atomic {
		return otherValue
	}
	if _, list := v.([]any); named || !list && isEmpty(v) {
		return presenceValue
	}
	return unlistedPresence
}

// claimValue records the patch's claim on a field.
func (m *objects) claimValue(at node, kind valueKind, value any) {
	if !m.owners {
		return
	}
	if m.live != nil {
		m.live.named[m.layer] = append(m.live.named[m.layer], at)
	}
	n := &m.log.nodes[at]
	contested := n.contested
	m.log.addAs(at, m.layer, kind, value)
	n.contested = contested // only a change makes a contest, not two claims that differ
}

// revokeEarlier takes a field from all earlier claimants, because the patch changes the field.
func (m *objects) revokeEarlier(at node) {
	if !m.owners {
		return
	}
	l := m.log
	n := &l.nodes[at]
	for i := n.first; i >= 0 && !n.contested; i = l.claims[i].next {
		n.contested = l.isManager(l.claims[i].layer()) && l.claims[i].layer() != m.layer
	}
	n.firstActive = int32(len(l.claims))
}

// revokeWithin takes a field from the layers that claimed something within it, and removes their claims there.
func (m *objects) revokeWithin(at node) {
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
			m.log.nodes[child].firstActive = int32(len(m.log.claims))
			gather(child)
		}
	}
	gather(at)
	n := &m.log.nodes[at]
	for i := n.first; i >= 0; i = m.log.claims[i].next {
		claimant := m.log.claims[i].layer()
		within = slices.DeleteFunc(within, func(layer int32) bool { return layer == claimant })
	}
	slices.Sort(within)
	for _, layer := range slices.Compact(within) {
		m.log.add(at, layer, presenceValue, "")
	}
	n.child, n.tail, n.children = noNode, noNode, 0
	delete(m.log.wide, at)
}

// addJSON records a claim on a field with a JSON value.
func (l *log) addJSON(at node, layer int32, v any) {
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

// logOf returns an empty log for patches.
func logOf[P any](root *schema.Type, patches []Layered[P], o Options, owners ...Layer) *log {
	l := newLog(root, len(patches), o)
	l.baseWins = o.Precedence == BaseAlways
	for _, owner := range owners {
		l.owners = append(l.owners, l.layerID(owner))
	}
	for i := range patches {
		layer := patches[i].Layer
		if name, ok := layer.Manager(); ok && o.Managed && patches[i].JSON != nil {
			layer = updated(name)
		}
		l.ids[i] = l.layerID(layer)
		l.from(l.ids[i], patches[i].Source)
	}
	for _, owner := range l.owners {
		l.from(owner, l.places[baseLayer])
	}
	l.managers = int32(len(l.layers) - 1)
	l.only = make([]int32, len(l.layers))
	for i, layer := range l.ids {
		if l.only[layer] == 0 {
			l.only[layer] = int32(i) + 1
		} else {
			l.only[layer] = -1
		}
	}
	return l
}

// object records that a later layer wrote the value at a path of an object.
func (w writer) object(path fieldpath.Path, before, now any) {
	at, of := rootNode, w.root
	var named bool
	for i, step := range path {
		t := granular(of)
		name, ok := step.Name()
		switch key, item := keyOfStep(t, step); {
		case ok && (t.Kind == schema.Struct || t.Kind == schema.Map):
			f, member, err := fieldOf(t, name)
			if err != nil {
				return
			}
			at, of, named = w.child(at, f, name), member, f == nil
		case item && t.Kind == schema.ListMap:
			at, of, named = w.child(at, nil, key), t.Elem, true
		case item && t.Kind == schema.Set && i == len(path)-1:
			at, of, named = w.child(at, nil, key), presenceType, true
			before, now = present(before), present(now)
		default:
			return
		}
	}
	w.field = at
	w.json(of, at, before, now, named)
}

// present returns a value of presenceType for an element of a set, and nil for none.
func present(element any) any {
	if element == nil {
		return nil
	}
	return []any{}
}

// json records a write of one field of an object. before and now are nil for a missing value.
func (w writer) json(t *schema.Type, at node, before, now any, named bool) {
	was, is := unlistedPresence, unlistedPresence
	if before != nil {
		was = claimedAs(t, before, named)
	}
	if now != nil {
		is = claimedAs(t, now, named)
	}
	stays := was == is && (was != otherValue || sameObject(before, now))
	if was != unlistedPresence && w.nodes[at].first < 0 {
		w.addAs(at, baseLayer, was, before)
	}
	if !stays {
		w.nodes[at].firstActive = int32(len(w.claims))
	}
	if is == unlistedPresence && was != unlistedPresence {
		is = ineffectiveNull
	}
	if is != unlistedPresence && !(stays && w.changes) {
		last := w.nodes[at].last
		w.addAs(at, w.layer, is, now)
		w.note(at, last)
	}
	parts := map[string]part{}
	partsOf(parts, t, before, false)
	partsOf(parts, t, now, true)
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		p := parts[key]
		w.json(p.typ, w.child(at, p.field, key), p.before, p.now, p.field == nil)
	}
}

// part is a member of an object or a list, before a write and now.
type part struct {
	field       *schema.StructField
	typ         *schema.Type
	before, now any
	had, has    bool
}

func partsOf(parts map[string]part, t *schema.Type, v any, now bool) {
	t = filledOf(t, v)
	add := func(key string, f *schema.StructField, of *schema.Type, value any) {
		p := parts[key]
		p.field, p.typ = f, of
		if now {
			p.now, p.has = value, true
		} else {
			p.before, p.had = value, true
		}
		parts[key] = p
	}
	if t == nil {
		return
	}
	if fields, ok := v.(map[string]any); ok {
		for name, value := range fields {
			if f, of, err := fieldOf(t, name); err == nil {
				add(name, f, of, value)
			}
		}
		return
	}
	for _, item := range v.([]any) {
		key, err := itemKeyOf(t, item)
		switch {
		case err != nil: // the definition forbids the item
		case t.Kind == schema.Set:
			add(key, nil, presenceType, []any{})
		default:
			add(key, nil, t.Elem, item)
		}
	}
}

// addAs records a claim on a field with a value of a kind.
func (l *log) addAs(at node, layer int32, kind valueKind, value any) {
	if kind == otherValue {
		l.addJSON(at, layer, value)
	} else {
		l.add(at, layer, kind, "")
	}
}

// keyOfStep returns the log's key for the item or element of a step.
func keyOfStep(t *schema.Type, step fieldpath.Step) (string, bool) {
	if keys := step.Keys(); keys != nil {
		if text, ok := keys[0].Value.(string); ok && len(t.Keys) == 1 && len(keys) == 1 && !strings.HasPrefix(text, typedMark) {
			return text, true
		}
		byName := map[string]any{}
		for _, key := range keys {
			byName[key.Name] = key.Value
		}
		return typedKey(byName), true
	}
	value, ok := step.ElementValue()
	key, err := keyOfScalar(value)
	return key, ok && err == nil
}
