package merge

import (
	"encoding/json"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// shape describes how to copy a struct type.
type shape struct {
	deep []int // the fields that share memory on assignment
	json bool  // whether to copy through JSON, because the fields do not hold the whole value
}

// isDeep reports whether values of the type share memory on assignment.
func (s shape) isDeep() bool { return s.json || len(s.deep) > 0 }

// shapeOf reports whether values of the type share memory on assignment. It records every struct type that it visits.
func (p *plan) shapeOf(t reflect.Type) (deep bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		p.shapeOf(t.Elem())
		return true
	case reflect.Array:
		return p.shapeOf(t.Elem())
	case reflect.Interface:
		return true
	case reflect.Struct:
		if s, ok := p.shapes[t]; ok {
			return s.isDeep()
		}
		var s shape
		switch {
		case t == reflect.TypeFor[time.Time](): // nothing writes to its location
		case hidesFields(t):
			s.json = true
		default:
			p.shapes[t] = shape{deep: []int{0}} // a placeholder, for a type that contains itself
			for i := range t.NumField() {
				if p.shapeOf(t.Field(i).Type) {
					s.deep = append(s.deep, i)
				}
			}
		}
		p.shapes[t] = s
		return s.isDeep()
	}
	return false
}

// hidesFields reports whether a struct with its own JSON encoder holds memory that only the encoder can copy.
func hidesFields(t reflect.Type) bool {
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
		return false
	}
	for i := range t.NumField() {
		switch f := t.Field(i); f.Type.Kind() {
		case reflect.Interface:
			return true
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct:
			if !f.IsExported() {
				return true
			}
		}
	}
	return false
}

// isDeep reports whether values of the type share memory on assignment.
func (p *plan) isDeep(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	case reflect.Array:
		return p.isDeep(t.Elem())
	case reflect.Struct:
		return p.shapes[t].isDeep()
	default:
		return false
	}
}

// clone sets dst to a copy of src that shares no memory with it. Both have the same type. If src is nil, dst must be so already.
func (p *plan) clone(dst, src reflect.Value) {
	switch src.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		if src.IsNil() {
			return
		}
	}
	switch src.Kind() {
	case reflect.Pointer:
		copied := reflect.New(src.Type().Elem())
		p.clone(copied.Elem(), src.Elem())
		dst.Set(copied)
	case reflect.Slice:
		makeList(dst, src.Len())
		if !p.isDeep(src.Type().Elem()) {
			reflect.Copy(dst, src)
			return
		}
		for i := range src.Len() {
			p.clone(dst.Index(i), src.Index(i))
		}
	case reflect.Array:
		for i := range src.Len() {
			p.clone(dst.Index(i), src.Index(i))
		}
	case reflect.Map:
		m := reflect.MakeMapWithSize(src.Type(), src.Len())
		for entries := src.MapRange(); entries.Next(); {
			value := reflect.New(src.Type().Elem()).Elem()
			p.clone(value, entries.Value())
			m.SetMapIndex(entries.Key(), value)
		}
		dst.Set(m)
	case reflect.Interface:
		copied := reflect.New(src.Elem().Type()).Elem()
		p.clone(copied, src.Elem())
		dst.Set(copied)
	case reflect.Struct:
		s := p.shapes[src.Type()]
		if s.json {
			cloneByJSON(dst, src)
			return
		}
		dst.Set(src)
		for _, i := range s.deep {
			p.clone(dst.Field(i), src.Field(i))
		}
	default:
		dst.Set(src)
	}
}

// makeList sets an addressable list to n empty items in new memory.
func makeList(dst reflect.Value, n int) {
	if n == 0 {
		dst.Set(reflect.MakeSlice(dst.Type(), 0, 0)) // not nil
		return
	}
	dst.SetZero()
	dst.Grow(n)
	dst.SetLen(n)
}

// cloneByJSON copies a value whose fields do not hold the whole value.
func cloneByJSON(dst, src reflect.Value) {
	if q, ok := src.Interface().(resource.Quantity); ok {
		dst.Set(reflect.ValueOf(q.DeepCopy()))
		return
	}
	dst.Set(src) // the result if the value has no JSON
	copied := reflect.New(dst.Type()).Elem()
	if decode(copied, src.Interface()) == nil {
		dst.Set(copied)
	}
}
