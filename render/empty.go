package render

import "reflect"

// dropEmpty makes every empty list and map nil, as they come out of the controller: the form in which
// it sends objects has no empty ones. Where the API requires the list, such as the rules of a
// podFailurePolicy, the API server then misses it.
func dropEmpty(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			dropEmpty(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				dropEmpty(f)
			}
		}
	case reflect.Map:
		if v.Len() == 0 {
			v.SetZero()
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.SetZero()
		}
		for i := range v.Len() {
			dropEmpty(v.Index(i))
		}
	}
}
