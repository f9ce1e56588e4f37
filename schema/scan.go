package schema

import (
	"iter"
	"reflect"
	"unsafe"
)

// Most fields of most patches are empty, and every patch is searched. So this file and view.go read from memory, at a compiled
// offset, whether a field is empty. They use reflection only for the other fields. No other file reads memory. An offset is
// valid only for the struct type that it was compiled from.

// Encoded yields the fields in a patch's JSON, each with its value, in the order of Patchable. The patch is an addressable
// struct of the patch's Go type; for any other value Encoded yields nothing. It equals [Slot.Of] for every field, but is
// faster.
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

// scanStep is one precomputed field of a walk over a patch's struct.
type scanStep struct {
	field  *StructField
	offset uintptr
	rule   emptiness
}

// emptiness selects the test for a field that the encoding omits.
type emptiness uint8

const (
	ask emptiness = iota
	never
	notNil
	notEmptyString
	notEmptyList
)

// leavesOut reports whether the encoding omits the field at an address.
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

// scanOf precomputes the walk over the fields.
func scanOf(fields []*StructField) []scanStep {
	steps := make([]scanStep, len(fields))
	for i, f := range fields {
		steps[i] = scanStep{field: f, offset: f.Patch.offset, rule: f.Patch.rule}
	}
	return steps
}

// Texts are the values of a string field in each struct of a list.
type Texts struct {
	memory    unsafe.Pointer
	size      uintptr
	length    int
	omitEmpty bool
}

// Read sets t to a slot's values in the structs of a list. It returns false if the slot does not hold a string, or if the list
// holds other values.
func (t *Texts) Read(s *Slot, list reflect.Value) bool {
	if t == nil || s == nil || !s.direct || s.kind != reflect.String || s.OmitZero || list.Kind() != reflect.Slice || list.Type().Elem() != s.in.of {
		return false
	}
	t.memory, t.size, t.length, t.omitEmpty = unsafe.Add(list.UnsafePointer(), s.offset), s.in.size, list.Len(), s.OmitEmpty
	return true
}

// Find returns the position of the first of n structs with the string, or -1.
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

// Len returns the number of structs.
func (t Texts) Len() int { return t.length }

// At returns the string of a struct and reports whether the struct's encoding has it.
func (t Texts) At(i int) (text string, encoded bool) {
	if uint(i) >= uint(t.length) {
		return "", false
	}
	text = *(*string)(unsafe.Add(t.memory, uintptr(i)*t.size))
	return text, text != "" || !t.omitEmpty
}

// layout is a struct type. A compiler makes one layout of each type, so that their addresses identify types.
type layout struct {
	of   reflect.Type
	size uintptr
}

// place computes the slot's offset in a struct, and the test for an empty field there.
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
