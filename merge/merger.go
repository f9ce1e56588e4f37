package merge

import (
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file is the merger's side of the log. Without Options.Owners, each of these methods costs one comparison.

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

// ignore records a field that the type of the value at a node lacks.
func (m *merger) ignore(at node, name string) {
	path := m.steps.Append(fieldpath.Field(name))
	if m.owners {
		path = m.log.path(at).Append(path...)
	}
	m.ignored = append(m.ignored, Ignored{Layer: m.of, Path: path})
}

// prependedList describes a list-map that patches have reached. New items usually go in front of a list. So it keeps free memory
// before the first item, for the items of later patches as well. The cost of a patch depends on the patch, not on the list.
type prependedList struct {
	first  uintptr       // the address of the list's first item
	length int           // the length of the list
	memory reflect.Value // the free items, then the list; invalid if none are free
	free   int           // the number of free items
	// index gives each key's distance from the end of the list, which new items in front do not change. It is nil for a list
	// that is short enough to search.
	index map[string]int32
	back  int // what extend has added to these distances
	// checked is set once every item of the list is known to have a key of its own.
	checked bool
}

// prependedLists describes all lists that patches have reached.
type prependedLists struct {
	all  []prependedList
	next int // where to look next
}

// field returns the node of a struct's field.
func (m *merger) field(at node, f *schema.StructField) node {
	if !m.owners {
		return noNode
	}
	return m.log.child(at, f, "")
}

// keyed returns the node of an entry or element.
func (m *merger) keyed(at node, key string) node {
	if !m.owners {
		return noNode
	}
	return m.log.child(at, nil, key)
}

func (m *merger) untouched(at node) bool { return m.owners && m.log.nodes[at].first < 0 }

// recordBase records the runtime's value when a patch is the first to touch a field.
func (m *merger) recordBase(at node, t *schema.Type, old reflect.Value, present bool) {
	if !m.owners || m.inNew || !present {
		return
	}
	if old.Kind() == reflect.Pointer || old.Kind() == reflect.Slice {
		if old.IsNil() {
			return
		}
	}
	if t.Kind != schema.Scalar && t.Kind != schema.Atomic {
		m.recordRemoved(t, nil, at, old)
	} else if m.untouched(at) {
		m.log.addValue(at, baseLayer, old)
	}
}

// recordRemoved records the fields set within a value that a patch is about to remove.
func (m *merger) recordRemoved(t *schema.Type, key *schema.StructField, at node, old reflect.Value) {
	if m.owners && !m.inNew {
		writer{log: m.log, onlyRemoved: true}.value(t, key, at, pointee(old), reflect.Value{})
	}
}

func (m *merger) claim(at node, value reflect.Value) {
	m.claimed++
	if m.owners {
		m.log.addValue(at, m.layer, value)
	}
}

func (m *merger) claimNull(at node) {
	m.claimed++
	if m.owners {
		m.log.add(at, m.layer, nullValue, "")
	}
}

// null empties a field for a patch's null. In a Go patch, a nil pointer or list without omitempty encodes as null.
func (m *merger) null(t *schema.Type, dst reflect.Value, present bool, at node) {
	m.recordBase(at, t, dst, present)
	dst.SetZero()
	m.claimNull(at)
}

// empty claims the presence of an empty map or list, if its encoding distinguishes it from null.
func (m *merger) empty(at node) {
	if m.owners && encodesEmpty(m.log.nodes[at].field) {
		m.log.add(at, m.layer, presenceValue, "")
	}
}

// skip reports whether a patch's empty string sets nothing, and records its claim.
func (m *merger) skip(f *schema.StructField, to reflect.Value, from any, at node) bool {
	if from != "" || to.Kind() != reflect.String || f.Template.OmitEmpty || f.Template.OmitZero || f.Type.Raw || to.Len() == 0 {
		return false
	}
	m.recordBase(at, f.Type, to, true)
	stays := m.log.inForce(at)
	m.claim(at, reflect.Zero(to.Type()))
	if stays >= 0 {
		m.log.overrule(at, stays, 0)
		m.log.decide("empty", m.log.path(at), m.log.claims[stays].layer(), []int32{m.layer})
	}
	return true
}

// presence claims the presence of an item, an element or an empty struct.
func (m *merger) presence(at node, present bool) {
	m.claimed++
	if !m.owners {
		return
	}
	if present && !m.inNew && m.untouched(at) && !m.log.isCreated(at) {
		m.log.add(at, baseLayer, presenceValue, "")
	}
	m.log.add(at, m.layer, presenceValue, "")
}

// markCreated records that a patch creates a missing item or struct.
func (m *merger) markCreated(at node) {
	if m.owners {
		m.log.nodes[at].createdBy = m.layer
	}
}

// retain records a $retainKeys directive on the struct or map at a node.
func (m *merger) retain(at node, kept map[string]bool) {
	if !m.owners {
		return
	}
	if m.log.retained == nil {
		m.log.retained = map[node][]retention{}
	}
	m.log.retained[at] = append(m.log.retained[at], retention{m.layer, kept})
	for child := m.log.nodes[at].child; child != noNode; child = m.log.nodes[child].next {
		if m.log.nodes[child].first < 0 && !kept[m.log.name(child)] {
			m.log.add(child, m.layer, nullValue, "")
		}
	}
}
