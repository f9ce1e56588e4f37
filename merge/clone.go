package merge

import (
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

// shape says what copying a struct type takes.
type shape struct {
	deep []int // the fields that share memory when they are merely assigned
	maps bool  // whether a map can be reached, so that directives are looked for at all
}

// shapes knows every struct type that a template or a patch can hold.
var shapes = sync.OnceValue(func() map[reflect.Type]shape {
	known := map[reflect.Type]shape{}
	shapeOf(reflect.TypeFor[jobset.JobSetSpec](), known)
	shapeOf(reflect.TypeFor[trainer.JobSetTemplatePatch](), known)
	return known
})

// shapeOf reports whether values of the type share memory when assigned, and whether they hold maps.
func shapeOf(t reflect.Type, known map[reflect.Type]shape) (deep, maps bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		_, maps = shapeOf(t.Elem(), known)
		return true, maps
	case reflect.Map:
		return true, true
	case reflect.Struct:
		switch t {
		case reflect.TypeFor[time.Time]():
			return false, false // its location is never written to
		case reflect.TypeFor[resource.Quantity]():
			return true, false
		}
		if s, ok := known[t]; ok {
			return len(s.deep) > 0, s.maps
		}
		var s shape
		for i := range t.NumField() {
			fieldDeep, fieldMaps := shapeOf(t.Field(i).Type, known)
			if fieldDeep {
				s.deep = append(s.deep, i)
			}
			s.maps = s.maps || fieldMaps
		}
		known[t] = s
		return len(s.deep) > 0, s.maps
	default:
		return false, false
	}
}

// clone sets dst to a copy of src that shares no memory with it. Both have the same type.
func clone(dst, src reflect.Value) {
	switch src.Kind() {
	case reflect.Pointer:
		if src.IsNil() {
			dst.SetZero()
			return
		}
		p := reflect.New(src.Type().Elem())
		clone(p.Elem(), src.Elem())
		dst.Set(p)
	case reflect.Slice:
		if src.IsNil() {
			dst.SetZero()
			return
		}
		if src.Type() == reflect.TypeFor[[]corev1.Toleration]() && src.CanAddr() && dst.CanAddr() {
			*dst.Addr().Interface().(*[]corev1.Toleration) = cloneTolerations(*src.Addr().Interface().(*[]corev1.Toleration))
			return
		}
		list := reflect.MakeSlice(src.Type(), src.Len(), src.Len())
		reflect.Copy(list, src)
		if isDeep(src.Type().Elem()) {
			for i := range src.Len() {
				clone(list.Index(i), src.Index(i))
			}
		}
		dst.Set(list)
	case reflect.Map:
		if src.IsNil() {
			dst.SetZero()
			return
		}
		m := reflect.MakeMapWithSize(src.Type(), src.Len())
		for entries := src.MapRange(); entries.Next(); {
			value := reflect.New(src.Type().Elem()).Elem()
			clone(value, entries.Value())
			m.SetMapIndex(entries.Key(), value)
		}
		dst.Set(m)
	case reflect.Struct:
		if q, ok := src.Interface().(resource.Quantity); ok {
			dst.Set(reflect.ValueOf(q.DeepCopy()))
			return
		}
		dst.Set(src)
		for _, i := range shapes()[src.Type()].deep {
			clone(dst.Field(i), src.Field(i))
		}
	default:
		dst.Set(src)
	}
}

// cloneTolerations is clone for the list that patches replace most.
func cloneTolerations(src []corev1.Toleration) []corev1.Toleration {
	list := make([]corev1.Toleration, len(src))
	for i := range src {
		src[i].DeepCopyInto(&list[i])
	}
	return list
}

// isPlain reports whether values of the kind are copied by assigning them.
func isPlain(k reflect.Kind) bool {
	return k == reflect.String || k == reflect.Bool || k == reflect.Int32 || k == reflect.Int64
}

func isDeep(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return true
	case reflect.Struct:
		return t == reflect.TypeFor[resource.Quantity]() || len(shapes()[t].deep) > 0
	default:
		return false
	}
}
