package merge

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file merges the JSON of a patch into a Go value, as upstream's strategic merge patch does. The source is
// apimachinery v0.36.3 pkg/util/strategicpatch. Each kind has a function and a law:
//
//	struct    object     each field merges by itself; fields that the patch does not encode stay
//	map       mapping    each key merges by itself; a null removes its key
//	list-map  listMap    items of one merge key merge, new ones go in front, and the patch orders its own items
//	set       set        the union of both lists, each element once, in the order of a list-map
//	scalar    replace    the patch's value, even if it is equal; null empties the field
//	atomic    replace    like a scalar
//	raw       overlay    objects merge name by name, since upstream has no rules for their contents
//
// Each function decodes its input, so the result shares no memory with a patch. Each claims every leaf of the patch and records
// the base's earlier value. If a step fails, the patch fails with the path to that step. The file directive.go merges structs
// and obeys directives, mergelist.go merges lists, order.go orders items, and log.go records claims.

// merger merges one patch after the other into a value that it may change. It walks both along the schema of the value's type.
// The function of each kind states its law.
type merger struct {
	plan      *plan
	log       *log
	owners    bool // whether to record claims
	layer     int32
	remaining int // the number of patches after this one
	// follows is set if new items follow the items of the base, which keep their places.
	follows bool
	skips   bool // whether an empty string sets no field that is always encoded
	// ofValue is set for a patch that is a Go value: its type may encode a null that nobody wrote.
	ofValue bool
	// inNew is set within a value that the base lacks. The base owns nothing in it, not even a field that is encoded empty.
	// Upstream takes such a value from the patch, without its directives.
	inNew bool
	// ignoresDirectives is set within a new item of a list that the base has, and within a replacing value. Upstream takes these
	// as they are and obeys no directive in them.
	ignoresDirectives bool
	// jsonOnly holds the lists and maps in which this patch left something that only JSON can express. Examples are an item without
	// a key, and a map emptied by a directive. A patch that names one item twice reaches them again. The next patch sees the Go
	// types only.
	jsonOnly []uintptr

	claimed int // the number of claims, recorded or not

	of         Layer          // the layer whose value is read
	reading    node           // the field whose value is read from JSON
	steps      fieldpath.Path // the path within it to the current value
	ignored    []Ignored
	duplicates []fieldpath.Path
	protected  []Ignored
	noted      map[node]bool // the lists whose duplicates are recorded
	ownership  *Ownership    // of the result

	prepended prependedLists
	// The merge keeps one run of these for each list or object around the current value, the outermost first.
	keys    []patchKey // of the items of a patch's list
	targets []int32    // of these items in the base's list
	names   []string   // of the fields of a patch's object
}

func (m *merger) isJSONOnly(v reflect.Value) bool { return slices.Contains(m.jsonOnly, v.Pointer()) }

// patch merges a whole patch into the value.
func (m *merger) patch(dst reflect.Value, patch Object) error {
	at := noNode
	if m.owners {
		at = rootNode
	}
	return m.structure(m.plan.root, nil, dst, patch, at)
}

// noteZeroNull records a null that is a Go value's zero value, if it removes something. A pointer with omitempty was set: to an empty
// time, which encodes as null.
func (m *merger) noteZeroNull(f *schema.StructField, dst reflect.Value, at node) {
	if f.Patch.OmitEmpty && f.Patch.IsPointer() {
		return
	}
	if old, present := f.Template.Of(dst); present && !old.IsZero() {
		m.log.zeroNulls = append(m.log.zeroNulls, Ignored{Layer: m.of, Path: m.log.path(at).Append(fieldpath.Field(f.Name))})
	}
}

// encoded merges one field of a patch's object into the struct dst.
func (m *merger) encoded(f *schema.StructField, dst reflect.Value, from any, at node) error {
	to, present := f.Template.In(dst)
	child := m.field(at, f)
	if m.skips && m.skip(f, to, from, child) {
		return nil
	}
	if from == nil {
		m.null(f.Type, to, present, child)
		return nil
	}
	if list, ok := from.([]any); ok && len(list) == 0 && f.Type.Kind == schema.Set && f.Template.OmitEmpty && !f.Template.IsPointer() {
		m.noteSet(child, nil) // encoded, the set is not there, and the next patch's set is taken verbatim
	}
	return m.value(f.Type, to, present, from, child)
}

// allocated returns the value of a pointer, and allocates a missing one. It returns any other value as it is.
func allocated(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Pointer {
		return v
	}
	if v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	}
	return v.Elem()
}

// value merges one non-null value of a patch into a field of the base. The flag present states that the base's encoding has the
// field.
func (m *merger) value(t *schema.Type, dst reflect.Value, present bool, from any, at node) error {
	if t.Kind > schema.Struct && t.Kind < schema.Atomic {
		dst = allocated(dst)
	}
	if hasDirective(from) && t.Kind != schema.Struct && t.Kind != schema.Map && !t.Raw && !m.ignoresDirectives &&
		(!present || m.inNew || jsonKind(dst) != reflect.Map) {
		m.null(t, dst, present, at) // upstream drops the value with its directive
		return nil
	}
	switch t.Kind {
	case schema.Struct:
		return m.object(t, dst, present, from, at)
	case schema.Map:
		return m.mapping(t, dst, present, from, at)
	case schema.ListMap:
		return m.listMap(t, dst, present, from, at)
	case schema.Set:
		return m.set(t, dst, present, from, at)
	default:
		return m.replace(t, dst, present, from, at)
	}
}

// object merges a struct, each field by itself.
func (m *merger) object(t *schema.Type, dst reflect.Value, present bool, from any, at node) error {
	patch, ok := from.(Object)
	if !ok {
		return wrongType(from, "an object")
	}
	inNew := m.inNew
	defer func() { m.inNew = inNew }()
	absent := !present || dst.Kind() == reflect.Pointer && dst.IsNil()
	if (absent || m.inNew) && !m.ignoresDirectives && hasDirective(patch) {
		if isPureDirective(patch) {
			m.retain(at, nil)
		} else {
			m.null(t, dst, false, at) // upstream drops the value with its directive
		}
		return nil
	}
	if absent {
		m.inNew = true
		m.markCreated(at)
	}
	isPointer := dst.Kind() == reflect.Pointer
	dst = allocated(dst)
	claimed := m.claimed
	err := m.structure(t, nil, dst, patch, at)
	if m.claimed == claimed && !t.Plain && isPointer { // a struct by value is encoded in any case
		m.presence(at, present)
	}
	return err
}

// mapping merges two maps key by key.
func (m *merger) mapping(t *schema.Type, dst reflect.Value, present bool, from any, at node) error {
	patch, ok := from.(Object)
	if !ok {
		return wrongType(from, "an object")
	}
	claimed, absent := m.claimed, dst.IsNil()
	defer func() {
		if m.claimed == claimed || absent && !dst.IsNil() && dst.Len() == 0 { // nulls alone leave an empty map
			m.empty(at)
		}
	}()
	return m.directives(t, dst, present, patch, at)
}

// entry sets one key of a map, or removes the key for a null.
func (m *merger) entry(t *schema.Type, dst reflect.Value, name string, value any, at node) error {
	entry, key := m.keyed(at, name), reflect.ValueOf(name).Convert(dst.Type().Key())
	old := dst.MapIndex(key)
	if !m.ignoresDirectives && value == nil {
		if old.IsValid() {
			m.recordBase(entry, scalarType, old, true)
			dst.SetMapIndex(key, reflect.Value{})
		}
		m.claimNull(entry)
		return nil
	}
	if old.IsValid() {
		if !m.ignoresDirectives && clashes(t, old, value) {
			return within(fieldpath.Key(name), errors.New("an entry that the base has cannot be merged: only scalars replace each other there"))
		}
		m.recordBase(entry, scalarType, old, true)
	}
	copied, keep := reflect.New(dst.Type().Elem()).Elem(), true
	if !m.ignoresDirectives {
		value, keep = withoutDirectives(value)
	}
	if !keep {
		dst.SetMapIndex(key, reflect.Value{})
		m.claimNull(entry)
		return nil
	}
	m.reading = entry
	if err := m.read(t.Elem, copied, value); err != nil {
		return within(fieldpath.Key(name), err)
	}
	dst.SetMapIndex(key, copied)
	m.claim(entry, copied)
	return nil
}

var errNoMergeKey = fmt.Errorf("a list of objects without a merge key cannot be merged")

// replace sets a scalar or an atomic list to the patch's value.
func (m *merger) replace(t *schema.Type, dst reflect.Value, present bool, from any, at node) error {
	m.recordBase(at, t, dst, present)
	absent := !present || m.inNew || dst.Kind() == reflect.Slice && dst.IsNil()
	if t.Raw && present && !m.inNew {
		if err := m.overlay(t, dst, from); err != nil {
			return err
		}
	} else {
		m.reading = at
		if absent && !m.ignoresDirectives {
			from, _ = withoutDirectives(from)
		}
		if err := m.read(t, dst, from); err != nil {
			return err
		}
	}
	m.claim(at, dst)
	return nil
}

// overlay merges two values of a type that writes its own JSON. Two objects merge name by name, as upstream merges maps,
// because upstream has no rules for their contents.
func (m *merger) overlay(t *schema.Type, dst reflect.Value, from any) error {
	was, err := jsonOf(dst)
	if err != nil {
		return err
	}
	base, ok := was.(Object)
	patch, both := from.(Object)
	if !ok || !both {
		if jsonKind(reflect.ValueOf(was)) != jsonKind(reflect.ValueOf(from)) {
			from, _ = withoutDirectives(from)
		} else if isComposite(from) && dst.Kind() != reflect.Pointer {
			return errors.New("a list that the base has cannot be merged: the type has no rules for it")
		}
		return m.read(t, dst, from)
	}
	if t.Whole {
		return m.read(t, dst, from)
	}
	merged := reflect.ValueOf(&base).Elem()
	owners := m.owners
	m.owners = false
	err = m.directives(&schema.Type{Kind: schema.Map, Elem: scalarType}, merged, true, patch, noNode)
	m.owners = owners
	if err != nil {
		return err
	}
	return m.read(t, dst, base)
}

// null empties a field for a patch's null. In a Go patch, a nil pointer or list without omitempty encodes as null.
func (m *merger) null(t *schema.Type, dst reflect.Value, present bool, at node) {
	m.recordBase(at, t, dst, present)
	dst.SetZero()
	m.claimNull(at)
}

// empty claims the presence of an empty map or list, if its encoding distinguishes it from null.
func (m *merger) empty(at node) {
	if m.owners && m.log.encodesEmpty(at) {
		m.log.add(at, m.layer, presenceValue, "")
	}
}
