package merge

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file finds the items of a list by the text of their merge keys.

// keys reads the merge keys of the items of a Go list.
type keys struct {
	list reflect.Value
	slot *schema.Slot
}

// keysIn returns the keys of the items of a list-map.
func keysIn(t *schema.Type, list reflect.Value) keys {
	return keys{list: list, slot: &t.KeyField().Template}
}

// at returns the key of an item and reports whether the item's encoding has one.
func (k *keys) at(i int) (string, bool) { return keyOf(k.slot, pointee(k.list.Index(i))) }

// find returns the position of the first item with the key among the first n items, or -1.
func (k *keys) find(n int, name string) int {
	for i := range n {
		if other, _ := k.at(i); other == name {
			return i
		}
	}
	return -1
}

// patchKey is the merge key of a patch's item.
type patchKey struct {
	text string
	ok   bool // whether the item has one
}

// A keyType is the Go type of a merge key or of an element. It is nil if a definition describes the list.
type keyType struct{ reflect.Type }

// keyTypeOf returns the type of the keys of a list-map, or of the elements of another list.
func keyTypeOf(t *schema.Type) keyType {
	if key := t.KeyField(); key != nil {
		return keyType{key.Type.GoType()}
	}
	return keyType{t.Elem.GoType()}
}

// text returns a key of a patch's JSON as scalarText returns the same key in a Go value. A key of another JSON type equals no
// key of a Go value.
func (of keyType) text(key any) string {
	want := "string"
	if of.Type != nil && of.Kind() == reflect.Bool {
		want = "boolean"
	} else if of.Type != nil && of.Kind() != reflect.String && of.Kind() != reflect.Struct {
		want = "number"
	}
	if of.Type == nil || typeInJSON(key) == want {
		return scalarText(reflect.ValueOf(key))
	}
	return typedKey(key)
}

// keyOf returns the merge key of an item and reports whether the item's encoding has one.
func keyOf(slot *schema.Slot, item reflect.Value) (string, bool) {
	v, encoded := slot.Of(item)
	if v = pointee(v); !v.IsValid() {
		return "", false
	}
	return scalarText(v), encoded
}

// isEmptyKey reports whether a merge key is empty: the encoding of an item may omit it.
func isEmptyKey(name string) bool {
	return name == "" || name == "0" || name == "false" || name == typedMark+"0"
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

// errNoKey is upstream's error for a list with an item that lacks its merge key. Upstream fails only if the base has the list,
// because it takes a list that the base lacks verbatim.
func errNoKey(index int, key string) error {
	return within(fieldpath.Index(index), fmt.Errorf("an item without its merge key cannot be merged; give it a %s", strconv.Quote(key)))
}

// elementTexts returns the elements of a list of scalars as they appear in paths.
func elementTexts(list reflect.Value) []string {
	texts := make([]string, list.Len())
	for i := range texts {
		texts[i] = scalarText(list.Index(i))
	}
	return texts
}

// scalarText returns a scalar as it appears in paths.
func scalarText(v reflect.Value) string {
	v = pointee(v)
	switch {
	case !v.IsValid():
		return "null"
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Struct:
		value, _ := jsonOf(v)
		if text, ok := value.(string); isScalar(value) && (!ok || strings.HasPrefix(text, typedMark)) {
			return typedKey(value) // 80 and "80" are two values of an IntOrString
		}
		return fmt.Sprint(value)
	default:
		return fmt.Sprint(v.Interface())
	}
}

// itemKeys returns the keys of a list-map, or the elements of another list.
func itemKeys(t *schema.Type, list reflect.Value) []string {
	if t.Key == "" {
		return elementTexts(list)
	}
	names := keysIn(t, list)
	keys := make([]string, list.Len())
	for i := range keys {
		keys[i], _ = names.at(i)
	}
	return keys
}

var errNoMergeKey = fmt.Errorf("a list of objects without a merge key cannot be merged")

const (
	// mostSearched limits the search for a list. A list whose description is further away gets another one.
	mostSearched = 256
	// smallList is the length up to which a linear search beats a Go map.
	smallList = 32
	// mostReserved limits the memory reserved for new items of a shorter list. The items that patches name may exist already, and then
	// add nothing.
	mostReserved = 64
)

// keyText returns an item's merge key as it appears in a path.
func keyText(key *schema.StructField, item reflect.Value) string {
	name, _ := keyOf(&key.Template, pointee(item))
	return name
}

// keyIn returns the log's key of an item of a patch's list.
func keyIn(t *schema.Type, item any) string {
	if t.Key != "" {
		object, _ := item.(Object)
		item = object[t.Key]
	}
	return keyTypeOf(t).text(item)
}
