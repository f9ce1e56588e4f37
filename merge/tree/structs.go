package tree

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// This file lists the fields of Go structs by the rules of encoding/json. It knows their names
// and inlined structs.

// Field is a field of a struct by the rules of encoding/json. Fields of inlined structs count.
type Field struct {
	Name                string
	Index               []int
	Type                reflect.Type
	Tag                 reflect.StructTag
	OmitEmpty, OmitZero bool
	InPointer           bool // whether the field is within an embedded pointer
}

// IsOf reports whether the field's Go type has a kind.
func (f *Field) IsOf(kind reflect.Kind) bool { return f.Type != nil && f.Type.Kind() == kind }

// IsPointer reports whether the field is a pointer.
func (f *Field) IsPointer() bool { return f.IsOf(reflect.Pointer) }

// IsAlways reports whether the encoding always has the field.
func (f *Field) IsAlways() bool {
	return !f.OmitZero && (!f.OmitEmpty || f.IsOf(reflect.Struct))
}

// Structs caches the fields of struct types. It is not a package variable, so calls share nothing.
type Structs map[reflect.Type][]Field

// Of returns the fields of a struct type, sorted by name.
func (s Structs) Of(t reflect.Type) []Field {
	if fields, ok := s[t]; ok {
		return fields
	}
	fields := fieldsOf(t)
	s[t] = fields
	return fields
}

// Field returns a field by its exact name, and whether it exists.
func (s Structs) Field(t reflect.Type, name string) (Field, bool) {
	fields := s.Of(t)
	i, ok := slices.BinarySearchFunc(fields, name, func(f Field, name string) int {
		return strings.Compare(f.Name, name)
	})
	if !ok {
		return Field{}, false
	}
	return fields[i], true
}

func (s Structs) Names(t reflect.Type) []string {
	var names []string
	for _, f := range s.Of(t) {
		names = append(names, f.Name)
	}
	return names
}

// fieldsOf returns the fields of a struct, which may be inlined in others. A struct that is inlined
// in itself has no more fields by that.
func fieldsOf(t reflect.Type, around ...reflect.Type) []Field {
	around = append(slices.Clip(around), t)
	fields := make([]Field, 0, t.NumField())
	var inlined []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" && options == "":
			continue
		case f.Anonymous && name == "" && Concrete(f.Type).Kind() == reflect.Struct:
			inlined = append(inlined, f)
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		field := Field{Name: name, Index: f.Index, Type: f.Type, Tag: f.Tag}
		for _, option := range strings.Split(options, ",") {
			field.OmitEmpty = field.OmitEmpty || option == "omitempty"
			field.OmitZero = field.OmitZero || option == "omitzero"
		}
		fields = append(fields, field)
	}
	// A field of the struct hides a field with the same name in an inlined struct.
	for _, outer := range inlined {
		inner := Concrete(outer.Type)
		if slices.Contains(around, inner) {
			continue
		}
		for _, f := range fieldsOf(inner, around...) {
			if !slices.ContainsFunc(fields, func(g Field) bool { return g.Name == f.Name }) {
				f.Index = append(slices.Clone(outer.Index), f.Index...)
				f.InPointer = f.InPointer || outer.Type.Kind() == reflect.Pointer
				fields = append(fields, f)
			}
		}
	}
	slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// IsEmpty reports whether omitempty omits a value (encoding/json).
func IsEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// Concrete returns the type without its pointers.
func Concrete(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// DecodesItself reports whether values of the type have their own decoder, such as quantities and
// times.
func DecodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
