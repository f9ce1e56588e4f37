package merge

import (
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/schema"
)

// merger lays one patch after the other over a template that it may change. It walks the Go values
// of both along the merge schema.
type merger struct {
	log   *log // nil when nobody asked for owners
	layer int32
	left  int // how many patches are left after this one
	// verbatim is set within an item that is new in a list which the template has: upstream then
	// takes the item as it is, and does not look for directives in it.
	verbatim bool
	// fresh is set within an item or a struct that a patch has just made: nothing in it, not even a
	// field that is encoded empty, is the runtime's.
	fresh bool
	// raw are the lists and maps of which this patch left something that only JSON can tell apart: a
	// list with an item that has no key at all, a map emptied by a directive. A patch that names one
	// job twice comes upon them again; for the next patch they have gone through the Go types.
	raw []uintptr

	lists  []*itemList // memory for lists, by how deep they nest
	depth  int
	fronts []front
}

func (m *merger) isRaw(v reflect.Value) bool { return slices.Contains(m.raw, v.Pointer()) }

// PatchError is why the cluster cannot merge a manager's patch.
type PatchError struct {
	// Manager is the manager whose patch it is.
	Manager string
	// Path is the field of the JobSet template at which the merge fails.
	Path schema.Path
	// Err says what is wrong there.
	Err error
}

// Error names the manager and the field.
func (e *PatchError) Error() string {
	return fmt.Sprintf("patch of manager %q: %s: %s", e.Manager, e.Path, e.Err)
}

// Unwrap is what is wrong with the field.
func (e *PatchError) Unwrap() error { return e.Err }

// within lets an error's path grow on its way up.
func within(step schema.Step, err error) error {
	if e, ok := err.(*PatchError); ok {
		e.Path = schema.Path{step}.Append(e.Path...)
		return e
	}
	return &PatchError{Path: schema.Path{step}, Err: err}
}

// structure merges what the patch src says into the struct dst, field by field, but for the merge
// key of a list item.
func (m *merger) structure(t *schema.Type, key *schema.StructField, dst, src reflect.Value, at node) error {
	for _, f := range t.Patchable() {
		from, encoded := f.Patch.Of(src)
		if !encoded || f == key {
			continue
		}
		to, present := f.Template.Of(dst)
		child := m.field(at, f)
		switch from.Kind() {
		case reflect.Pointer:
			if from.IsNil() {
				m.null(f.Type, to, present, child)
				continue
			}
			from = from.Elem()
		case reflect.Slice, reflect.Map:
			if from.IsNil() {
				m.null(f.Type, to, present, child)
				continue
			}
		}
		if err := m.value(f.Type, to, present, from, child); err != nil {
			return within(schema.Field(f.Name), err)
		}
	}
	return nil
}

// value merges one encoded value of a patch into a field of the template. present says whether the
// template's own encoding has the field.
func (m *merger) value(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	switch t.Kind {
	case schema.Struct:
		outer := m.fresh
		if dst.Kind() == reflect.Pointer {
			if dst.IsNil() {
				dst.Set(reflect.New(dst.Type().Elem()))
				m.fresh = true
			}
			dst = dst.Elem()
		}
		if m.log != nil && saysNothing(t, src) {
			m.presence(at, present)
		}
		err := m.structure(t, nil, dst, src, at)
		m.fresh = outer
		return err
	case schema.Map:
		return m.mapping(dst, src, at)
	case schema.ListMap:
		return m.listMap(t, dst, present, src, at)
	case schema.Set:
		m.set(dst, src, at)
		return nil
	default:
		m.replace(t, dst, present, src, at)
		return nil
	}
}

// replace sets a scalar or an atomic list to a copy of the patch's value.
func (m *merger) replace(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) {
	m.keepOld(at, t, dst, present)
	absent := !present || dst.Kind() == reflect.Slice && dst.IsNil()
	if dst.Kind() == reflect.Pointer {
		p := reflect.New(dst.Type().Elem())
		clone(p.Elem(), src)
		dst.Set(p)
	} else {
		clone(dst, src)
	}
	if t.Kind == schema.Atomic && absent && !m.verbatim {
		stripDirectives(dst)
	}
	m.claim(at, dst)
}

// null empties a field: a patch says null where a pointer or list without omitempty is nil.
func (m *merger) null(t *schema.Type, dst reflect.Value, present bool, at node) {
	m.keepOld(at, t, dst, present)
	dst.SetZero()
	m.claimNull(at)
}

// mapping merges two maps key by key.
func (m *merger) mapping(dst, src reflect.Value, at node) error {
	if hasDirective(src) {
		return m.directives(dst, src, at)
	}
	if dst.Len() == 0 {
		dst.Set(reflect.MakeMapWithSize(dst.Type(), src.Len()))
	}
	if to, ok := dst.Addr().Interface().(*map[string]string); ok {
		m.stringMap(*to, src.Interface().(map[string]string), at)
		return nil
	}
	for _, key := range sortedKeys(src) {
		k := reflect.ValueOf(key).Convert(dst.Type().Key())
		m.entry(dst, k, src.MapIndex(k), at)
	}
	return nil
}

// stringMap is mapping for what nearly all maps are: labels, annotations, selectors.
func (m *merger) stringMap(dst, src map[string]string, at node) {
	if m.log == nil {
		for key, value := range src {
			dst[key] = value
		}
		return
	}
	for _, key := range m.log.sorted(src) {
		entry := m.keyed(at, key)
		if old, ok := dst[key]; ok {
			m.keepOldText(entry, old)
		}
		dst[key] = src[key]
		m.claimText(entry, src[key])
	}
}

// entry sets one key of a map.
func (m *merger) entry(dst, key, value reflect.Value, at node) {
	entry := m.keyed(at, key.String())
	if old := dst.MapIndex(key); old.IsValid() {
		m.keepOld(entry, scalar, old, true)
	}
	copied := reflect.New(dst.Type().Elem()).Elem()
	clone(copied, value)
	dst.SetMapIndex(key, copied)
	m.claim(entry, copied)
}

// metadata merges a patch's template.metadata, which upstream does apart from all else (Trainer
// v2.3.0 pkg/runtime/core newRuntimeInfo): key by key, and directives are plain keys here.
func (m *merger) metadata(template *metav1.ObjectMeta, patch *metav1.ObjectMeta, t *schema.StructField) {
	at := m.field(rootNode, t)
	for _, f := range t.Type.Patchable() {
		dst, src := &template.Labels, patch.Labels
		if f.Name == "annotations" {
			dst, src = &template.Annotations, patch.Annotations
		}
		if len(src) == 0 {
			continue
		}
		if *dst == nil {
			*dst = make(map[string]string, len(src))
		}
		m.stringMap(*dst, src, m.field(at, f))
	}
}

// saysNothing reports whether the patch names the struct and no field of it.
func saysNothing(t *schema.Type, src reflect.Value) bool {
	for _, f := range t.Patchable() {
		if _, encoded := f.Patch.Of(src); encoded {
			return false
		}
	}
	return true
}
