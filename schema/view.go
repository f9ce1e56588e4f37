package schema

import (
	"fmt"
	"reflect"
	"unsafe"
)

// A View reads a struct along a Type, without reflection where the struct's memory tells enough. The zero View reads none.
type View struct {
	memory unsafe.Pointer
	in     *layout // what memory holds
	patch  bool
}

// View returns a View of a struct. Its Go type is the patch's if patch is set, and the template's otherwise. The struct must
// be addressable. For any other value the View is the zero one.
func (t *Type) View(of reflect.Value, patch bool) View {
	if t == nil || t.Kind != Struct || of.Kind() != reflect.Struct || !of.CanAddr() {
		return View{}
	}
	v := t.view(of.Addr().UnsafePointer(), patch)
	if v.in == nil || of.Type() != v.in.of {
		return View{}
	}
	return v
}

// view returns a View of a struct in memory that is known to be of the type.
func (t *Type) view(memory unsafe.Pointer, patch bool) View {
	if t == nil {
		return View{}
	}
	if patch {
		return View{memory, t.patched, true}
	}
	return View{memory, t.layout, false}
}

// IsPresent reports whether the View has a struct.
func (v View) IsPresent() bool { return v.memory != nil }

// slot returns the slot of a field in the struct. It is nil for a field of another struct, and for one that no patch may set.
func (v View) slot(f *StructField) *Slot {
	if f == nil || v.memory == nil {
		return nil
	}
	s := &f.Template
	if v.patch {
		s = f.Patch
	}
	if s == nil || s.in != v.in {
		return nil
	}
	return s
}

// Has reports whether the JSON of the struct holds the field with a value other than null. It is false for a field of another
// Type.
func (v View) Has(f *StructField) bool {
	s := v.slot(f)
	if s == nil {
		return false
	}
	if !s.direct || s.OmitZero {
		return s.has(v.memory)
	}
	at := unsafe.Add(v.memory, s.offset)
	switch s.kind {
	case reflect.Pointer:
		return *(*unsafe.Pointer)(at) != nil
	case reflect.Slice:
		list := *(*[]struct{})(at)
		return len(list) > 0 || !s.OmitEmpty && list != nil
	case reflect.String:
		return !s.OmitEmpty || *(*string)(at) != ""
	case reflect.Struct:
		return true
	default:
		return s.has(v.memory)
	}
}

// Fields are some fields of a Struct, in the order of the API type.
type Fields struct {
	of                *Type
	template, patched []scanStep
}

// fields makes a list of some fields of t.
func (t *Type) fields(some []*StructField) Fields {
	list := Fields{of: t}
	for _, f := range some {
		list.template = append(list.template, scanStep{f, f.Template.offset, f.Template.rule})
		if f.Patch != nil {
			list.patched = append(list.patched, scanStep{f, f.Patch.offset, f.Patch.rule})
		}
	}
	return list
}

// Next returns the first field from a position on that the struct has, and the position after it. It returns nil if there is
// none. The first position is 0.
func (v View) Next(fields *Fields, from int) (*StructField, int) {
	if fields == nil || v.memory == nil || v.in != fields.of.view(nil, v.patch).in {
		return nil, from
	}
	steps := fields.template
	if v.patch {
		steps = fields.patched
	}
	for i := max(from, 0); i < len(steps); i++ {
		step := &steps[i]
		if !step.rule.leavesOut(unsafe.Add(v.memory, step.offset)) && (step.rule > never || v.Has(step.field)) {
			return step.field, i + 1
		}
	}
	return nil, len(steps)
}

// has implements Has by reflection.
func (s *Slot) has(memory unsafe.Pointer) bool {
	value, encoded := s.Of(reflect.NewAt(s.in.of, memory).Elem())
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

// Value returns the field's value, through pointers. It is invalid if Has reports false.
func (v View) Value(f *StructField) reflect.Value {
	if !v.Has(f) {
		return reflect.Value{}
	}
	s := v.slot(f)
	value := s.value(reflect.NewAt(s.in.of, v.memory).Elem())
	for value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	return value
}

// Struct returns the struct that a field holds or points to.
func (v View) Struct(f *StructField) View {
	s := v.slot(f)
	if s == nil || f.Type.Kind != Struct || !v.Has(f) {
		return View{}
	}
	switch at := s.address(v.memory); s.shape {
	case inPlace:
		return f.Type.view(at, v.patch)
	case byPointer:
		return f.Type.view(*(*unsafe.Pointer)(at), v.patch)
	default:
		return f.Type.View(v.Value(f), v.patch)
	}
}

// List returns the list that a field holds: a list-map of structs.
func (v View) List(f *StructField) List {
	s := v.slot(f)
	if s == nil || f.Type.key == nil || !v.Has(f) || s.shape != list && s.shape != listOfPointers {
		return List{}
	}
	l := List{key: &f.Type.key.Template, patch: v.patch, pointers: s.shape == listOfPointers}
	if v.patch {
		l.key = f.Type.key.Patch
	}
	if l.key == nil {
		return List{}
	}
	// A slice of any type has the same words: where its items are, and how many.
	at := s.address(v.memory)
	l.memory, l.length = *(*unsafe.Pointer)(at), len(*(*[]struct{})(at))
	return l
}

// A List points to the items of a list-map. The zero List has none.
type List struct {
	memory   unsafe.Pointer
	length   int
	key      *Slot
	patch    bool
	pointers bool
}

// Len returns the number of items.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return l.length
}

// At returns an item.
func (l *List) At(i int) View {
	switch {
	case uint(i) >= uint(l.Len()):
		return View{}
	case l.pointers:
		return View{*(*unsafe.Pointer)(unsafe.Add(l.memory, uintptr(i)*unsafe.Sizeof(l.memory))), l.key.in, l.patch}
	default:
		return View{unsafe.Add(l.memory, uintptr(i)*l.key.in.size), l.key.in, l.patch}
	}
}

// Key returns the merge key of an item as a string, or "" for an item without one.
func (l *List) Key(i int) string {
	if uint(i) >= uint(l.Len()) {
		return ""
	}
	s := l.key
	if s.direct && s.kind == reflect.String && !l.pointers {
		return *(*string)(unsafe.Add(l.memory, uintptr(i)*s.in.size+s.offset))
	}
	item := l.At(i)
	if !item.IsPresent() {
		return ""
	}
	value, _ := s.Of(reflect.NewAt(s.in.of, item.memory).Elem())
	for value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if !value.IsValid() {
		return ""
	}
	return fmt.Sprint(value.Interface())
}

// Find returns the position of the first item with a key, or -1.
func (l *List) Find(key string) int {
	for i := range l.Len() {
		if l.Key(i) == key {
			return i
		}
	}
	return -1
}

// shape is the way in which a field holds structs.
type shape uint8

const (
	otherwise shape = iota // not at all, or behind several pointers
	inPlace
	byPointer
	list
	listOfPointers
)

// shapeOf returns the shape of a field's type.
func shapeOf(t reflect.Type) shape {
	to := func(t reflect.Type, kind reflect.Kind) bool {
		return t.Kind() == kind && t.Elem().Kind() == reflect.Struct
	}
	switch {
	case t.Kind() == reflect.Struct:
		return inPlace
	case to(t, reflect.Pointer):
		return byPointer
	case to(t, reflect.Slice):
		return list
	case t.Kind() == reflect.Slice && to(t.Elem(), reflect.Pointer):
		return listOfPointers
	default:
		return otherwise
	}
}

// address returns the slot's address in a struct, or nil within a nil embedded pointer.
func (s *Slot) address(memory unsafe.Pointer) unsafe.Pointer {
	if s.direct {
		return unsafe.Add(memory, s.offset)
	}
	value := s.value(reflect.NewAt(s.in.of, memory).Elem())
	if !value.IsValid() {
		return nil
	}
	return value.Addr().UnsafePointer()
}
