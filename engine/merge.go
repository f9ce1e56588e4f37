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

// merger lays one patch after the other over a value that it may change. It walks both along the schema of their type.
// The laws that each kind keeps stand at its function.
type merger struct {
	plan   *plan
	log    *log
	owners bool // whether claims are wanted
	layer  int32
	left   int // how many patches are left after this one
	// fresh is set within a value that the base lacks: nothing in it, not even a field that is encoded empty, is the
	// base's. Upstream takes such a value as the patch has it, without its directives.
	fresh bool
	// verbatim is set within a fresh item of a list that the base has, and within what replaces a value: upstream takes
	// these as they are, and obeys no directive in them.
	verbatim bool
	// raw are the lists and maps of which this patch left something that only JSON can tell apart: a
	// list with an item that has no key at all, a map emptied by a directive. A patch that names one
	// item twice comes upon them again; for the next patch they have gone through the Go types.
	raw []uintptr

	// unseen is set once the log may hold claims on what is not in the list or map at hand: where a directive
	// or a null has taken something away, and where a patch brought two items of one key, which are one in
	// the log.
	unseen bool
	// claimed counts the claims, wanted or not, and said those that cannot be read off a copy of the patch's value: nulls,
	// and structs without fields.
	claimed, said int

	of         Layer          // whose value is read
	reading    node           // the field whose value is read from JSON
	steps      fieldpath.Path // within it, to what is being read
	ignored    []Ignored
	duplicates []fieldpath.Path
	noted      map[node]bool // the lists whose duplicates are known
	ownership  *Ownership    // of the result

	fronts  fronts
	targets []int32 // of the lists that are being merged, one inside the other
	pairs   []pair
}

func (m *merger) isRaw(v reflect.Value) bool { return slices.Contains(m.raw, v.Pointer()) }

// patch lays a whole patch over the value.
func (m *merger) patch(dst, src reflect.Value) error {
	at := noNode
	if m.owners {
		at = rootNode
	}
	return m.structure(m.plan.root, nil, dst, src, at)
}

// structure merges what the patch src says into the struct dst, field by field, but for the merge
// key of a list item.
func (m *merger) structure(t *schema.Type, key *schema.StructField, dst, src reflect.Value, at node) error {
	if src.Kind() == reflect.Map {
		return m.document(t, key, dst, src, at)
	}
	for f, from := range t.Encoded(src) {
		if f == key {
			continue
		}
		if err := m.encoded(f, dst, from, at); err != nil {
			return within(fieldpath.Field(f.Name), err)
		}
	}
	return nil
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

// pointee is the value that an encoded field of a patch holds, invalid for null.
func pointee(from reflect.Value) reflect.Value {
	for {
		switch from.Kind() {
		case reflect.Pointer, reflect.Interface:
			if from.IsNil() {
				return reflect.Value{}
			}
			from = from.Elem()
		case reflect.Slice, reflect.Map:
			if from.IsNil() {
				return reflect.Value{}
			}
			return from
		default:
			return from
		}
	}
}

// saysNull reports whether the JSON of a value of a type that writes its own is null, as that of an empty time.
func saysNull(from reflect.Value) bool {
	return from.Kind() == reflect.Struct && from.IsZero() && jsonKind(from) == reflect.Invalid
}

// value merges one value of a patch, which is not null, into a field of the base. present says whether the
// base's own encoding has the field.
func (m *merger) value(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	if dst.Kind() == reflect.Pointer && t.Kind > schema.Struct && t.Kind < schema.Atomic {
		if dst.IsNil() {
			dst.Set(reflect.New(dst.Type().Elem()))
			present = false
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

// object merges a struct: each field by itself.
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

// hasDirective reports whether an object or a map of a patch holds $patch. A null says nothing where the base has nothing.
func hasDirective(src reflect.Value) bool {
	directive := src.MapIndex(patchKey)
	return directive.IsValid() && pointee(directive).IsValid()
}

// replace sets a scalar or an atomic list to a copy of the patch's value.
func (m *merger) replace(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	m.keepOld(at, t, dst, present)
	absent := !present || m.fresh || dst.Kind() == reflect.Slice && dst.IsNil()
	to := dst
	if dst.Kind() == reflect.Pointer {
		// Claims hold on to the pointer, so what it points to stays.
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

// null empties a field: the patch says null. In a Go patch that is a pointer or list without omitempty that is nil.
func (m *merger) null(t *schema.Type, dst reflect.Value, present bool, at node) {
	m.keepOld(at, t, dst, present)
	dst.SetZero()
	m.claimNull(at)
}

// mapping merges two maps key by key.
func (m *merger) mapping(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	if src.Kind() != reflect.Map {
		return wrongType(src, "an object")
	}
	claimed := m.claimed
	defer func() {
		if m.claimed == claimed {
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

// empty claims that a map or list with nothing in it is there, where its encoding tells it from null.
func (m *merger) empty(at node) {
	m.said++
	if m.owners && m.log.saysEmpty(at) {
		m.log.add(at, m.layer, presenceValue, "")
	}
}

// pair is a key of a map with its value.
type pair struct{ key, value string }

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

// stringMap merges m.pairs into what nearly all maps are: labels, annotations, selectors.
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
			entry = m.log.grow(at, nil, p.key) // what is not in the map was never claimed
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

// entry sets one key of a map, or takes it away where the patch says null.
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
	copied := reflect.New(dst.Type().Elem()).Elem()
	switch {
	case !from.IsValid():
	case value.Type() == copied.Type() && value.Kind() != reflect.Interface:
		m.plan.clone(copied, value)
		if !m.verbatim {
			m.plan.stripDirectives(copied)
		}
	default:
		value, keep := from.Interface(), true
		if !m.verbatim {
			value, keep = withoutDirectives(value)
		}
		if !keep {
			dst.SetMapIndex(key, reflect.Value{})
			m.claimNull(entry)
			return nil
		}
		if copied.Kind() == reflect.Interface {
			copied.Set(reflect.ValueOf(value))
		} else if err := m.read(t.Elem, copied, value); err != nil {
			return within(fieldpath.Key(key.String()), err)
		}
	}
	dst.SetMapIndex(key, copied)
	m.claim(entry, copied)
	return nil
}

// clashes reports whether upstream would have to merge two objects or two lists under one key of a map, which it refuses: it knows the
// rules of the fields of structs only (apimachinery v0.36.3 third_party/forked/golang/json).
func clashes(t *schema.Type, old, from reflect.Value) bool {
	if t.Elem == nil || t.Elem.Kind == schema.Scalar && !t.Elem.Raw && t.Elem.GoType() != nil {
		return false
	}
	k := jsonKind(from)
	return (k == reflect.Map || k == reflect.Slice) && jsonKind(old) == k
}

// wrongType says that a patch's value is of another type than the field.
func wrongType(src reflect.Value, want string) error {
	return fmt.Errorf("must be %s, and is %s", want, jsonType(src.Type()))
}
