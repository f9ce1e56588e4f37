package upstream_test

import "github.com/trainweld/trainweld/fuzz/upstream"

// Edits of JSON objects by path. They do nothing and return false if the path does not exist.

// set sets a field, and makes the objects around it; nil takes it out.
func set(object any, value any, path ...string) bool {
	o, ok := object.(upstream.Object)
	for ; ok && len(path) > 1; path = path[1:] {
		next, isObject := o[path[0]].(upstream.Object)
		if !isObject {
			if o[path[0]] != nil {
				return false
			}
			next = upstream.Object{}
			o[path[0]] = next
		}
		o = next
	}
	if !ok {
		return false
	}
	if value == nil {
		delete(o, path[0])
	} else {
		o[path[0]] = value
	}
	return true
}

// list is the list at the path, nil where there is none.
func list(object any, path ...string) []any {
	items, _ := within(object, path...).([]any)
	return items
}

// within is the value at the path, nil where there is none.
func within(object any, path ...string) any {
	for _, name := range path {
		o, _ := object.(upstream.Object)
		object = o[name]
	}
	return object
}

// pick is one of the values.
func pick[T any](m mutator, values ...T) T { return values[m.IntN(len(values))] }
