package tree

import "reflect"

// Nesting finds a value that contains itself, as encoding/json does. Below a certain depth it looks
// at the places of the values around.
type Nesting struct {
	depth  int
	around map[place]bool
}

// place identifies a value by its memory. A list may begin where its first item does.
type place struct {
	at     uintptr
	length int // of a list or a map; -1 for a pointer
}

func placeOf(v reflect.Value) place {
	if v.Kind() == reflect.Pointer {
		return place{v.Pointer(), -1}
	}
	return place{v.Pointer(), v.Len()}
}

// mostUnwatched is the depth from which on Nesting looks at places, so that few values need memory
// for that.
const mostUnwatched = 1000

// Enter begins a pointer, a list or a map. It reports whether that contains itself; otherwise Leave
// ends it.
func (n *Nesting) Enter(v reflect.Value) (isCyclic bool) {
	n.depth++
	if !n.watches(v) {
		return false
	}
	if n.around[placeOf(v)] {
		return true
	}
	if n.around == nil {
		n.around = map[place]bool{}
	}
	n.around[placeOf(v)] = true
	return false
}

// Leave ends the value that Enter began last.
func (n *Nesting) Leave(v reflect.Value) {
	if n.watches(v) {
		delete(n.around, placeOf(v))
	}
	n.depth--
}

// watches reports whether Enter looks at the place of a value. An empty list may have the place of
// another one.
func (n *Nesting) watches(v reflect.Value) bool {
	return n.depth > mostUnwatched && (v.Kind() == reflect.Pointer || v.Len() > 0)
}
