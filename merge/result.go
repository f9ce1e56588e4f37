package merge

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge/tree"
)

// Result is the result of Apply. It aliases neither the base nor the patches.
type Result[T any] struct {
	// Value is the merged value.
	Value T
	// History records the owners that set each field of Value; nil unless Options request it.
	History *History
	// Duplicates are the items that share their merge key with an earlier one. They are found in
	// lists of the base that patches reached, and only if Options request owners. A patch changes
	// the first item of a key only.
	Duplicates []fieldpath.Path
	// Ignored are the fields of objects that their Go type lacks. They have no effect, as in a
	// strategic merge patch. A field that a definition lacks is an error instead, as in a
	// server-side apply: see ForObject.
	Ignored []Ignored
	// ZeroNulls are the fields that a Go value removes though it does not set them: see SkipZero.
	// Its type encodes them as null, because they have no omitempty.
	ZeroNulls []Ignored
	// Decisions holds the decisions of the policies, in no particular order of the policies. Order
	// decides nothing.
	Decisions []Decision
	// Protected are the protected fields that patches set, or emptied with a field around them.
	Protected []Ignored
}

// Apply merges patches into a base in the given order. It changes neither; a nil base is an empty
// value.
//
// The error is a [*PatchError], which names the layer and the field at which a patch cannot be
// merged. There is then no result. If several patches cannot be merged, the error names the first.
func (p *Plan[T, P]) Apply(base *T, patches []Patch[P], o Options) (*Result[T], error) {
	result := new(Result[T])
	m, err := p.apply(&result.Value, base, patches, o)
	if err != nil {
		return nil, err
	}
	result.Ignored, result.Duplicates, result.Protected, result.ZeroNulls = m.ignored, m.duplicates, m.protected, m.zeroNulls
	if m.log != nil {
		result.Decisions = m.log.decisions
	}
	if o.Owners {
		result.History = m.ownership
	}
	return result, nil
}

// ApplyInto merges as Apply does and stores the value in dst, which must be zero. It returns the
// ownership of dst, nil unless Options request it. After an error dst holds part of the merge.
func (p *Plan[T, P]) ApplyInto(dst, base *T, patches []Patch[P], o Options) (*History, error) {
	if dst == nil {
		return nil, errors.New("merge: there is nothing to merge into")
	}
	m, err := p.apply(dst, base, patches, o)
	if !o.Owners {
		return nil, err
	}
	return m.ownership, err
}

func (p *Plan[T, P]) apply(dst, base *T, patches []Patch[P], o Options) (merger, error) {
	if p == nil || p.plan == nil {
		return merger{}, errors.New("merge: a plan that was not compiled merges nothing")
	}
	if err := o.check(p.plan); err != nil {
		return merger{}, err
	}
	for i := range patches {
		if _, isManager := patches[i].Owner.Manager(); !isManager {
			return merger{}, fmt.Errorf("merge: the layer %q of patch %d is no manager: use merge.Manager", patches[i].Owner, i)
		}
	}
	m := merger{plan: p.plan, follows: o.Order == BaseOrder, skips: o.Empty == SkipEmpty, skipsZero: o.Empty == SkipZero}
	if p.plan.objects {
		var err error
		m.log, m.ownership, m.protected, err = p.plan.applyObjects(any(dst).(*Object), any(base).(*Object), any(patches).([]Patch[Object]), o)
		return m, err
	}
	before, err := m.base(reflect.ValueOf(base), baseLayerOf(o))
	if err != nil {
		return merger{}, err
	}
	trees, order := make([]Object, len(patches)), mergeOrder(patches, o)
	at, was := noNode, identityOf(before)
	if o.Owners || o.decides() {
		m.log, at = logOf(p.plan.root, patches, o), rootNode
		m.log.reordered = !slices.IsSorted(order)
		m.log.patches = trees
		defer func() { m.log.patches, m.log.parts = nil, nil }()
	}
	value := before
	if o.restores() {
		before = tree.Copy(before)
	}
	for _, i := range order {
		if m.log != nil {
			m.layer = m.log.ids[i]
		}
		switch layered := &patches[i]; {
		case layered.JSON != nil:
			err = errors.New("a JSON patch changes objects only: use ForObject or ForJSON")
		case layered.Value == nil:
			continue
		default:
			m.of, m.path = layered.Owner, m.path[:0]
			if trees[i], m.ofValue, err = p.plan.treeOf(reflect.ValueOf(layered.Value).Elem()); err == nil {
				value, err = m.patch(value, trees[i], at)
			}
		}
		if err == nil && isOfObjects(p.plan.root) {
			if path := was.taken(identityOf(value)); path != nil {
				err = &PatchError{Path: path, Err: errTaken}
			}
		}
		if err != nil {
			return merger{}, m.failed(err, patches[i].Owner, i)
		}
	}
	if m.log != nil {
		m.log.zeroNulls = m.zeroNulls
		m.log.contestRepeats()
		m.log.contestLiterals()
		if m.log.emptied {
			m.log.findAlike()
		}
		if value, err = m.decide(value, before, o); err != nil {
			return merger{}, err
		}
		m.ownership = &History{log: m.log, value: value}
	}
	return m, m.result(reflect.ValueOf(dst).Elem(), value, o.Defaults == RuleDefaults)
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

// base returns the tree of a base, which is a pointer, nil for an empty value.
func (m *merger) base(base reflect.Value, layer Owner) (Object, error) {
	value := reflect.New(m.plan.root.GoType())
	switch {
	case base.IsNil():
	case m.plan.of != nil:
		m.of = layer
		made, err := m.readObject(m.plan.root, *base.Interface().(*Object))
		if err != nil {
			return nil, m.failed(err, layer, -1)
		}
		return made, nil
	case base.Elem().Kind() == reflect.Interface:
		from, err := m.plan.structOf(base.Elem())
		if err != nil {
			return nil, fmt.Errorf("merge: the base %w", err)
		}
		value = from.Addr()
	default:
		value = base
	}
	made, err := encoded(value.Interface())
	if err != nil {
		return nil, m.failed(err, layer, -1)
	}
	return made.(Object), nil // the encoding of a struct
}

// result sets dst to the merged value, which may be a Go value, a pointer to one for a plan of
// ForAny, or an object. It shares no memory with the tree.
func (m *merger) result(dst reflect.Value, value Object, fills bool) error {
	into := reflect.New(m.plan.root.GoType())
	switch {
	case m.plan.of != nil && !fills:
		dst.Set(reflect.ValueOf(tree.Copy(value)))
		return nil
	case dst.Kind() == reflect.Interface:
		dst.Set(into)
	case m.plan.of == nil:
		into = dst.Addr()
	}
	if !tree.Decode(value, into.Interface()) {
		if err := decode(into.Elem(), value); err != nil {
			return err
		}
	}
	switch {
	case m.plan.of != nil:
		m.plan.defaults.Fill(into.Interface())
		object, err := tree.Value(into.Interface())
		dst.Set(reflect.ValueOf(object))
		return err
	case fills: // the owners are those of the value without defaults
		m.plan.defaults.Fill(into.Interface())
	case m.ownership != nil:
		m.ownership.value = into.Interface()
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
			if c := &l.claims[i]; l.isManager(c.layer()) && c.layer() != layer && c.kind() != nullValue {
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
		if i < 0 || !slices.ContainsFunc(patches, func(p setPatch) bool { return p.layer != patches[i].layer }) || l.hasOthers(at, patches[i].layer) {
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
