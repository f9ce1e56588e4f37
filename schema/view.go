package schema

import (
	"fmt"
	"iter"
	"reflect"
)

// Encoded yields the fields in a patch's JSON, each with its value, in the order of Patchable. The patch is an addressable
// struct of the patch's Go type; for any other value Encoded yields nothing.
func (t *Type) Encoded(patch reflect.Value) iter.Seq2[*StructField, reflect.Value] {
	return func(yield func(*StructField, reflect.Value) bool) {
		if !t.View(patch, true).IsPresent() {
			return
		}
		for _, f := range t.patchable {
			if value, encoded := f.Patch.Of(patch); encoded && !yield(f, value) {
				return
			}
		}
	}
}

// A View reads a struct along a Type. The zero View reads none.
type View struct {
	of    reflect.Value
	patch bool
}

// View returns a View of a struct. Its Go type is the patch's if patch is set, and the template's otherwise. The struct must
// be addressable. For any other value the View is the zero one.
func (t *Type) View(of reflect.Value, patch bool) View {
	if t == nil || t.Kind != Struct || of.Kind() != reflect.Struct || !of.CanAddr() || of.Type() != t.typeOf(patch) {
		return View{}
	}
	return View{of, patch}
}

// typeOf returns the Go type of the patch or of the template.
func (t *Type) typeOf(patch bool) reflect.Type {
	if patch {
		return t.patchType
	}
	return t.goType
}

// IsPresent reports whether the View has a struct.
func (v View) IsPresent() bool { return v.of.IsValid() }

// slot returns the slot of a field in the struct. It is nil for a field of another struct, and for one that no patch may set.
func (v View) slot(f *StructField) *Slot {
	if f == nil || !v.of.IsValid() {
		return nil
	}
	s := &f.Template
	if v.patch {
		s = f.Patch
	}
	if s == nil || s.in != v.of.Type() {
		return nil
	}
	return s
}

// Has reports whether the JSON of the struct holds the field with a value other than null. It is false for a field of another
// Type.
func (v View) Has(f *StructField) bool {
	value, encoded := v.slot(f).Of(v.of)
	if !encoded {
		return false
	}
	switch value.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return !value.IsNil()
	default:
		return true
	}
}

// Fields are some fields of a Struct, in the order of the API type.
type Fields struct {
	of   *Type
	some []*StructField
}

// Next returns the first field from a position on that the struct has, and the position after it. It returns nil if there is
// none. The first position is 0.
func (v View) Next(fields *Fields, from int) (*StructField, int) {
	if fields == nil || fields.of == nil || !v.of.IsValid() || v.of.Type() != fields.of.typeOf(v.patch) {
		return nil, from
	}
	for i := max(from, 0); i < len(fields.some); i++ {
		if v.Has(fields.some[i]) {
			return fields.some[i], i + 1
		}
	}
	return nil, len(fields.some)
}

// Value returns the field's value, through pointers. It is invalid if Has reports false.
func (v View) Value(f *StructField) reflect.Value {
	if !v.Has(f) {
		return reflect.Value{}
	}
	value, _ := v.slot(f).Of(v.of)
	for value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	return value
}

// Struct returns the struct that a field holds or points to.
func (v View) Struct(f *StructField) View {
	if !v.Has(f) {
		return View{}
	}
	return f.Type.View(v.Value(f), v.patch)
}

// List returns the list that a field holds: a list-map of structs.
func (v View) List(f *StructField) List {
	if !v.Has(f) || f.Type.key == nil {
		return List{}
	}
	l := List{of: v.Value(f), key: &f.Type.key.Template, patch: v.patch}
	if v.patch {
		l.key = f.Type.key.Patch
	}
	if l.key == nil || l.of.Kind() != reflect.Slice {
		return List{}
	}
	return l
}

// A List holds the items of a list-map. The zero List has none.
type List struct {
	of    reflect.Value
	key   *Slot
	patch bool
}

// Len returns the number of items.
func (l *List) Len() int {
	if l == nil || !l.of.IsValid() {
		return 0
	}
	return l.of.Len()
}

// At returns an item.
func (l *List) At(i int) View {
	if uint(i) >= uint(l.Len()) {
		return View{}
	}
	item := l.of.Index(i)
	if item.Kind() == reflect.Pointer {
		item = item.Elem()
	}
	if item.Kind() != reflect.Struct {
		return View{}
	}
	return View{item, l.patch}
}

// Key returns the merge key of an item as a string, or "" for an item without one.
func (l *List) Key(i int) string {
	item := l.At(i)
	if !item.IsPresent() {
		return ""
	}
	value, _ := l.key.Of(item.of)
	for value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	switch {
	case !value.IsValid():
		return ""
	case value.Kind() == reflect.String:
		return value.String()
	default:
		return fmt.Sprint(value.Interface())
	}
}

// Find returns the position of the first item with a key, or -1.
func (l *List) Find(key string) int {
	for i := range l.Len() {
		if l.Key(i) == key {
			return i
		}
	}
	return -1
}
