// Package walk reads the Go values of templates and patches along their types. It finds the items
// of lists by their merge keys, so that several values can be read side by side.
package walk

import (
	"fmt"
	"reflect"

	"github.com/trainweld/trainweld/schema"
)

// Value is a value within a template or a patch, through pointers. The zero Value is absent.
type Value struct {
	reflect.Value
	InPatch bool
}

func (v Value) slot(f *schema.StructField) *schema.Slot {
	if v.InPatch {
		return f.Patch
	}
	return &f.Template
}

// Has reports whether the JSON of a struct has the field with a value other than null.
func (v Value) Has(f *schema.StructField) bool {
	value, encoded := v.slot(f).Of(v.Value)
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

// At returns the value of a struct's field. It is absent if Has is false.
func (v Value) At(f *schema.StructField) Value {
	if !v.Has(f) {
		return Value{InPatch: v.InPatch}
	}
	value, _ := v.slot(f).Of(v.Value)
	return Value{reflect.Indirect(value), v.InPatch}
}

// Items returns the items of a list-map or the elements of a set, none if it is absent.
func (v Value) Items(t *schema.Type) Items {
	const short = 32
	l := Items{of: v}
	if key := t.KeyField(); key != nil {
		l.key = v.slot(key)
	}
	if l.Len() <= short {
		return l
	}
	l.first = make(map[string]int, l.Len())
	for i := l.Len() - 1; i >= 0; i-- {
		l.first[l.Key(i)] = i
	}
	return l
}

// Items holds the items of a list-map or the elements of a set, or none.
type Items struct {
	of    Value
	key   *schema.Slot   // nil for a set
	first map[string]int // the first item of each key; nil where a search is as fast
}

// Len returns the number of items.
func (l *Items) Len() int {
	if !l.of.IsValid() {
		return 0
	}
	return l.of.Len()
}

// At returns an item. It is absent for -1.
func (l *Items) At(i int) Value {
	if i < 0 {
		return Value{}
	}
	return Value{reflect.Indirect(l.of.Index(i)), l.of.InPatch}
}

// Key returns the merge key of an item as a text, or "" if the item has none. The key of an element
// is the element.
func (l *Items) Key(i int) string {
	key := l.At(i).Value
	if l.key != nil {
		key, _ = l.key.Of(key)
	}
	switch key = reflect.Indirect(key); {
	case !key.IsValid():
		return ""
	case key.Kind() == reflect.String:
		return key.String()
	default:
		return fmt.Sprint(key.Interface())
	}
}

// Keys returns the keys of all items.
func (l *Items) Keys() []string {
	keys := make([]string, l.Len())
	for i := range keys {
		keys[i] = l.Key(i)
	}
	return keys
}

// Find returns the position of the first item with a key, or -1.
func (l *Items) Find(key string) int {
	if i, ok := l.first[key]; ok {
		return i
	}
	for i := 0; l.first == nil && i < l.Len(); i++ {
		if l.Key(i) == key {
			return i
		}
	}
	return -1
}

// Named returns the first item with a key. It is absent if there is none.
func (l *Items) Named(key string) Value { return l.At(l.Find(key)) }
