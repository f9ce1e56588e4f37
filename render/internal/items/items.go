// Package items finds the items of lists by their merge keys, so that several objects can be read
// side by side.
package items

import (
	"fmt"

	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// List holds the items of a list-map or the elements of a set, or none.
type List struct {
	of    []any
	key   string         // "" for a set
	first map[string]int // the first item of each key; nil where a search is as fast
}

// Of returns the items of a value, none if it is no list.
func Of(t *schema.Type, value any) List {
	const short = 32
	list, _ := value.([]any)
	l := List{of: list, key: t.Key}
	if len(list) <= short {
		return l
	}
	l.first = make(map[string]int, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		l.first[l.Key(i)] = i
	}
	return l
}

// Len returns the number of items.
func (l *List) Len() int { return len(l.of) }

// At returns an item. It is nil for -1, and for an item that is no object.
func (l *List) At(i int) merge.Object {
	if i < 0 {
		return nil
	}
	item, _ := l.of[i].(merge.Object)
	return item
}

// Key returns the merge key of an item as a text, or "" if the item has none. The key of an element
// is the element.
func (l *List) Key(i int) string {
	key := l.of[i]
	if l.key != "" {
		key = l.At(i)[l.key]
	}
	switch key := key.(type) {
	case nil:
		return ""
	case string:
		return key
	default:
		return fmt.Sprint(key)
	}
}

// Keys returns the keys of all items.
func (l *List) Keys() []string {
	keys := make([]string, l.Len())
	for i := range keys {
		keys[i] = l.Key(i)
	}
	return keys
}

// Find returns the position of the first item with a key, or -1.
func (l *List) Find(key string) int {
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

// Named returns the first item with a key, nil if there is none.
func (l *List) Named(key string) merge.Object { return l.At(l.Find(key)) }

// IsUnique reports whether no two items have the same key.
func (l *List) IsUnique() bool {
	for i := range l.of {
		if l.Find(l.Key(i)) < i {
			return false
		}
	}
	return true
}
