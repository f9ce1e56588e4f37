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
			return keyTypeOf(t).text(empty), false
		}
		return "", false
	}
	return keyTypeOf(t).text(key), true
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

var errNoMergeKey = fmt.Errorf("a list of objects without a merge key cannot be merged")

// smallList is the length up to which a linear search beats a Go map.
const smallList = 32

// keysOf returns the log's keys of the items of a list-map, or of the elements of another list.
func keysOf(t *schema.Type, list []any) []string {
	keys := make([]string, len(list))
	for i := range keys {
		keys[i] = keyOf(t, list[i])
	}
	return keys
}

// keyOf returns the log's key of an item or an element.
func keyOf(t *schema.Type, item any) (key string) {
	switch {
	case t.GoType() == nil:
		key, _ = itemKeyOf(t, item) // it has one, as was checked
	case t.Key == "":
		key = keyTypeOf(t).text(item)
	default:
		key, _ = itemName(t, item)
	}
	return key
}

// keysOfPatch returns the keys of the items of a patch's list.
func keysOfPatch(t *schema.Type, items []any) []patchKey {
	keys := make([]patchKey, len(items))
	for i, item := range items {
		keys[i].text, keys[i].ok = itemName(t, item)
	}
	return keys
}

// secondOf returns the place of the first item of a patch's list whose key an earlier one has, or
// -1.
func secondOf(keys []patchKey) int {
	var seen map[patchKey]bool
	if len(keys) > smallList {
		seen = make(map[patchKey]bool, len(keys))
	}
	for i, key := range keys {
		if key.ok && (seen[key] || seen == nil && slices.Contains(keys[:i], key)) {
			return i
		}
		if seen != nil {
			seen[key] = true
		}
	}
	return -1
}
