package check

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// view reads a struct of the template or of a patch. The zero view reads none.
type view struct {
	of      reflect.Value
	ofPatch bool
}

func (v view) isPresent() bool { return v.of.IsValid() }

func (v view) slot(f *schema.StructField) *schema.Slot {
	if v.ofPatch {
		return f.Patch
	}
	return &f.Template
}

// has reports whether the JSON of the struct has the field with a value other than null.
func (v view) has(f *schema.StructField) bool {
	value, encoded := v.slot(f).Of(v.of)
	if !encoded {
		return false
	}
	switch value.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return !value.IsNil()
	default:
		return true
	}
}

// value returns the field's value, through pointers. It is invalid if the struct lacks the field.
func (v view) value(f *schema.StructField) reflect.Value {
	if !v.has(f) {
		return reflect.Value{}
	}
	value, _ := v.slot(f).Of(v.of)
	return reflect.Indirect(value)
}

// inner returns the struct in a field.
func (v view) inner(f *schema.StructField) view { return view{v.value(f), v.ofPatch} }

// items returns the items of the list-map in a field.
func (v view) items(f *schema.StructField) items {
	const short = 32
	key := f.Type.KeyField()
	l := items{of: v.value(f), ofPatch: v.ofPatch, key: &key.Template}
	if v.ofPatch {
		l.key = key.Patch
	}
	if l.len() <= short {
		return l
	}
	l.first = make(map[string]int, l.len())
	for i := l.len() - 1; i >= 0; i-- {
		l.first[l.keyOf(i)] = i
	}
	return l
}

// items holds the items of a list-map, or none.
type items struct {
	of      reflect.Value
	ofPatch bool
	key     *schema.Slot
	first   map[string]int // the first item of each key; nil where a search is as fast
}

func (l *items) len() int {
	if !l.of.IsValid() {
		return 0
	}
	return l.of.Len()
}

// at returns an item, or the zero view for -1.
func (l *items) at(i int) view {
	if i < 0 {
		return view{}
	}
	return view{reflect.Indirect(l.of.Index(i)), l.ofPatch}
}

// keyOf returns the merge key of an item as a text, or "" if the item has none.
func (l *items) keyOf(i int) string {
	key, _ := l.key.Of(l.at(i).of)
	switch key = reflect.Indirect(key); {
	case !key.IsValid():
		return ""
	case key.Kind() == reflect.String:
		return key.String()
	default:
		return fmt.Sprint(key.Interface())
	}
}

// find returns the position of the first item with a key, or -1.
func (l *items) find(key string) int {
	if i, ok := l.first[key]; ok {
		return i
	}
	for i := 0; l.first == nil && i < l.len(); i++ {
		if l.keyOf(i) == key {
			return i
		}
	}
	return -1
}

// structShape holds the fields of a struct that the walk visits.
type structShape struct {
	nested  []*schema.StructField   // list-maps, structs with a union, and those that reach one
	inside  []*schema.StructField   // nested, and what reaches a map
	members [][]*schema.StructField // those of each union
}

// shapes returns the shape of each struct in the spec of a JobSet's template.
var shapes = sync.OnceValue(func() map[*schema.Type]*structShape {
	of, types := map[*schema.Type]*structShape{}, []*schema.Type{}
	var add func(*schema.Type)
	add = func(t *schema.Type) {
		if t == nil || slices.Contains(types, t) {
			return
		}
		types = append(types, t)
		add(t.Elem)
		for _, f := range t.Fields {
			add(f.Type)
		}
	}
	add(runtimepatch.JobSetTemplate().Field("spec").Type)
	// reaching returns the wanted types, and the types that lead to one by a field or an item.
	reaching := func(isWanted func(*schema.Type) bool, leads func(*schema.Type) bool) map[*schema.Type]bool {
		reach := map[*schema.Type]bool{}
		for changed := true; changed; {
			changed = false
			for _, t := range types {
				if !reach[t] && (isWanted(t) || leads(t) && (reach[t.Elem] || slices.ContainsFunc(t.Fields, func(f *schema.StructField) bool { return reach[f.Type] }))) {
					reach[t], changed = true, true
				}
			}
		}
		return reach
	}
	isStruct := func(t *schema.Type) bool { return t.Kind == schema.Struct }
	isNested := func(t *schema.Type) bool { return t.KeyField() != nil || len(t.Unions) > 0 }
	nested := reaching(isNested, isStruct)
	maps := reaching(func(t *schema.Type) bool { return t.Kind == schema.Map }, func(*schema.Type) bool { return true })
	inside := reaching(func(t *schema.Type) bool {
		return isNested(t) || t.Kind == schema.Map || t.Kind == schema.Atomic && maps[t]
	}, isStruct)
	for _, t := range slices.DeleteFunc(types, func(t *schema.Type) bool { return !isStruct(t) }) {
		s := &structShape{members: make([][]*schema.StructField, len(t.Unions))}
		for _, f := range t.Fields {
			if nested[f.Type] {
				s.nested = append(s.nested, f)
			}
			if inside[f.Type] {
				s.inside = append(s.inside, f)
			}
			for i, u := range t.Unions {
				if u.Has(f.Name) {
					s.members[i] = append(s.members[i], f)
				}
			}
		}
		of[t] = s
	}
	return of
})
