package engine

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges Go values as upstream's strategic merge patch does (apimachinery v0.36.3 pkg/util/strategicpatch). Each kind
// has a function and a law:
//
//	struct    object     each field merges by itself; fields that the patch does not encode stay
//	map       mapping    each key merges by itself; a null removes its key
//	list-map  listMap    items of one merge key merge, new ones go in front, and the patch orders its own items
//	set       set        the union of both lists, each element once, in the order of a list-map
//	scalar    replace    the patch's value, even if it is equal; null empties the field
//	atomic    replace    like a scalar
//	raw       overlay    objects merge name by name, since upstream has no rules for their contents
//
// Each function copies its input, so the result shares no memory with a patch. Each claims every leaf of the patch and records
// the base's earlier value. If a step fails, the patch fails with the path to that step. The file mergelist.go merges
// lists, directive.go merges patches with directives, order.go orders items, and log.go records claims.

// merger merges one patch after the other into a value that it may change. It walks both along the schema of their type. The
// function of each kind states its law.
type merger struct {
	plan   *plan
	log    *log
	owners bool // whether to record claims
	layer  int32
	left   int // the number of patches after this one
	// fresh is set within a value that the base lacks. The base owns nothing in it, not even a field that is encoded empty.
	// Upstream takes such a value from the patch, without its directives.
	fresh bool
	// verbatim is set within a new item of a list that the base has, and within a replacing value. Upstream takes these
	// verbatim and obeys no directive in them.
	verbatim bool
	// raw holds the lists and maps in which this patch left something that only JSON can express. Examples are an item without
	// a key, and a map emptied by a directive. A patch that names one item twice reaches them again. The next patch sees the Go
	// types only.
	raw []uintptr

	// unseen is set once the log may hold claims on something that the current list or map lacks. A directive or a null has
	// removed it. Or a patch brought two items of one key, which share a node in the log.
	unseen bool
	// claimed counts the claims, recorded or not. The counter said counts only the claims that a copy of the patch's value
	// hides: nulls, items, and empty structs.
	claimed, said int

	of         Layer          // the layer whose value is read
	reading    node           // the field whose value is read from JSON
	steps      fieldpath.Path // the path within it to the current value
	ignored    []Ignored
	zeroNulls  []Ignored
	duplicates []fieldpath.Path
	noted      map[node]bool // the lists whose duplicates are recorded
	ownership  *Ownership    // of the result

	fronts  fronts
	targets []int32 // one run for each list that is being merged, outer lists first
	pairs   []pair
}

// pair is a key of a map with its value.
type pair struct{ key, value string }

func (m *merger) isRaw(v reflect.Value) bool { return slices.Contains(m.raw, v.Pointer()) }

// patch merges a whole patch into the value.
func (m *merger) patch(dst, src reflect.Value) error {
	at := noNode
	if m.owners {
		at = rootNode
	}
	return m.structure(m.plan.root, nil, dst, src, at)
}

// structure merges the fields that the patch src sets into the struct dst. It skips the merge key of a list item.
func (m *merger) structure(t *schema.Type, key *schema.StructField, dst, src reflect.Value, at node) error {
	if src.Kind() == reflect.Map {
		return m.document(t, key, dst, src, at)
	}
	for f, from := range t.Encoded(src) {
		if f == key {
			continue
		}
		if m.owners && (isNil(from) || f.Type.Kind == schema.Scalar && saysNull(from)) {
			m.noteZeroNull(f, dst, at)
		}
		if err := m.encoded(f, dst, from, at); err != nil {
			return within(fieldpath.Field(f.Name), err)
		}
	}
	return nil
}

// noteZeroNull records a null that is a Go value's zero value, if it removes something.
func (m *merger) noteZeroNull(f *schema.StructField, dst reflect.Value, at node) {
	if old, present := f.Template.Of(dst); present && !old.IsZero() {
		m.zeroNulls = append(m.zeroNulls, Ignored{Layer: m.of, Path: m.log.path(at).Append(fieldpath.Field(f.Name))})
	}
}

// encoded merges one encoded field of a patch's struct into the struct dst.
func (m *merger) encoded(f *schema.StructField, dst, from reflect.Value, at node) error {
	to, present := f.Template.In(dst)
	child := m.field(at, f)
	from = pointee(from)
	if !from.IsValid() || f.Type.Kind == schema.Scalar && saysNull(from) {
		m.null(f.Type, to, present, child)
		return nil
	}
	return m.value(f.Type, to, present, from, child)
}

// value merges one non-null value of a patch into a field of the base. The flag present states that the base's encoding has the
// field.
func (m *merger) value(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	if dst.Kind() == reflect.Pointer && t.Kind > schema.Struct && t.Kind < schema.Atomic {
		if dst.IsNil() {
			dst.Set(reflect.New(dst.Type().Elem()))
		}
		dst = dst.Elem()
	}
	if src.Kind() == reflect.Map && t.Kind != schema.Struct && t.Kind != schema.Map && !t.Raw && !m.verbatim &&
		(!present || m.fresh || jsonKind(dst) != reflect.Map) && hasDirective(src) {
		m.null(t, dst, present, at) // upstream drops the value with its directive
		return nil
	}
	switch t.Kind {
	case schema.Struct:
		return m.object(t, dst, present, src, at)
	case schema.Map:
		return m.mapping(t, dst, present, src, at)
	case schema.ListMap:
		return m.listMap(t, dst, present, src, at)
	case schema.Set:
		return m.set(t, dst, present, src, at)
	default:
		return m.replace(t, dst, present, src, at)
	}
}

// object merges a struct, each field by itself.
func (m *merger) object(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	if k := src.Kind(); k != reflect.Struct && k != reflect.Map {
		return wrongType(src, "an object")
	}
	fresh := m.fresh
	defer func() { m.fresh = fresh }()
	absent := !present || dst.Kind() == reflect.Pointer && dst.IsNil()
	if (absent || m.fresh) && !m.verbatim && src.Kind() == reflect.Map && hasDirective(src) {
		if patch, ok := src.Interface().(Object); ok && isPureDirective(patch) {
			m.retain(at, nil)
		} else {
			m.null(t, dst, false, at) // upstream drops the value with its directive
		}
		return nil
	}
	if absent {
		m.fresh = true
		m.make(at)
	}
	isPointer := dst.Kind() == reflect.Pointer
	if isPointer {
		if dst.IsNil() {
			dst.Set(reflect.New(dst.Type().Elem()))
		}
		dst = dst.Elem()
	}
	claimed := m.claimed
	err := m.structure(t, nil, dst, src, at)
	if m.claimed == claimed && !t.Plain && isPointer { // a struct by value is encoded in any case
		m.presence(at, present)
	}
	return err
}

// mapping merges two maps key by key.
func (m *merger) mapping(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	if src.Kind() != reflect.Map {
		return wrongType(src, "an object")
	}
	claimed, absent := m.claimed, dst.IsNil()
	defer func() {
		if m.claimed == claimed || absent && !dst.IsNil() && dst.Len() == 0 { // nulls alone leave an empty map
			m.empty(at)
		}
	}()
	if plain, ok := src.Interface().(map[string]string); ok {
		if directives := m.readPairs(plain); dst.Type() == src.Type() && (!directives || t.Plain) {
			m.stringMap((*map[string]string)(unsafe.Pointer(dst.UnsafeAddr())), at)
			return nil
		}
	}
	return m.directives(t, dst, present, src, at)
}

// readPairs reads a patch's map into m.pairs, sorted, and reports whether it holds directives.
func (m *merger) readPairs(src map[string]string) (directives bool) {
	m.pairs = m.pairs[:0]
	for key, value := range src {
		m.pairs = append(m.pairs, pair{key, value})
		directives = directives || strings.HasPrefix(key, "$")
	}
	if len(m.pairs) > 1 && m.owners {
		slices.SortFunc(m.pairs, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	}
	return directives
}

// stringMap merges m.pairs into a map of strings. Nearly all maps hold strings: labels, annotations, selectors.
func (m *merger) stringMap(dst *map[string]string, at node) {
	m.claimed += len(m.pairs)
	if n := len(m.pairs); len(*dst) == 0 {
		*dst = make(map[string]string, max(n, min(n*(1+m.left), mapRoom)))
	}
	for _, p := range m.pairs {
		if !m.owners {
			(*dst)[p.key] = p.value
			continue
		}
		old, had := (*dst)[p.key]
		entry := noNode
		if had || m.unseen {
			entry = m.log.child(at, nil, p.key)
		} else {
			entry = m.log.grow(at, nil, p.key) // no patch claimed a key that the map lacks
		}
		if had {
			m.keepOldText(entry, old)
		}
		if !had || old != p.value {
			(*dst)[p.key] = p.value
		}
		m.claimText(entry, p.value)
	}
}

// entry sets one key of a map, or removes the key for a null.
func (m *merger) entry(t *schema.Type, dst, key, value reflect.Value, at node) error {
	entry := m.keyed(at, key.String())
	old := dst.MapIndex(key)
	from := pointee(value)
	if !m.verbatim && (!from.IsValid() || saysNull(from)) {
		if old.IsValid() {
			m.keepOld(entry, scalarType, old, true)
			dst.SetMapIndex(key, reflect.Value{})
		}
		m.claimNull(entry)
		return nil
	}
	if old.IsValid() {
		if !m.verbatim && clashes(t, old, from) {
			return within(fieldpath.Key(key.String()), errors.New("an entry that the base has cannot be merged: only scalars replace each other there"))
		}
		m.keepOld(entry, scalarType, old, true)
	}
	copied, keep := reflect.New(dst.Type().Elem()).Elem(), true
	switch {
	case !from.IsValid():
	case value.Type() == copied.Type() && value.Kind() != reflect.Interface:
		m.plan.clone(copied, value)
		if !m.verbatim {
			keep = m.plan.stripDirectives(copied)
		}
	default:
		value := from.Interface()
		if !m.verbatim {
			value, keep = withoutDirectives(value)
		}
		if !keep {
			break
		}
		m.reading = entry
		if err := m.read(t.Elem, copied, value); err != nil {
			return within(fieldpath.Key(key.String()), err)
		}
	}
	if !keep {
		dst.SetMapIndex(key, reflect.Value{})
		m.claimNull(entry)
		return nil
	}
	dst.SetMapIndex(key, copied)
	m.claim(entry, copied)
	return nil
}

var errNoMergeKey = fmt.Errorf("a list of objects without a merge key cannot be merged")

// replace sets a scalar or an atomic list to a copy of the patch's value.
func (m *merger) replace(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	m.keepOld(at, t, dst, present)
	absent := !present || m.fresh || dst.Kind() == reflect.Slice && dst.IsNil()
	to := dst
	if dst.Kind() == reflect.Pointer {
		// Claims refer to the pointer, so its target stays.
		if !dst.IsNil() && isPlain(src.Kind()) && src.Type() == dst.Type().Elem() && src.Equal(dst.Elem()) {
			m.claim(at, dst)
			return nil
		}
		to = reflect.New(dst.Type().Elem()).Elem()
	}
	switch {
	case t.Raw && present && !m.fresh:
		if err := m.overlay(t, to, dst, src); err != nil {
			return err
		}
	case src.Type() == to.Type() && !(t.Raw && !m.verbatim):
		m.plan.clone(to, src)
		if t.Kind == schema.Atomic && absent && !m.verbatim {
			m.plan.stripDirectives(to)
		}
	default:
		from := src.Interface()
		m.reading = at
		if t.Raw {
			var err error
			if from, err = jsonOf(src); err != nil {
				return err
			}
		}
		if absent && !m.verbatim {
			from, _ = withoutDirectives(from)
		}
		if err := m.read(t, to, from); err != nil {
			return err
		}
	}
	if to != dst {
		dst.Set(to.Addr())
	}
	m.claim(at, dst)
	return nil
}

// overlay merges two values of a type that writes its own JSON. Two objects merge name by name, as upstream merges maps,
// because upstream has no rules for their contents.
func (m *merger) overlay(t *schema.Type, to, old, src reflect.Value) error {
	was, err := jsonOf(old)
	if err != nil {
		return err
	}
	is, err := jsonOf(src)
	if err != nil {
		return err
	}
	base, ok := was.(Object)
	patch, both := is.(Object)
	if !ok || !both {
		if jsonKind(reflect.ValueOf(was)) != jsonKind(reflect.ValueOf(is)) {
			is, _ = withoutDirectives(is)
		} else if isComposite(is) && old.Kind() != reflect.Pointer {
			return errors.New("a list that the base has cannot be merged: the type has no rules for it")
		}
		return m.read(t, to, is)
	}
	if t.Whole {
		return m.read(t, to, is)
	}
	merged := reflect.ValueOf(&base).Elem()
	owners := m.owners
	m.owners = false
	err = m.directives(&schema.Type{Kind: schema.Map, Elem: scalarType}, merged, true, reflect.ValueOf(patch), noNode)
	m.owners = owners
	if err != nil {
		return err
	}
	return m.read(t, to, base)
}

// null empties a field for a patch's null. In a Go patch, a nil pointer or list without omitempty encodes as null.
func (m *merger) null(t *schema.Type, dst reflect.Value, present bool, at node) {
	m.keepOld(at, t, dst, present)
	dst.SetZero()
	m.claimNull(at)
}

// empty claims the presence of an empty map or list, if its encoding distinguishes it from null.
func (m *merger) empty(at node) {
	if m.owners && m.log.saysEmpty(at) {
		m.log.add(at, m.layer, presenceValue, "")
	}
}
