package merge

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/schema"
)

// merger lays one patch after the other over a template that it may change. It walks the Go values
// of both along the merge schema.
type merger struct {
	log    *log
	spine  *spine
	owners bool // whether claims are wanted
	layer  int32
	left   int // how many patches are left after this one
	// verbatim is set within an item that is new in a list which the template has: upstream then
	// takes the item as it is, and does not look for directives in it.
	verbatim bool
	// fresh is set within an item or a struct that a patch has just made: nothing in it, not even a
	// field that is encoded empty, is the runtime's.
	fresh bool
	// copied is set within an item that has been copied from the patch in one go: all that is left to do
	// is to claim its fields.
	copied bool
	// byField asks for the walk over the schema alone, without the short cuts for the types that most
	// patches are made of. Tests compare the two.
	byField bool
	// raw are the lists and maps of which this patch left something that only JSON can tell apart: a
	// list with an item that has no key at all, a map emptied by a directive. A patch that names one
	// job twice comes upon them again; for the next patch they have gone through the Go types.
	raw []uintptr

	// unseen is set once the log may hold claims on what is not in the list or map at hand: where a directive
	// or a null has taken something away, and where a patch brought two items of one key, which are one in
	// the log.
	unseen bool

	fronts  frontsByKind
	targets []int32 // of the lists that are being merged, one inside the other
	pairs   []pair
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
	if e == nil {
		return "no error"
	}
	return fmt.Sprintf("patch of manager %q: %s: %s", e.Manager, e.Path, e.Err)
}

// Unwrap is what is wrong with the field.
func (e *PatchError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// within lets an error's path grow on its way up.
func within(step schema.Step, err error) error {
	if e, ok := err.(*PatchError); ok {
		e.Path = schema.Path{step}.Append(e.Path...)
		return e
	}
	return &PatchError{Path: schema.Path{step}, Err: err}
}

// structure merges what the patch src says into the struct dst, field by field, but for the merge
// key of a list item. It reports whether the patch says anything.
func (m *merger) structure(t *schema.Type, key *schema.StructField, dst, src reflect.Value, at node) (said bool, err error) {
	for f, from := range t.Encoded(src) {
		said = true
		if f == key {
			continue
		}
		if err := m.encoded(f, dst, from, at); err != nil {
			return true, err
		}
	}
	return said, nil
}

// encoded merges one encoded field of a patch's struct into the struct dst.
func (m *merger) encoded(f *schema.StructField, dst, from reflect.Value, at node) error {
	to, present := f.Template.Of(dst)
	child := m.field(at, f)
	switch from.Kind() {
	case reflect.Pointer:
		if from.IsNil() {
			m.null(f.Type, to, present, child)
			return nil
		}
		from = from.Elem()
	case reflect.Slice, reflect.Map:
		if from.IsNil() {
			m.null(f.Type, to, present, child)
			return nil
		}
	}
	if err := m.value(f.Type, to, present, from, child); err != nil {
		return within(schema.Field(f.Name), err)
	}
	return nil
}

// value merges one encoded value of a patch into a field of the template. present says whether the
// template's own encoding has the field.
func (m *merger) value(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	switch t.Kind {
	case schema.Struct:
		return m.object(t, dst, present, src, at)
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

// object merges a struct.
func (m *merger) object(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	fresh := m.fresh
	if dst.Kind() == reflect.Pointer {
		if dst.IsNil() {
			dst.Set(reflect.New(dst.Type().Elem()))
			m.fresh = true
			m.make(at)
		}
		dst = dst.Elem()
	}
	said, err := m.structure(t, nil, dst, src, at)
	if !said {
		m.presence(at, present)
	}
	m.fresh = fresh
	return err
}

// replace sets a scalar or an atomic list to a copy of the patch's value.
func (m *merger) replace(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) {
	if m.copied {
		m.claim(at, dst)
		return
	}
	m.keepOld(at, t, dst, present)
	absent := !present || dst.Kind() == reflect.Slice && dst.IsNil()
	if dst.Kind() == reflect.Pointer {
		// Claims hold on to the pointer, so what it points to stays.
		if dst.IsNil() || !isPlain(src.Kind()) || !src.Equal(dst.Elem()) {
			dst.Set(reflect.New(dst.Type().Elem()))
			clone(dst.Elem(), src)
		}
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
	m.unseen = true
	dst.SetZero()
	m.claimNull(at)
}

// mapping merges two maps key by key.
func (m *merger) mapping(dst, src reflect.Value, at node) error {
	if plain, ok := src.Interface().(map[string]string); ok {
		if m.readPairs(plain) {
			return m.directives(dst, src, at)
		}
		m.stringMap(dst.Addr().Interface().(*map[string]string), at)
		return nil
	}
	if hasDirective(src) {
		return m.directives(dst, src, at)
	}
	if dst.Len() == 0 {
		dst.Set(reflect.MakeMapWithSize(dst.Type(), src.Len()))
	}
	for _, key := range sortedKeys(src) {
		k := reflect.ValueOf(key).Convert(dst.Type().Key())
		m.entry(dst, k, src.MapIndex(k), at)
	}
	return nil
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

// entry sets one key of a map.
func (m *merger) entry(dst, key, value reflect.Value, at node) {
	entry := m.keyed(at, key.String())
	if old := dst.MapIndex(key); old.IsValid() {
		m.keepOld(entry, scalarType, old, true)
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
		if len(src) > 0 {
			m.readPairs(src)
			m.stringMap(dst, m.field(at, f))
		}
	}
}
