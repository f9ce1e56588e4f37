package merge

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
)

// Result is the result of Apply. It aliases neither the base nor the patches.
type Result[T any] struct {
	// Value is the merged value.
	Value T
	// Owners records the layers that set each field of Value; nil unless Options request it.
	Owners *Ownership
	// Duplicates are the items that share their merge key with an earlier one. They are found in lists of the base that patches
	// reached, and only if Options request owners. A patch changes the first item of a key only.
	Duplicates []fieldpath.Path
	// Ignored are the fields of objects that their Go type lacks. They have no effect, as in a strategic merge patch. A field
	// that a definition lacks is an error instead, as in a server-side apply: see ForObject.
	Ignored []Ignored
	// Decisions holds the decisions of the policies, in no particular order of the policies. Order decides nothing.
	Decisions []Decision
	// Protected are the protected fields that patches set, or emptied with a field around them.
	Protected []Ignored
}

// Apply merges patches into a base in the given order. It changes neither; a nil base is an empty value.
//
// The error is a [*PatchError], which names the layer and the field at which a patch cannot be merged. There is then no result.
// If several patches cannot be merged, the error names the first.
func (p *Plan[T, P]) Apply(base *T, patches []Layered[P], o Options) (*Result[T], error) {
	result := new(Result[T])
	m, err := p.apply(&result.Value, base, patches, o)
	if err != nil {
		return nil, err
	}
	result.Ignored, result.Duplicates, result.Protected = m.ignored, m.duplicates, m.protected
	if m.log != nil {
		result.Decisions = m.log.decisions
	}
	if o.Owners {
		result.Owners = m.ownership
	}
	return result, nil
}

// ApplyInto merges as Apply does and stores the value in dst, which must be zero. It returns the ownership of dst, nil unless
// Options request it. After an error dst holds part of the merge.
func (p *Plan[T, P]) ApplyInto(dst, base *T, patches []Layered[P], o Options) (*Ownership, error) {
	if dst == nil {
		return nil, errors.New("merge: there is nothing to merge into")
	}
	m, err := p.apply(dst, base, patches, o)
	if !o.Owners {
		return nil, err
	}
	return m.ownership, err
}

func (p *Plan[T, P]) apply(dst, base *T, patches []Layered[P], o Options) (merger, error) {
	if p == nil || p.plan == nil {
		return merger{}, errors.New("merge: a plan that was not compiled merges nothing")
	}
	if err := o.check(p.plan); err != nil {
		return merger{}, err
	}
	for i := range patches {
		if _, isManager := patches[i].Layer.Manager(); !isManager {
			return merger{}, fmt.Errorf("merge: the layer %q of patch %d is no manager: use merge.Manager", patches[i].Layer, i)
		}
	}
	m := merger{plan: p.plan, follows: o.Order == BaseOrder, skips: o.Empty == SkipEmpty}
	if p.plan.objects {
		var err error
		m.log, m.ownership, m.protected, err = p.plan.applyObjects(any(dst).(*Object), any(base).(*Object), any(patches).([]Layered[Object]), o)
		return m, err
	}
	trees, order := make([]Object, len(patches)), mergeOrder(patches, o)
	if o.Owners || o.decides() {
		m.owners, m.log = true, logOf(p.plan.root, patches, o)
		m.log.reordered = !slices.IsSorted(order)
		m.log.patches = trees
		defer func() { m.log.patches, m.log.parts = nil, nil }()
	}
	value := reflect.ValueOf(dst).Elem()
	isAny := value.Kind() == reflect.Interface // made by ForAny
	switch {
	case isAny:
		made := reflect.New(p.plan.root.GoType())
		value.Set(made)
		value = made.Elem()
		if base != nil {
			from, err := p.plan.structOf(reflect.ValueOf(base).Elem())
			if err != nil {
				return merger{}, fmt.Errorf("merge: the base %w", err)
			}
			if err := p.plan.clone(value, from); err != nil {
				return merger{}, baseError(o, err)
			}
		}
	case p.plan.of != nil:
		value = reflect.New(p.plan.of).Elem()
		m.of = baseLayerOf(o)
		if base != nil {
			if err := m.read(p.plan.root, value, *base); err != nil {
				return merger{}, baseError(o, err)
			}
		}
	case base == nil:
	default:
		if c, ok := any(base).(interface{ DeepCopyInto(*T) }); ok {
			c.DeepCopyInto(dst)
		} else if err := p.plan.clone(value, reflect.ValueOf(base).Elem()); err != nil {
			return merger{}, baseError(o, err)
		}
	}
	before := reflect.New(value.Type()).Elem()
	if o.restores() {
		if err := p.plan.clone(before, value); err != nil {
			return merger{}, baseError(o, err)
		}
	}
	var was identity
	isObject := isOfObjects(p.plan.root)
	if isObject {
		was = identityIn(p.plan.root, value)
	}
	for place, i := range order {
		if patches[i].JSON != nil {
			return merger{}, &PatchError{Layer: patches[i].Layer, Index: i, Err: errors.New("a JSON patch changes objects only: use ForObject or ForJSON")}
		}
		if patches[i].Patch == nil {
			continue
		}
		m.remaining, m.jsonOnly, m.of = len(patches)-place-1, m.jsonOnly[:0], patches[i].Layer
		if m.owners {
			m.layer = m.log.ids[i]
		}
		tree, ofValue, err := p.plan.treeOf(reflect.ValueOf(patches[i].Patch).Elem())
		if err == nil && isObject && tree[patchDirective] == "delete" {
			err = errDeleted
		}
		if err == nil {
			m.ofValue, trees[i] = ofValue, tree
			err = m.patch(value, tree)
		}
		if err != nil {
			failed := asPatchError(err)
			failed.Layer, failed.Index = patches[i].Layer, i
			return merger{}, failed
		}
		if isObject {
			if err := checkIdentity(patches[i].Layer, i, was, identityIn(p.plan.root, value)); err != nil {
				return merger{}, err
			}
		}
	}
	if m.owners {
		m.log.contestRepeats()
		m.log.contestLiterals()
		if m.log.emptied {
			m.log.findAlike()
		}
		if err := m.decide(value, before, o); err != nil {
			return merger{}, err
		}
		m.ownership = &Ownership{log: m.log, value: value}
	}
	if o.Defaults == RuleDefaults {
		if o.Owners { // the owners are those of the value without defaults
			m.ownership.value = reflect.New(value.Type()).Elem()
			_ = p.plan.clone(m.ownership.value, value) // a result does not contain itself
		}
		p.plan.defaults.Fill(value.Addr().Interface())
	}
	if p.plan.of != nil {
		object, err := jsonOf(value)
		if err != nil {
			return merger{}, err
		}
		reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(object))
	}
	return m, nil
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

// otherWithin returns the first other layer that sets a field, or a field directly within it. It returns -1 for none.
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

// contestRepeats claims each set with duplicates that one layer alone fills, if another layer's empty set removes the duplicates.
func (l *log) contestRepeats() {
	for _, at := range slices.Sorted(maps.Keys(l.sets)) {
		patches := l.sets[at]
		i := slices.IndexFunc(patches, func(p setPatch) bool { return len(p.value) > 0 })
		if i < 0 || !slices.ContainsFunc(patches, func(p setPatch) bool { return p.layer != patches[i].layer }) || l.hasOthers(at, patches[i].layer) {
			continue
		}
		for _, p := range patches {
			l.addValue(at, p.layer, reflect.ValueOf(p.value))
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
