package render

import (
	"reflect"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// dropEmpty sets every empty list and map to nil: the controller's wire format omits them. The API
// may require the list, such as the rules of a podFailurePolicy. The API server then reports it as
// missing.
func dropEmpty(js *jobset.JobSet) { dropEmptyIn(reflect.ValueOf(js)) }

func dropEmptyIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			dropEmptyIn(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				dropEmptyIn(field)
			}
		}
	case reflect.Map, reflect.Slice:
		switch {
		case v.IsNil():
		case v.Len() == 0:
			v.SetZero()
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				dropEmptyIn(v.Index(i))
			}
		}
	}
}
