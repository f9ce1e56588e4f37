package merge

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/schema"
)

// This file finds the items of a list by the text of their merge keys.

// patchKey is the merge key of a patch's item.
type patchKey struct {
	text string
	ok   bool // whether the item has one
}

// A keyType is the Go type of a merge key or of an element. It is nil if a definition describes the
// list.
type keyType struct{ reflect.Type }

// keyTypeOf returns the type of the keys of a list-map, or of the elements of another list.
func keyTypeOf(t *schema.Type) keyType {
	if key := t.KeyField(); key != nil {
		return keyType{key.Type.GoType()}
	}
	return keyType{t.Elem.GoType()}
}

// text returns a key as it appears in paths. A key of another JSON type than the Go type's equals
// no key of a Go value.
func (of keyType) text(key any) string {
	want := "string"
	if of.Type != nil && of.Kind() == reflect.Bool {
		want = "boolean"
	} else if of.Type != nil && of.Kind() != reflect.String && of.Kind() != reflect.Struct {
		want = "number"
	}
	if of.Type == nil || typeInJSON(key) == want || isComposite(key) {
		return scalarText(key)
	}
	return typedKey(key)
}

// itemName returns the merge key of an item, and reports whether the item has one.
func itemName(t *schema.Type, item any) (string, bool) {
	object, _ := item.(Object)
	key := object[t.Key]
	if key == nil {
		if empty := t.KeyField().Empty(); empty != nil {
			return scalarText(empty), false
		}
		return "", false
	}
	return keyTypeOf(t).text(key), true
}

// firsts finds the first item with a key among the preceding items of a patch's list.
type firsts struct {
	names []patchKey
	index map[string]int32 // nil for a list that is short enough to search
}

func firstsOf(names []patchKey) firsts {
	f := firsts{names: names}
	if len(names) > smallList {
		f.index = make(map[string]int32, len(names))
		for i, name := range names {
			if _, known := f.index[name.text]; !known && name.ok {
				f.index[name.text] = int32(i)
			}
		}
	}
	return f
}

// find returns the position of the first of n items with the key, or -1.
func (f *firsts) find(n int, text string) int {
	if f.index != nil {
		if first, known := f.index[text]; known && int(first) < n {
			return int(first)
		}
		return -1
	}
	return slices.Index(f.names[:n], patchKey{text, true})
}

// elementTexts returns the elements of a list of scalars as they appear in paths.
func elementTexts(t *schema.Type, list []any) []string {
	texts, of := make([]string, len(list)), keyTypeOf(t)
	for i := range texts {
		texts[i] = of.text(list[i])
	}
	return texts
}

// scalarText returns a scalar as it appears in paths.
func scalarText(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// itemKeys returns the keys of a list-map, or the elements of another list.
func itemKeys(t *schema.Type, list []any) []string {
	if t.Key == "" {
		return elementTexts(t, list)
	}
	keys := make([]string, len(list))
	for i := range keys {
		keys[i], _ = itemName(t, list[i])
	}
	return keys
}

var errNoMergeKey = fmt.Errorf("a list of objects without a merge key cannot be merged")

// smallList is the length up to which a linear search beats a Go map.
const smallList = 32

// keyIn returns the log's key of an item of a patch's list.
func keyIn(t *schema.Type, item any) string {
	if t.Key != "" {
		object, _ := item.(Object)
		item = object[t.Key]
	}
	return keyTypeOf(t).text(item)
}
