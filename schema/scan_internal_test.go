package schema

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestEncoded sets every field of every patch type alone and not at all, and compares the walk over
// all encoded fields with what each field's slot says.
func TestEncoded(t *testing.T) {
	tested := 0
	visitPatches(JobSetTemplate().Field("spec").Type, patchType(t), map[*Type]bool{}, func(schema *Type, patch reflect.Type) {
		check := func(struc reflect.Value) {
			var got, want []string
			for f, value := range schema.Encoded(struc) {
				got = append(got, f.Name)
				if at, _ := f.Patch.Of(struc); at.Addr().Pointer() != value.Addr().Pointer() {
					t.Errorf("%v: %s comes with another field's value", patch, f.Name)
				}
			}
			for _, f := range schema.Patchable() {
				if _, encoded := f.Patch.Of(struc); encoded {
					want = append(want, f.Name)
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%v: Encoded yields %v, the slots say %v: %+v", patch, got, want, struc)
			}
			tested++
		}
		check(reflect.New(patch).Elem())
		for _, f := range schema.Patchable() {
			for _, empty := range []bool{false, true} {
				struc := reflect.New(patch).Elem()
				value, _ := f.Patch.Of(struc)
				fill(value, empty)
				check(struc)
			}
		}
	})
	if tested < 500 {
		t.Errorf("only %d structs were compared: the walk does not reach the patch types", tested)
	}
}

func patchType(t *testing.T) reflect.Type {
	t.Helper()
	spec, ok := templatePatch.FieldByName("Spec")
	if !ok {
		t.Fatalf("%v has no Spec", templatePatch)
	}
	return spec.Type.Elem()
}

// visitPatches calls visit with every struct of the schema and the patch's Go type beside it.
func visitPatches(t *Type, patch reflect.Type, seen map[*Type]bool, visit func(*Type, reflect.Type)) {
	for patch.Kind() == reflect.Pointer || patch.Kind() == reflect.Slice {
		patch = patch.Elem()
	}
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind {
	case Struct:
		visit(t, patch)
		for _, f := range t.Patchable() {
			visitPatches(f.Type, patch.FieldByIndex(f.Patch.Index).Type, seen, visit)
		}
	case ListMap:
		visitPatches(t.Elem, patch, seen, visit)
	}
}

// fill sets a value to something, or to the empty value that a Go program can tell from none.
func fill(v reflect.Value, empty bool) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, 1))
		if !empty {
			v.SetLen(1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		if !empty {
			v.SetMapIndex(reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem())
		}
	case reflect.Struct:
		if time, ok := v.Addr().Interface().(*metav1.Time); ok && !empty {
			*time = metav1.Unix(1, 0)
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() && !empty {
				fill(v.Field(i), false)
			}
		}
	case reflect.String:
		if !empty {
			v.SetString("x")
		}
	case reflect.Bool:
		v.SetBool(!empty)
	case reflect.Int, reflect.Int32, reflect.Int64:
		if !empty {
			v.SetInt(1)
		}
	}
}
