// Package tree, which is not promised, converts between the Go types of an API and decoded JSON. It
// returns what encoding the value and decoding the text would return, without the text.
//
//	fields, ok := tree.Encode(job)  // as json.Marshal, and UnmarshalCaseSensitivePreserveInts into a map
//	ok = tree.Decode(fields, &job)  // as json.Marshal, and UnmarshalCaseSensitivePreserveInts into job
//
// It converts only what cannot fail. It reports false for every other value, and JSON then has the
// result or the error. Decode also leaves to JSON the values that an API server rejects or drops.
// These are fields that a struct lacks, and null values of a map.
//
// A quantity is checked before the parser of Kubernetes computes its value: an exponent of eight
// digits takes it hours.
//
// Its first file to read is tree.go.
package tree

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

// shapes remembers the shape of each type, as encoding/json does. The result of a conversion does
// not depend on it.
var shapes sync.Map // from reflect.Type to *shape

// shape describes a type. A type is analyzed on its first use, and the type of a field when a value
// has that field. Before, only of is set.
type shape struct {
	of      reflect.Type
	once    sync.Once
	form    form
	item    *shape // of a pointer, a list or a map
	fields  []member
	byName  map[string]int
	bounded bool // a quantity, see CheckQuantity
}

// member is a field of a struct.
type member struct {
	Field
	shape *shape
	// isZero marks an OmitZero field with a method for it.
	isZero bool
	// optional marks a field within an inlined pointer, which is not converted.
	optional bool
}

type form uint8

const (
	unsupported form = iota
	boolean
	integer
	unsigned
	text
	pointer
	list
	entries
	object
	self // a type with its own methods for JSON
)

// shapeOf returns the shape of a type. Its analysis may come later.
func shapeOf(t reflect.Type) *shape {
	known, ok := shapes.Load(t)
	if !ok {
		known, _ = shapes.LoadOrStore(t, &shape{of: t})
	}
	return known.(*shape)
}

// analyze completes the shape of a type.
func (s *shape) analyze() {
	s.once.Do(func() {
		switch s.form = formOf(s.of); s.form {
		case self:
			s.bounded = s.of == reflect.TypeFor[resource.Quantity]()
		case pointer, list, entries:
			s.item = shapeOf(s.of.Elem())
		case object:
			fields := Structs{}.Of(s.of)
			s.fields, s.byName = make([]member, len(fields)), make(map[string]int, len(fields))
			for i, f := range fields {
				s.fields[i], s.byName[f.Name] = s.member(f), i
			}
		}
	})
}

func (s *shape) member(f Field) member {
	m := member{Field: f, shape: shapeOf(f.Type)}
	m.isZero = f.OmitZero &&
		reflect.PointerTo(f.Type).Implements(reflect.TypeFor[interface{ IsZero() bool }]())
	t := s.of
	for _, i := range f.Index {
		if t.Kind() != reflect.Struct {
			m.optional = true
			break
		}
		t = t.Field(i).Type
	}
	return m
}

// in returns the field of a struct. It reports whether the field is converted.
func (m *member) in(v reflect.Value) (at reflect.Value, ok bool) {
	switch {
	case len(m.Index) == 1:
		return v.Field(m.Index[0]), true
	case m.optional:
		return at, false
	}
	return v.FieldByIndex(m.Index), true
}

func formOf(t reflect.Type) form {
	p := reflect.PointerTo(t)
	encodes, decodes := p.Implements(reflect.TypeFor[json.Marshaler]()),
		p.Implements(reflect.TypeFor[json.Unmarshaler]())
	isText := p.Implements(reflect.TypeFor[encoding.TextMarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	switch {
	case t.Kind() == reflect.Pointer:
		return pointer
	case decodes && t.Implements(reflect.TypeFor[json.Marshaler]()):
		return self
	case encodes || decodes || isText:
		return unsupported
	}
	switch t.Kind() {
	case reflect.Bool:
		return boolean
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return integer
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return unsigned
	case reflect.String:
		return text
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return list
		}
	case reflect.Map:
		if key := formOf(t.Key()); key == text {
			return entries
		}
	case reflect.Struct:
		return object
	}
	return unsupported
}
