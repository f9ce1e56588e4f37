package merge

import (
	"errors"
	"slices"

	"github.com/trainweld/trainweld/merge/tree"
)

// mergeValues merges patches into a base of a Go type, and returns the history of the result with
// its notes. The base is an Object or a pointer to a Go value.
func (p *plan) mergeValues(base any, patches []layered, o *options) (*History, []Note, error) {
	m := merger{plan: p, follows: o.keepsOrder, skips: o.skipsEmpty, skipsZero: o.skipsZero}
	before, err := m.base(base, o)
	if err != nil {
		return nil, nil, err
	}
	trees, order := make([]Object, len(patches)), mergeOrder(patches, o)
	m.log = logOf(p.root, patches, o)
	m.log.reordered = !slices.IsSorted(order)
	m.log.again = &again{p, base, patches, trees, m.log.ids, o}
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
			if i < len(o.trees) {
				trees[i] = o.trees[i]
			}
			if trees[i], m.ofValue, err = p.treeOf(patch, trees[i]); err == nil {
				value, err = m.patch(value, trees[i], m.log.top)
			}
		}
		if err == nil && isOfObjects(p.root) {
			err = was.keptBy(value)
		}
		if err != nil {
			return nil, nil, m.failed(err, patches[i].Owner, i)
		}
	}
	if value, err = m.decide(value, before, o); err != nil {
		return nil, nil, err
	}
	return &History{log: m.log, value: value}, append(m.notes, m.log.decisions...), nil
}

// patch merges a whole patch into a tree.
func (m *merger) patch(value, patch Object, at *node) (Object, error) {
	if isOfObjects(m.plan.root) && patch[patchDirective] == "delete" {
		return nil, errDeleted
	}
	return m.object(at, value, patch)
}

// failed returns the error of a patch, or of the base for -1. The path leads to where the merge
// failed.
func (m *merger) failed(err error, layer Owner, index int) error {
	if _, ok := err.(*PatchError); ok {
		return failed(layer, index, err)
	}
	return &PatchError{Owner: layer, Index: index, Path: slices.Clone(m.path), Err: err}
}

// base returns the tree of a base, which is an Object or a pointer to a Go value.
func (m *merger) base(base any, o *options) (Object, error) {
	var made any
	var err error
	object, isObject := base.(Object)
	switch {
	case isObject:
		m.of = o.base
		made, err = m.readObject(m.plan.root, object)
	case o.baseTree != nil:
		return o.baseTree, nil
	default:
		made, err = encoded(base)
	}
	if err != nil {
		return nil, m.failed(err, o.base, -1)
	}
	return made.(Object), nil // the encoding of a struct
}

// decodeResult decodes a merged tree into a pointer to a Go value, and shares no memory with it.
func (p *plan) decodeResult(value Object, into any, fills bool) error {
	err := decode(value, into)
	if fills && err == nil {
		p.defaults.Fill(into)
	}
	return err
}
