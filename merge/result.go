package merge

import (
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/merge/tree"
)

// mergeValues merges patches into a base of a Go type, and returns the history of the result with
// its notes. The base is an Object or a pointer to a Go value.
func (p *plan) mergeValues(base any, patches []layered, o *options) (*History, []Note, error) {
	m := merger{plan: p, follows: o.keepsOrder, skips: o.skipsEmpty, skipsZero: o.skipsZero}
	before, err := m.base(base, o.base)
	if err != nil {
		return nil, nil, err
	}
	trees, order := make([]Object, len(patches)), mergeOrder(patches, o)
	m.log = logOf(p.root, patches, o)
	m.log.reordered = !slices.IsSorted(order)
	m.log.patches = trees
	m.log.again = &again{p, base, patches, trees, m.log.ids, o}
	defer func() { m.log.patches, m.log.parts = nil, nil }()
	value, was := before, identityOf(before)
	if o.restores() {
		before = tree.Copy(before)
	}
	for _, i := range order {
		m.layer = m.log.ids[i]
		switch patch := patches[i].Value.(type) {
		case nil:
			continue
		case JSONPatch:
			err = errors.New(
				"a JSON patch changes objects only: use Apply, or StrategicObject without a type")
		default:
			m.of, m.path = patches[i].Owner, m.path[:0]
			if trees[i], m.ofValue, err = p.treeOf(patch); err == nil {
				value, err = m.patch(value, trees[i], rootNode)
			}
		}
		if err == nil && isOfObjects(p.root) {
			if path := was.taken(identityOf(value)); path != nil {
				err = &PatchError{Path: path, Err: errTaken}
			}
		}
		if err != nil {
			return nil, nil, m.failed(err, patches[i].Owner, i)
		}
	}
	m.log.contestRepeats()
	m.log.contestLiterals()
	if value, err = m.decide(value, before, o); err != nil {
		return nil, nil, err
	}
	return &History{log: m.log, value: value}, append(m.notes, m.log.decisions...), nil
}

// patch merges a whole patch into a tree.
func (m *merger) patch(value, patch Object, at node) (Object, error) {
	if isOfObjects(m.plan.root) && patch[patchDirective] == "delete" {
		return nil, errDeleted
	}
	return m.object(m.plan.root, nil, value, patch, at)
}

// failed returns the error of a patch, or of the base for -1. The path leads to where the merge
// failed.
func (m *merger) failed(err error, layer Owner, index int) error {
	if of, ok := err.(*PatchError); ok {
		of.Owner, of.Index = layer, index
		return of
	}
	return &PatchError{Owner: layer, Index: index, Path: slices.Clone(m.path), Err: err}
}

// base returns the tree of a base, which is an Object or a pointer to a Go value.
func (m *merger) base(base any, layer Owner) (Object, error) {
	var made any
	var err error
	if object, ok := base.(Object); ok {
		m.of = layer
		made, err = m.readObject(m.plan.root, object)
	} else {
		made, err = encoded(base)
	}
	if err != nil {
		return nil, m.failed(err, layer, -1)
	}
	return made.(Object), nil // the encoding of a struct
}

// decodeResult decodes a merged tree into a pointer to a Go value, and shares no memory with it.
func (p *plan) decodeResult(value Object, into any, fills bool) error {
	if !tree.Decode(value, into) {
		if err := decode(reflect.ValueOf(into).Elem(), value); err != nil {
			return err
		}
	}
	if fills {
		p.defaults.Fill(into)
	}
	return nil
}

// contestLiterals claims the directives that are keys, unless another layer's patch makes the map.
func (l *log) contestLiterals() {
	for _, at := range slices.Sorted(maps.Keys(l.literals)) {
		for _, d := range l.literals[at] {
			maker := l.otherWithin(at, d.layer)
			if maker < 0 {
				continue
			}
			entry := l.child(at, nil, d.name)
			if d.isKey {
				l.add(entry, maker, nullValue, "")
				l.addJSON(entry, d.layer, d.value)
			} else {
				l.addJSON(entry, d.layer, d.value)
				l.add(entry, maker, nullValue, "")
			}
		}
	}
}

// otherWithin returns the first other layer that sets a field, or a field directly within it. It
// returns -1 for none.
func (l *log) otherWithin(at node, layer int32) int32 {
	sets := func(at node) int32 {
		for i := l.nodes[at].first; i >= 0; i = l.claims[i].next {
			if c := &l.claims[i]; l.isManager(c.layer()) && c.layer() != layer &&
				c.kind() != nullValue {
				return c.layer()
			}
		}
		return -1
	}
	first := sets(at)
	for child := l.nodes[at].child; child != noNode && first < 0; child = l.nodes[child].next {
		first = sets(child)
	}
	return first
}

// contestRepeats claims each set with duplicates that one layer alone fills, if another layer's
// empty set removes the duplicates.
func (l *log) contestRepeats() {
	for _, at := range slices.Sorted(maps.Keys(l.sets)) {
		patches := l.sets[at]
		i := slices.IndexFunc(patches, func(p setPatch) bool { return len(p.value) > 0 })
		if i < 0 || !slices.ContainsFunc(patches, func(p setPatch) bool {
			return p.layer != patches[i].layer
		}) || l.hasOthers(at, patches[i].layer) {
			continue
		}
		for _, p := range patches {
			l.addJSON(at, p.layer, p.value)
		}
	}
}

// hasOthers reports whether a layer other than the given one claims a field directly within a node.
func (l *log) hasOthers(at node, layer int32) bool {
	for child := l.nodes[at].child; child != noNode; child = l.nodes[child].next {
		for i := l.nodes[child].first; i >= 0; i = l.claims[i].next {
			if l.claims[i].layer() != layer {
				return true
			}
		}
	}
	return false
}
