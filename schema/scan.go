package schema

import (
	"iter"
	"reflect"
	"slices"
)

// Encoded yields the fields that a patch's JSON holds, each with its value, in the order of Patchable.
// The patch is an addressable struct of the patch's Go type, and of anything else no field is yielded. It is what
// [Slot.Of] says of every field, made ready for those who want them all.
func (t *Type) Encoded(patch reflect.Value) iter.Seq2[*StructField, reflect.Value] {
	return func(yield func(*StructField, reflect.Value) bool) {
		if t == nil || patch.Kind() != reflect.Struct || !patch.CanAddr() {
			return
		}
		parent := patch
		for i := range t.scan {
			step := &t.scan[i]
			if step.enters {
				parent = patch
				for _, outer := range step.outer {
					if parent = parent.Field(outer); parent.Kind() == reflect.Pointer {
						parent = parent.Elem()
					}
					if !parent.IsValid() {
						break
					}
				}
			}
			if !parent.IsValid() {
				continue // an embedded pointer that is nil
			}
			value := parent.Field(step.index)
			switch step.rule {
			case notNil:
				if value.IsNil() {
					continue
				}
			case notEmpty:
				if value.Len() == 0 {
					continue
				}
			case ask:
				if !step.field.Patch.encodes(value) {
					continue
				}
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
	enters bool  // the field stands in another inlined struct than the one before it,
	outer  []int // which is this one
	index  int   // within that
	rule   emptiness
}

// emptiness is what to look at to see that the encoding leaves a field out.
type emptiness uint8

const (
	never emptiness = iota
	notNil
	notEmpty
	ask
)

// scanOf makes the walk over the fields ready.
func scanOf(fields []*StructField) []scanStep {
	steps := make([]scanStep, len(fields))
	var inside []int
	for i, f := range fields {
		last := len(f.Patch.Index) - 1
		outer := f.Patch.Index[:last]
		steps[i] = scanStep{field: f, enters: !slices.Equal(outer, inside), outer: outer, index: f.Patch.Index[last], rule: ask}
		inside = outer
		switch {
		case f.Patch.OmitZero:
		case !f.Patch.OmitEmpty:
			steps[i].rule = never
		case f.Patch.kind == reflect.Pointer:
			steps[i].rule = notNil
		case f.Patch.kind == reflect.String, f.Patch.kind == reflect.Slice, f.Patch.kind == reflect.Map:
			steps[i].rule = notEmpty
		}
	}
	return steps
}
