package engine

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/trainweld/trainweld/schema"
)

// set merges two lists of scalars by union, in the order of a list-map.
func (m *merger) set(t *schema.Type, dst reflect.Value, present bool, src reflect.Value, at node) error {
	if src.Kind() != reflect.Slice {
		return wrongType(src, "a list")
	}
	if items, ok := src.Interface().([]any); ok {
		switch inBase := present && !dst.IsNil(); {
		case inBase && !areAlike(items):
			return errors.New("must have elements of one type, none of them null")
		case !inBase && !m.verbatim:
			kept, _ := withoutDirectives(items)
			src = reflect.ValueOf(kept)
		}
	}
	patch := reflect.New(dst.Type()).Elem()
	if src.Type() == dst.Type() {
		m.plan.clone(patch, src)
	} else if err := m.read(t, patch, src.Interface()); err != nil {
		return err
	}
	if t.Elem.Kind != schema.Scalar && dst.Len() > 0 && patch.Len() > 0 {
		return errNoMergeKey
	}
	old, named := texts(dst), texts(patch)
	if len(named) == 0 {
		m.empty(at)
	}
	has := make(map[string]bool, len(old))
	for _, element := range old {
		has[element] = true
	}
	for _, element := range named {
		m.presence(m.keyed(at, element), has[element])
	}
	if len(old) == 0 {
		dst.Set(patch)
		return nil
	}
	if len(named) == 0 {
		return nil
	}
	server, union := dedupe(old, named)
	values := make(map[string]reflect.Value, len(union))
	for i, element := range named {
		values[element] = patch.Index(i)
	}
	for i, element := range old {
		values[element] = dst.Index(i)
	}
	merged := reflect.MakeSlice(dst.Type(), len(union), len(union))
	for place, i := range arrange(len(union), ranks(union, server), ranks(union, named)) {
		merged.Index(place).Set(values[union[i]])
	}
	dst.Set(merged)
	return nil
}

var errNoMergeKey = fmt.Errorf("a list of objects without a merge key cannot be merged")

// texts are the elements of a list of scalars, as paths name them.
func texts(list reflect.Value) []string {
	texts := make([]string, list.Len())
	for i := range texts {
		texts[i] = scalarText(list.Index(i))
	}
	return texts
}

// scalarText is a scalar as paths name it.
func scalarText(v reflect.Value) string {
	v = pointee(v)
	switch {
	case !v.IsValid():
		return "null"
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Struct:
		text, _ := jsonOf(v)
		return fmt.Sprint(text)
	default:
		return fmt.Sprint(v.Interface())
	}
}

// ranks are the places that elements have in a list, -1 where they are not in it.
func ranks(elements, list []string) []int32 {
	first := make(map[string]int32, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		first[list[i]] = int32(i)
	}
	at := make([]int32, len(elements))
	for i, element := range elements {
		if place, ok := first[element]; ok {
			at[i] = place
		} else {
			at[i] = -1
		}
	}
	return at
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
