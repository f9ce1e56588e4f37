package jsonvalue

import "reflect"

// Nesting finds a value that contains itself, as encoding/json does: below a certain depth it looks at the places of the values
// around.
type Nesting struct {
	depth  int
	around map[uintptr]bool
}

// mostUnwatched is the depth from which on Nesting looks at places, so that few values need memory for that.
const mostUnwatched = 1000

// Enter begins a pointer, a list or a map. It reports whether that contains itself; otherwise Leave ends it.
func (n *Nesting) Enter(v reflect.Value) (isCyclic bool) {
	n.depth++
	if !n.watches(v) {
		return false
	}
	if n.around[v.Pointer()] {
		return true
	}
	if n.around == nil {
		n.around = map[uintptr]bool{}
	}
	n.around[v.Pointer()] = true
	return false
}

// Leave ends the value that Enter began last.
func (n *Nesting) Leave(v reflect.Value) {
	if n.watches(v) {
		delete(n.around, v.Pointer())
	}
	n.depth--
}

// watches reports whether Enter looks at the place of a value. An empty list may have the place of another one.
func (n *Nesting) watches(v reflect.Value) bool {
	return n.depth > mostUnwatched && (v.Kind() == reflect.Pointer || v.Len() > 0)
}
