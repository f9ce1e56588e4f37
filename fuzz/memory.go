package fuzz

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Copy returns a copy of a decoded JSON value, which shares no memory with it.
func Copy(v any) any {
	switch v := v.(type) {
	case object:
		out := make(object, len(v))
		for key, field := range v {
			out[key] = Copy(field)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = Copy(v[i])
		}
		return out
	}
	return v
}

// Permute calls try with every order of the items until it returns false, and reports whether it
// never did. The list is the same each time.
func Permute[T any](items []T, try func([]T) bool) bool {
	var permute func(fixed int) bool
	permute = func(fixed int) bool {
		if fixed >= len(items)-1 {
			return try(items)
		}
		for i := fixed; i < len(items); i++ {
			items[fixed], items[i] = items[i], items[fixed]
			if !permute(fixed + 1) {
				return false
			}
			items[fixed], items[i] = items[i], items[fixed]
		}
		return true
	}
	return permute(0)
}

// Scribble changes everything that can be reached through a pointer, a list or a map, in place,
// except what its type hides.
func Scribble(value any) { scribble(reflect.ValueOf(value)) }

func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			scribble(v.Elem())
		}
		if v.Kind() == reflect.Pointer {
			return
		}
	case reflect.Slice:
		// Values behind the end of a list are shared as well, if anything is.
		for i, all := 0, v.Slice(0, v.Cap()); i < all.Len(); i++ {
			scribble(all.Index(i))
		}
		return
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			scribble(value)
			v.SetMapIndex(key, value)
		}
		if !v.IsNil() {
			v.SetMapIndex(reflect.New(v.Type().Key()).Elem(), reflect.Zero(v.Type().Elem()))
		}
		return
	case reflect.Struct:
		if v.CanAddr() {
			switch p := v.Addr().Interface().(type) {
			case *resource.Quantity:
				p.Add(resource.MustParse("7"))
				return
			case *metav1.Time:
				p.Time = p.AddDate(1, 0, 0)
				return
			}
		}
		for i := range v.NumField() {
			if v.Field(i).CanInterface() {
				scribble(v.Field(i))
			}
		}
		return
	}
	if !v.CanSet() {
		return
	}
	switch {
	case v.Kind() == reflect.String:
		v.SetString(v.String() + "~")
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanInt():
		v.SetInt(v.Int() ^ 1)
	case v.CanUint():
		v.SetUint(v.Uint() ^ 1)
	default:
		v.SetZero()
	}
}
