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
	if isNull && f.template.InPointer || f.Omits(value) {
		delete(object, f.Name)
	} else {
		object[f.Name] = value
	}
}

// Omits reports whether the encoding of the Go type omits the field with a value.
func (f *StructField) Omits(value any) bool {
	switch of := &f.template; {
	case of.OmitZero && (value == nil || f.IsEmpty(value)):
		return true
	case !of.OmitEmpty || of.IsOf(reflect.Struct):
		return false
	case of.IsPointer() || of.IsOf(reflect.Interface):
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

// EncodesEmpty reports whether the encoding distinguishes an empty map or list from null.
func (f *StructField) EncodesEmpty() bool {
	return f != nil && f.Type.Kind >= Map && f.Type.Kind <= Atomic &&
		(!f.template.OmitEmpty || f.IsPointer())
}

// IsUnset reports whether a value equals that of an unset field. That is null, or the empty value
// of a field that is not a pointer. The encoding of such a field does not distinguish the two.
func (f *StructField) IsUnset(value any) bool {
	if f.IsPointer() || f.EncodesEmpty() {
		return false
	}
	list, isList := value.([]any)
	if value == "" && f.template.IsOf(reflect.Slice) && !f.template.OmitEmpty {
		return false // bytes, which may be null
	}
	return value == nil || f.IsEmpty(value) || isList && len(list) == 0 ||
		reflect.ValueOf(value).IsZero()
}

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
