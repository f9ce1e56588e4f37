// Package lookup finds values of decoded objects by their paths.
package lookup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
)

// Lists remembers the items of lists by their keys. The zero value knows none.
type Lists struct {
	items map[keyedList]map[string]int
	keys  map[*any]int // how many sets of keys items has of each list
}

// keyedList is a list, by its first item, and the names of keys. Elements of a set have none.
type keyedList struct {
	first *any
	names string
}

// mostKeys limits the sets of keys by which one list is indexed. A list of a cluster has one.
const mostKeys = 8

// At returns the value at a path, or nil. An item is the first of its key.
func (l *Lists) At(value any, path fieldpath.Path) any {
	for _, step := range path {
		switch in := value.(type) {
		case map[string]any:
			name, _ := step.Name()
			value = in[name]
		case []any:
			i, ok := l.Position(in, step)
			if !ok {
				return nil
			}
			value = in[i]
		default:
			return nil
		}
	}
	return value
}

// Position returns where a step leads to in a list. A key matches as text or as a number. An item
// may omit one of several keys, which then has its default.
func (l *Lists) Position(list []any, step fieldpath.Step) (int, bool) {
	if i, ok := step.Index(); ok {
		return i, i >= 0 && i < len(list)
	}
	element, isElement := step.Element()
	keys := step.Keys()
	if keys == nil && !isElement || len(list) == 0 {
		return 0, false
	}
	names, values := make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		names[i], values[i] = key.Name, fmt.Sprint(key.Value)
	}
	if isElement {
		values = []string{element}
	}
	first := l.index(list, names)
	at, ok := first[strings.Join(values, and)]
	for i := 0; !ok && len(keys) > 1 && i < len(keys); i++ {
		value := values[i]
		values[i] = ""
		at, ok = first[strings.Join(values, and)]
		values[i] = value
	}
	return at, ok
}

// and separates the values of several keys.
const and = "\x00"

// index returns the first item of each key in a list.
func (l *Lists) index(list []any, names []string) map[string]int {
	of := keyedList{&list[0], fmt.Sprintf("%q", names)}
	if l.items[of] != nil || l.keys[of.first] == mostKeys {
		return l.items[of]
	}
	first := map[string]int{}
	for i, item := range slices.Backward(list) {
		if text, ok := keyOf(item, names); ok {
			first[text] = i
		}
	}
	if l.items == nil {
		l.items, l.keys = map[keyedList]map[string]int{}, map[*any]int{}
	}
	l.items[of] = first
	l.keys[of.first]++
	return first
}

// keyOf returns the text of an item's keys, or of an element. An item without its only key has
// none.
func keyOf(item any, names []string) (text string, ok bool) {
	if len(names) == 0 {
		return fieldpath.ElementOf(item).Element()
	}
	fields, ok := item.(map[string]any)
	values := make([]string, len(names))
	for n, name := range names {
		if fields[name] != nil {
			values[n] = fmt.Sprint(fields[name])
		} else if len(names) == 1 {
			ok = false
		}
	}
	return strings.Join(values, and), ok
}
