package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
)

// Merges reports whether the parts of values merge: the fields of a Struct, the entries of a Map,
// and the items of a ListMap or a Set. It is false for nil.
func (t *Type) Merges() bool {
	return t != nil && slices.Contains([]Kind{Struct, Map, ListMap, Set}, t.Kind)
}

// HasItems reports whether the type is a list that merges item by item: a ListMap or a Set. It is
// false for nil.
func (t *Type) HasItems() bool { return t != nil && (t.Kind == ListMap || t.Kind == Set) }

// For returns how a value of decoded JSON merges. In an Untyped field that depends on the value.
func (t *Type) For(value any) *Type {
	if t == nil || t.Kind != Untyped {
		return t
	}
	switch value.(type) {
	case map[string]any:
		return t.Object
	case []any:
		return t.List
	default:
		return t
	}
}

// Item returns the step to an item of a ListMap by its merge keys, or to an element of a Set. The
// item is decoded JSON. The result is false for an item without a key, and for other types.
func (t *Type) Item(item any) (fieldpath.Step, bool) {
	switch {
	case t == nil:
	case t.Kind == Set && isScalar(item):
		if t.Elem == nil || t.Elem.goType == nil {
			return fieldpath.ElementOf(item), true
		}
		return fieldpath.Element(fmt.Sprint(item)), true
	case t.Kind == ListMap:
		fields, _ := item.(map[string]any)
		return t.itemOf(fields)
	}
	return fieldpath.Step{}, false
}

func (t *Type) itemOf(fields map[string]any) (fieldpath.Step, bool) {
	if len(t.Keys) == 0 {
		value := fields[t.Key]
		if !isScalar(value) {
			return fieldpath.Step{}, false
		}
		if t.key != nil && indirect(t.key.Type.goType).Kind() == reflect.Struct { // an IntOrString
			return fieldpath.ItemBy(fieldpath.ItemKey{Name: t.Key, Value: value}), true
		}
		return fieldpath.Item(t.Key, fmt.Sprint(value)), true
	}
	var keys []fieldpath.ItemKey
	of := t.Elem
	if of.Object != nil {
		of = of.Object
	}
	for _, name := range t.Keys {
		value, isSet := fields[name]
		if f := of.Field(name); !isSet && f != nil {
			value = f.Default
		}
		if value != nil && !isScalar(value) {
			return fieldpath.Step{}, false
		}
		if isSet || value != nil {
			keys = append(keys, fieldpath.ItemKey{Name: name, Value: value})
		}
	}
	return fieldpath.ItemBy(keys...), len(keys) > 0
}

func isScalar(value any) bool {
	switch value.(type) {
	case string, bool, int64, float64, json.Number:
		return true
	}
	return false
}
