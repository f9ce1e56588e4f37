package schema

import (
	"iter"
	"reflect"
	"unsafe"
)

// Most fields of most patches are empty, and every patch is looked through. So whether a field is empty is read from
// memory at its compiled offset, and reflection is asked only for fields that hold something. This file and view.go are
// the only ones that do so: an offset is that of the field in the very struct type that it is used on.

// Encoded yields the fields that a patch's JSON holds, each with its value, in the order of Patchable.
// The patch is an addressable struct of the patch's Go type, and of anything else no field is yielded. It is what
// [Slot.Of] says of every field, made ready for those who want them all.
func (t *Type) Encoded(patch reflect.Value) iter.Seq2[*StructField, reflect.Value] {
	return func(yield func(*StructField, reflect.Value) bool) {
		if t == nil || patch.Kind() != reflect.Struct || !patch.CanAddr() || patch.Type() != t.patchType {
			return
		}
		memory := unsafe.Pointer(patch.UnsafeAddr())
		for i := range t.scan {
			step := &t.scan[i]
			if step.rule.leavesOut(unsafe.Add(memory, step.offset)) {
				continue
			}
			slot := step.field.Patch
			value := slot.value(patch)
			if !value.IsValid() || step.rule == ask && !slot.encodes(value) {
				continue
			}
			if !yield(step.field, value) {
				return
			}
		}
	}
}

// scanStep is one field in the walk over a patch's struct, made ready.
type scanStep struct {
	field  *StructField
	offset uintptr
	rule   emptiness
}

// emptiness is what to look at to see that the encoding leaves a field out.
type emptiness uint8

const (
	ask emptiness = iota
	never
	notNil
	notEmptyString
	notEmptyList
)

// leavesOut reports whether the encoding leaves out the field at an address.
func (e emptiness) leavesOut(at unsafe.Pointer) bool {
	switch e {
	case notNil:
		return *(*unsafe.Pointer)(at) == nil
	case notEmptyString:
		return *(*string)(at) == ""
	case notEmptyList:
		return len(*(*[]struct{})(at)) == 0
	default:
		return false
	}
}

// scanOf makes the walk over the fields ready.
func scanOf(fields []*StructField) []scanStep {
	steps := make([]scanStep, len(fields))
	for i, f := range fields {
		steps[i] = scanStep{field: f, offset: f.Patch.offset, rule: f.Patch.rule}
	}
	return steps
}

// Texts are the strings that a field holds in each struct of a list.
type Texts struct {
	memory    unsafe.Pointer
	size      uintptr
	length    int
	omitEmpty bool
}

// Read sets t to what a slot holds in the structs of a list; false for a slot that holds no string, and for a list of
// anything else than the slot's structs.
func (t *Texts) Read(s *Slot, list reflect.Value) bool {
	if t == nil || s == nil || !s.direct || s.kind != reflect.String || s.OmitZero || list.Kind() != reflect.Slice || list.Type() != s.in.list {
		return false
	}
	t.memory, t.size, t.length, t.omitEmpty = unsafe.Add(list.UnsafePointer(), s.offset), s.in.size, list.Len(), s.OmitEmpty
	return true
}

// Find returns the position of the first of n structs that holds a string, -1 where none does.
func (t *Texts) Find(n int, text string) int {
	if t == nil {
		return -1
	}
	for i := range min(n, t.length) {
		if *(*string)(unsafe.Add(t.memory, uintptr(i)*t.size)) == text {
			return i
		}
	}
	return -1
}

// Len is the number of structs.
func (t Texts) Len() int { return t.length }

// At returns the string of a struct, and whether the struct's encoding has it.
func (t Texts) At(i int) (text string, encoded bool) {
	if uint(i) >= uint(t.length) {
		return "", false
	}
	text = *(*string)(unsafe.Add(t.memory, uintptr(i)*t.size))
	return text, text != "" || !t.omitEmpty
}

// layout is a struct type. A compiler makes one of each type, so that two of them are compared by their addresses.
type layout struct {
	of   reflect.Type
	list reflect.Type // of a list of them
	size uintptr
}

// place notes where in memory the slot stands in a struct, and how to see there that it is empty.
func (s *Slot) place(in *layout) {
	s.in, s.direct = in, true
	t := in.of
	for _, i := range s.Index {
		if t.Kind() != reflect.Struct {
			s.direct = false // an embedded pointer
			return
		}
		f := t.Field(i)
		s.offset += f.Offset
		t = f.Type
	}
	switch {
	case s.OmitZero:
	case !s.OmitEmpty:
		s.rule = never
	case s.kind == reflect.Pointer:
		s.rule = notNil
	case s.kind == reflect.String:
		s.rule = notEmptyString
	case s.kind == reflect.Slice:
		s.rule = notEmptyList
	}
}
