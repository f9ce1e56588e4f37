package fuzz

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainweld/trainweld/render/check"
)

// Smaller returns a function that yields copies of the case, each without one patch, list item, map
// entry or field. The function returns false after the last copy. With Options.Checked it yields
// only cases that check.Patches accepts.
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

// SmallerDocuments returns a function that yields copies of the documents, each without one field
// or item. The outermost come first. The function returns false after the last copy.
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

// Drop removes the n-th part of the values behind the pointers. It counts all list items, map
// entries and set fields, the outermost first. If there are n parts or fewer, it changes nothing
// and returns false.
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

// dropsOf returns functions that each remove one part of v itself.
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
				drops = append(drops, func() {
					v.SetMapIndex(key, reflect.ValueOf(slices.Delete(slices.Clone(list), i, i+1)))
				})
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

// inside returns the parts of v.
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
		for _, key := range keysOf(v) { // in a document
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
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		return cmp.Compare(a.String(), b.String())
	})
	return keys
}

// isKey reports whether the field identifies the items of a list: without it they are other items.
func isKey(t reflect.Type, field int) bool {
	name, _, _ := strings.Cut(t.Field(field).Tag.Get("json"), ",")
	return slices.Contains(identities, name)
}
