package schema

import (
	"reflect"

	"github.com/trainweld/trainweld/merge/tree"
)

// This file knows the normal form of a Go type's JSON: what encoding a decoded value returns.

// Put sets a field of an object as the encoding of its Go type does: it omits what the type omits,
// and a field that is always there has its empty value for null.
func (f *StructField) Put(object map[string]any, value any) {
	isNull := value == nil
	if isNull {
		value = f.Empty()
	}
	if isNull && f.Template.isOptional || f.omits(value) {
		delete(object, f.Name)
	} else {
		object[f.Name] = value
	}
}

// omits reports whether the encoding of the Go type omits the field with a value.
func (f *StructField) omits(value any) bool {
	switch s := &f.Template; {
	case s.OmitZero && (value == nil || f.IsEmpty(value)):
		return true
	case !s.OmitEmpty || s.kind == reflect.Struct:
		return false
	case s.kind == reflect.Pointer || s.kind == reflect.Interface:
		return value == nil
	}
	switch v := value.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return value == nil || value == "" || f.IsEmpty(value)
}

// Empty returns the JSON of the field's zero value. The caller may change it.
func (f *StructField) Empty() any { return tree.Copy(f.empty) }

// IsEmpty reports whether a value is the one of a field that nobody sets.
func (f *StructField) IsEmpty(value any) bool { return reflect.DeepEqual(value, f.empty) }

// Fill adds the fields that the encoding of a Go struct always has, if an object lacks them.
func (t *Type) Fill(object map[string]any) {
	for _, f := range t.required {
		if _, has := object[f.Name]; !has {
			object[f.Name] = f.Empty()
		}
	}
}

// emptyOf returns the JSON of a Go type's zero value, or nil if it has none.
func emptyOf(t reflect.Type) any {
	value, _ := tree.Value(reflect.New(t).Interface())
	return value
}

// EmptyItem returns the JSON of an item of a list, or of an entry of a map, that nobody sets.
func (t *Type) EmptyItem() any {
	if t.goType == nil || t.goType.Kind() != reflect.Slice && t.goType.Kind() != reflect.Map {
		return nil
	}
	return emptyOf(t.goType.Elem())
}
