package fuzz

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainweld/trainweld/check"
)

// Smaller returns a function that offers copies of the case which lack one thing each: a patch, a
// list item, a map's entry, a field. It says false when there are no more. With Options.Checked it
// offers only what check.Patches passes.
func Smaller(c *Case, opts Options) func() (*Case, bool) {
	n := 0
	return func() (*Case, bool) {
		for {
			small := c.Clone()
			// The patches go first: a case with fewer of them is easier to read.
			if !Drop(n, &small.Patches, small.Template) {
				return nil, false
			}
			n++
			if !opts.Checked || check.Patches(small.Template, small.Patches).Err() == nil {
				return small, true
			}
		}
	}
}

// SmallerDocuments returns a function that offers copies of the documents which lack one field or item each, the
// outermost first. It says false when there are no more.
func SmallerDocuments(d *Documents) func() (*Documents, bool) {
	n := 0
	return func() (*Documents, bool) {
		small := d.Clone()
		if !Drop(n, &small.TrainJob, &small.Runtime) {
			return nil, false
		}
		n++
		return small, true
	}
}

// Drop takes the n-th thing away from the values that the pointers lead to: the n-th of all their
// list items, map entries and fields that are set, the outermost first. It reports false, and
// changes nothing, when there are n things or fewer.
func Drop(n int, values ...any) bool {
	level := make([]reflect.Value, 0, len(values))
	for _, v := range values {
		level = append(level, reflect.ValueOf(v).Elem())
	}
	for len(level) > 0 {
		var below []reflect.Value
		for _, v := range level {
			things := dropsOf(v)
			if n < len(things) {
				things[n]()
				return true
			}
			n -= len(things)
			below = append(below, inside(v)...)
		}
		level = below
	}
	return false
}

// dropsOf are the ways of taking one thing away from v itself.
func dropsOf(v reflect.Value) (drops []func()) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			drops = append(drops, v.SetZero)
		}
	case reflect.Slice:
		for i := range v.Len() {
			drops = append(drops, func() {
				v.Set(reflect.AppendSlice(v.Slice3(0, i, i), v.Slice(i+1, v.Len())))
			})
		}
		if v.Len() == 0 && !v.IsNil() {
			drops = append(drops, v.SetZero)
		}
	case reflect.Map:
		for _, key := range keysOf(v) {
			drops = append(drops, func() { v.SetMapIndex(key, reflect.Value{}) })
			list, _ := v.MapIndex(key).Interface().([]any)
			for i := range list {
				drops = append(drops, func() { v.SetMapIndex(key, reflect.ValueOf(slices.Delete(slices.Clone(list), i, i+1))) })
			}
		}
		if v.Len() == 0 && !v.IsNil() && v.CanSet() {
			drops = append(drops, v.SetZero)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			if f.IsZero() || !f.CanSet() || isKey(v.Type(), i) {
				continue
			}
			switch f.Kind() {
			case reflect.Struct, reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
				drops = append(drops, f.SetZero)
			}
		}
	}
	return drops
}

// inside are the values that v is made of.
func inside(v reflect.Value) (parts []reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			parts = append(parts, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			parts = append(parts, v.Index(i))
		}
	case reflect.Map:
		if v.Type().Elem().Kind() != reflect.Interface {
			return nil
		}
		for _, key := range keysOf(v) { // of a document
			switch value := v.MapIndex(key).Interface().(type) {
			case object:
				parts = append(parts, reflect.ValueOf(value))
			case []any:
				for _, item := range value {
					if o, ok := item.(object); ok {
						parts = append(parts, reflect.ValueOf(o))
					}
				}
			}
		}
	case reflect.Struct:
		switch v.Interface().(type) {
		case resource.Quantity, metav1.Time, intstr.IntOrString, metav1.FieldsV1:
			return nil
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				parts = append(parts, v.Field(i))
			}
		}
	}
	return parts
}

func keysOf(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	return keys
}

// isKey says whether the field tells the items of a list apart: without it they are other items.
func isKey(t reflect.Type, field int) bool {
	name, _, _ := strings.Cut(t.Field(field).Tag.Get("json"), ",")
	return mergeKeys[t] != "" && mergeKeys[t] == name
}
