package merge

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/schema"
)

// This file has the merger and its side of the log. What has no node records nothing.

// merger merges one patch after the other into a tree.
type merger struct {
	plan    *plan
	log     *log
	layer   int32
	of      Owner // the owner whose value is read
	ofValue bool  // whether the patch is a Go value: its type may encode a null that nobody wrote
	follows bool  // whether new items follow the items of the base, which keep their places
	skips   bool  // whether an empty string sets no field that is always encoded
	// skipsZero is set if a Go value's zero sets no field that is always encoded.
	skipsZero bool
	isRaw     bool // whether the patch may reach a value again, so that the normal form comes later

	path    fieldpath.Path // of the current value
	claimed int            // the number of claims, recorded or not

	notes []Note
	noted map[*node]bool // the lists whose duplicates are recorded
}

func (m *merger) enter(step fieldpath.Step) { m.path = append(m.path, step) }

func (m *merger) leave() { m.path = m.path[:len(m.path)-1] }

// put sets a field of a new object.
func (m *merger) put(f *schema.StructField, into Object, value any) {
	switch {
	case !m.isRaw:
		f.Put(into, value)
	case value == nil:
		delete(into, f.Name)
	default:
		into[f.Name] = value
	}
}

// normal completes an object with the fields that its Go type always encodes.
func (m *merger) normal(t *schema.Type, into Object) (Object, error) {
	if m.isRaw {
		return into, nil
	}
	if !t.EmbedsPointer() {
		t.Fill(into)
		return into, nil
	}
	value, err := reencode(t.GoType(), into)
	object, _ := value.(Object)
	return object, err
}

// removed claims that a patch empties a field.
func (m *merger) removed(at *node, old any) {
	m.recordBase(at, old)
	m.claimNull(at)
}

// errNoKey is upstream's error for a list with an item that lacks its merge key. Upstream fails
// only if the base has the list, because it takes a list that the base lacks verbatim.
func (m *merger) errNoKey(index int, key string) error {
	m.enter(fieldpath.Index(index))
	return fmt.Errorf("an item without its merge key cannot be merged; give it a %s",
		strconv.Quote(key))
}

// reencode returns JSON as a Go type encodes it.
func reencode(of reflect.Type, from any) (any, error) {
	value := reflect.New(of).Interface()
	if err := decode(from, value); err != nil {
		return nil, err
	}
	return tree.Value(value)
}

// keyed returns the node of an entry, an item or an element.
func (m *merger) keyed(at *node, key string) *node {
	if at == nil {
		return nil
	}
	return m.log.child(at, nil, key)
}

// isOptional reports whether a struct may be absent: a pointer, or a struct that is omitted when it
// is zero.
func (n *node) isOptional() bool {
	return n != nil && (n.isPointer() || n.field == nil || n.field.OmitsZero())
}

// recordBase records the base's value when a patch is the first to touch a field.
func (m *merger) recordBase(at *node, old any) {
	switch {
	case at == nil || old == nil:
	case !at.isWhole():
		m.recordRemoved(at, old)
	case len(at.claims) == 0:
		m.log.addPlain(at, baseLayer, old)
	}
}

// recordRemoved records the fields set within a value that a patch is about to remove.
func (m *merger) recordRemoved(at *node, old any) {
	if at != nil {
		writer{log: m.log, onlyRemoved: true}.value(at, old, nil)
	}
}

func (m *merger) claim(at *node, value any) {
	m.claimed++
	if at != nil {
		m.log.addPlain(at, m.layer, value)
	}
}

func (m *merger) claimNull(at *node) {
	m.claimed++
	if at != nil {
		m.log.add(at, m.layer, nullValue, nil)
	}
}

// empty claims the presence of an empty map or list, if its encoding distinguishes it from null.
func (m *merger) empty(at *node) {
	if at != nil && at.field.EncodesEmpty() {
		m.log.add(at, m.layer, presenceValue, nil)
	}
}

// skip reports whether a patch's empty string sets nothing, and records its claim.
func (m *merger) skip(at *node, old, from any) bool {
	f := at.field
	text, isText := old.(string)
	if from != "" || !isText || text == "" || f.Omits("") || f.Type.Raw {
		return false
	}
	m.recordBase(at, old)
	stays := *at.inForce() // the base's, at least
	m.claim(at, "")
	m.log.rule(at, &stays, 0)
	m.log.decide("SkipEmpty", at.path(), stays.layer, []int32{m.layer})
	return true
}

// presence claims the presence of an item, an element or an empty struct. The flag inBase states
// that the value has it already.
func (m *merger) presence(at *node, inBase bool) {
	m.claimed++
	if at == nil {
		return
	}
	if inBase && len(at.claims) == 0 && at.creator() == baseLayer {
		m.log.add(at, baseLayer, presenceValue, nil)
	}
	m.log.add(at, m.layer, presenceValue, nil)
}

// noteZeroNull records a null that is a Go value's zero value, if it removes something. A pointer
// with omitempty was set: to an empty time, which encodes as null.
func (m *merger) noteZeroNull(f *schema.StructField, old any) {
	isSet := f.IsPatchPointer() && !f.IsAlways()
	if m.ofValue && !isSet && old != nil && !f.IsEmpty(old) {
		m.notes = append(m.notes, Note{Kind: Nulled, Owner: m.of, Path: slices.Clone(m.path)})
	}
}
