// Package jsonvalue converts between the Go types of an API and decoded JSON. It returns what encoding the value and decoding
// the text would return, without the text.
//
//	var codec jsonvalue.Codec
//	fields, ok := codec.Encode(job)  // as json.Marshal, and UnmarshalCaseSensitivePreserveInts into a map
//	ok = codec.Decode(fields, &job)  // as json.Marshal, and UnmarshalCaseSensitivePreserveInts into job
//
// It converts only what cannot fail. It reports false for every other value, and JSON then has the result or the error.
package jsonvalue

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainweld/trainweld/internal/jsonfields"
)

// Codec converts values. It analyzes each type on its first use. The zero Codec is ready, and safe for concurrent use.
type Codec struct {
	known   sync.Map // from reflect.Type to *shape, for the types of whole values
	mutex   sync.Mutex
	shapes  map[reflect.Type]*shape
	structs jsonfields.Structs
}

// shape describes a type.
type shape struct {
	form    form
	of      reflect.Type
	item    *shape // of a pointer, a list or a map
	fields  []member
	byName  map[string]int
	bounded bool // a quantity, see package quantity
}

// member is a field of a struct.
type member struct {
	jsonfields.Field
	shape *shape
	// isZero marks an OmitZero field with a method for it.
	isZero bool
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

// shapeOf returns the shape of a type.
func (c *Codec) shapeOf(t reflect.Type) *shape {
	if known, ok := c.known.Load(t); ok {
		return known.(*shape)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.shapes == nil {
		c.shapes, c.structs = map[reflect.Type]*shape{}, jsonfields.Structs{}
	}
	s := c.compile(t)
	c.known.Store(t, s)
	return s
}

// compile returns the shape of a type, and adds it to the known ones. The caller holds the mutex.
func (c *Codec) compile(t reflect.Type) *shape {
	if s, ok := c.shapes[t]; ok {
		return s
	}
	s := &shape{of: t, form: formOf(t)}
	c.shapes[t] = s
	switch s.form {
	case self:
		s.bounded = t == reflect.TypeFor[resource.Quantity]()
	case pointer, list, entries:
		s.item = c.compile(t.Elem())
	case object:
		s.byName = map[string]int{}
		for _, f := range c.structs.Of(t) {
			s.byName[f.Name] = len(s.fields)
			s.fields = append(s.fields, c.member(t, f))
		}
	}
	return s
}

func (c *Codec) member(t reflect.Type, f jsonfields.Field) member {
	m := member{Field: f, shape: c.compile(f.Type)}
	m.isZero = f.OmitZero && reflect.PointerTo(f.Type).Implements(reflect.TypeFor[interface{ IsZero() bool }]())
	for _, i := range f.Index {
		if t.Kind() != reflect.Struct {
			m.shape = &shape{} // within an inlined pointer
			break
		}
		t = t.Field(i).Type
	}
	return m
}

func formOf(t reflect.Type) form {
	p := reflect.PointerTo(t)
	encodes, decodes := p.Implements(reflect.TypeFor[json.Marshaler]()), p.Implements(reflect.TypeFor[json.Unmarshaler]())
	isText := p.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
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
