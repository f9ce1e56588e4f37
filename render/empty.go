package render

import (
	"reflect"
	"sync"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// dropEmpty sets every empty list and map to nil: the controller's wire format omits them. The API may require the
// list, such as the rules of a podFailurePolicy. The API server then reports it as missing.
func dropEmpty(js *jobset.JobSet) { jobSetHolds().drop(reflect.ValueOf(js).Elem()) }

var jobSetHolds = sync.OnceValue(func() *holds {
	return holdsOf(reflect.TypeFor[jobset.JobSet](), map[reflect.Type]*holds{})
})

// A holds tells where values of a Go type hold lists and maps. It skips all other fields, such as most of a Pod's.
type holds struct {
	kind   reflect.Kind
	fields []int    // of a struct: the fields with lists or maps
	inner  []*holds // the holds of these fields, or of the elements of a pointer or a list
}

// holdsOf returns nil if t contains no list or map. It does not descend into map values.
func holdsOf(t reflect.Type, done map[reflect.Type]*holds) *holds {
	if h, ok := done[t]; ok {
		return h
	}
	h := &holds{kind: t.Kind()}
	done[t] = h
	some := false
	switch t.Kind() {
	case reflect.Map:
		some = true
	case reflect.Pointer, reflect.Slice:
		if inner := holdsOf(t.Elem(), done); inner != nil {
			h.inner = []*holds{inner}
		}
		some = t.Kind() == reflect.Slice || h.inner != nil
	case reflect.Struct:
		for i := range t.NumField() {
			if inner := holdsOf(t.Field(i).Type, done); inner != nil && t.Field(i).IsExported() {
				h.fields, h.inner = append(h.fields, i), append(h.inner, inner)
			}
		}
		some = h.fields != nil
	}
	if !some {
		h = nil
	}
	done[t] = h
	return h
}

func (h *holds) drop(v reflect.Value) {
	switch h.kind {
	case reflect.Pointer:
		if !v.IsNil() {
			h.inner[0].drop(v.Elem())
		}
	case reflect.Struct:
		for i, field := range h.fields {
			h.inner[i].drop(v.Field(field))
		}
	case reflect.Map:
		if !v.IsNil() && v.Len() == 0 {
			v.SetZero()
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		if v.Len() == 0 {
			v.SetZero()
		} else if h.inner != nil {
			for i := range v.Len() {
				h.inner[0].drop(v.Index(i))
			}
		}
	}
}
