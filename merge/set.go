package merge

import (
	"cmp"
	"reflect"
	"slices"
)

// set merges two lists of strings by union, in the order of a list-map.
func (m *merger) set(dst, src reflect.Value, at node) {
	old, patch := dst.Interface().([]string), src.Interface().([]string)
	for _, element := range patch {
		m.presence(m.keyed(at, element), slices.Contains(old, element))
	}
	if len(old) == 0 {
		dst.Set(reflect.ValueOf(slices.Clone(patch)))
		return
	}
	server, union := dedupe(old, patch)
	place := func(list []string) func(a, b string) int {
		return func(a, b string) int { return cmp.Compare(slices.Index(list, a), slices.Index(list, b)) }
	}
	var named, others []string
	for _, element := range union {
		if slices.Contains(patch, element) {
			named = append(named, element)
		} else {
			others = append(others, element)
		}
	}
	slices.SortStableFunc(named, place(patch))
	slices.SortStableFunc(others, place(server))
	merged := make([]string, 0, len(union))
	for len(named) > 0 && len(others) > 0 {
		if slices.Contains(server, named[0]) && place(server)(others[0], named[0]) < 0 {
			merged, others = append(merged, others[0]), others[1:]
		} else {
			merged, named = append(merged, named[0]), named[1:]
		}
	}
	dst.Set(reflect.ValueOf(append(append(merged, named...), others...)))
}

// dedupe returns the elements of both lists, each once, and the list old as upstream then sees it.
// Upstream fills a twin's place with the last element of all, and where the decoder left room
// behind the old list it does so within that very list: an element of the patch can then count as
// one that stood there before. It takes an old list with twins to notice.
func dedupe(old, patch []string) (server, union []string) {
	room := 1
	for room < len(old) {
		room *= 2 // as append grows a list that is decoded element by element
	}
	server = append(make([]string, 0, room), old...)
	union = append(server, patch...)
	for i := 0; i < len(union); i++ {
		for j := i + 1; j < len(union); j++ {
			if union[i] == union[j] {
				union[j] = union[len(union)-1]
				union = union[:len(union)-1]
				j--
			}
		}
	}
	return server, union
}
