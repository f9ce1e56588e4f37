package schema

import (
	"iter"
	"reflect"
	"unsafe"
)

// Most fields of most patches are empty, and every patch is looked through. So whether a field is empty is read from
// memory at its compiled offset, and reflection is asked only for fields that hold something. This file is the only one
// that does so: an offset is that of the field in the very struct type that it is used on.

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
			switch at := unsafe.Add(memory, step.offset); step.rule {
			case notNil:
				if *(*unsafe.Pointer)(at) == nil {
					continue
				}
			case notEmptyString:
				if *(*string)(at) == "" {
					continue
				}
			case notEmptyList:
				if len(*(*[]struct{})(at)) == 0 {
					continue
				}
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
	never emptiness = iota
	notNil
	notEmptyString
	notEmptyList
	ask
)

// scanOf makes the walk over the fields ready.
func scanOf(fields []*StructField) []scanStep {
	steps := make([]scanStep, len(fields))
	for i, f := range fields {
		slot := f.Patch
		step := scanStep{field: f, rule: ask}
		if slot.direct && !slot.OmitZero {
			step.offset = slot.offset
			switch {
			case !slot.OmitEmpty:
				step.rule = never
			case slot.kind == reflect.Pointer:
				step.rule = notNil
			case slot.kind == reflect.String:
				step.rule = notEmptyString
			case slot.kind == reflect.Slice:
				step.rule = notEmptyList
			}
		}
		steps[i] = step
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

// Texts returns what the slot holds in the structs of a list; false for a slot that holds no string, and for a list of
// anything else than the slot's structs.
func (s *Slot) Texts(list reflect.Value) (Texts, bool) {
	if s == nil || !s.direct || s.kind != reflect.String || s.OmitZero || list.Kind() != reflect.Slice || list.Type() != s.listType {
		return Texts{}, false
	}
	return Texts{unsafe.Add(list.UnsafePointer(), s.offset), s.parent.Size(), list.Len(), s.OmitEmpty}, true
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

// place notes where in memory the slot stands in a struct.
func (s *Slot) place(parent reflect.Type) {
	s.parent, s.listType, s.direct = parent, reflect.SliceOf(parent), true
	t := parent
	for _, i := range s.Index {
		if t.Kind() != reflect.Struct {
			s.direct = false // an embedded pointer
			return
		}
		f := t.Field(i)
		s.offset += f.Offset
		t = f.Type
	}
}
