package conflict

import (
	"reflect"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/schema"
)

// editor takes fields out of patches. The first change copies them all.
type editor struct {
	patches []trainer.RuntimePatch
	winner  string
	copied  bool
}

// takeAway takes a field out of a manager's patch, and reports whether that changed the patch.
func (e *editor) takeAway(manager string, path schema.Path) bool {
	if !e.copied {
		patches := make([]trainer.RuntimePatch, len(e.patches))
		for i := range e.patches {
			e.patches[i].DeepCopyInto(&patches[i])
		}
		e.patches, e.copied = patches, true
	}
	changed := false
	for i := range e.patches {
		if template := templateOf(&e.patches[i]); e.patches[i].Manager == manager && template.IsValid() {
			changed = takeAway(schema.JobSetTemplate(), template, e.winners(), path) || changed
		}
	}
	return changed
}

// winners is a copy of the winner's patch, for fields that take its value.
func (e *editor) winners() reflect.Value {
	for i := range e.patches {
		if e.patches[i].Manager == e.winner {
			return templateOf(e.patches[i].DeepCopy())
		}
	}
	return reflect.Value{}
}

// templateOf is the patch of the template, invalid where there is none.
func templateOf(patch *trainer.RuntimePatch) reflect.Value {
	if patch.TrainingRuntimeSpec == nil || patch.TrainingRuntimeSpec.Template == nil {
		return reflect.Value{}
	}
	return reflect.ValueOf(patch.TrainingRuntimeSpec.Template).Elem()
}

// takeAway takes the field at the end of the path out of a value of a patch. The winner's value is that
// of its own patch in the same place, invalid where it has none.
func takeAway(t *schema.Type, value, winner reflect.Value, path schema.Path) bool {
	if value = pointee(value); !value.IsValid() {
		return false
	}
	winner = pointee(winner)
	if len(path) == 0 {
		return false // an item or a map as a whole, which nobody disagrees on
	}
	step, rest := path[0], path[1:]
	if name, ok := step.Field(); ok && value.Kind() == reflect.Struct {
		return takeField(t.Field(name), value, winner, rest)
	}
	if _, key, ok := step.Item(); ok && t.Kind == schema.ListMap {
		own := reflect.Value{}
		for _, item := range items(t, winner, key) {
			own = item
		}
		changed := false
		for _, item := range items(t, value, key) {
			changed = takeAway(t.Elem, item, own, rest) || changed
		}
		return changed
	}
	if key, ok := step.Key(); ok && t.Kind == schema.Map {
		k := reflect.ValueOf(key).Convert(value.Type().Key())
		if !value.MapIndex(k).IsValid() {
			return false
		}
		value.SetMapIndex(k, reflect.Value{})
		return true
	}
	return false
}

// takeField takes away a field of a struct, or what the rest of the path leads to within it. A struct
// of which nothing is left goes, too: nobody said that it is there.
func takeField(f *schema.StructField, parent, winner reflect.Value, rest schema.Path) bool {
	if f == nil || f.Patch == nil {
		return false
	}
	field, encoded := f.Patch.Of(parent)
	if !encoded {
		return false
	}
	own := reflect.Value{}
	if winner.IsValid() {
		own, _ = f.Patch.Of(winner)
	}
	if len(rest) == 0 {
		return leaveOut(f.Patch, parent, own)
	}
	if !takeAway(f.Type, field, own, rest) {
		return false
	}
	if field.Kind() == reflect.Pointer && f.Type.Kind == schema.Struct && saysNothing(f.Type, field.Elem()) && f.Patch.OmitEmpty {
		field.SetZero()
	}
	return true
}

// leaveOut empties a field such that the encoding leaves it out, or, where it never does, sets it to the
// winner's value. It reports whether that says something else than before.
func leaveOut(slot *schema.Slot, parent, winner reflect.Value) bool {
	field, _ := slot.Of(parent)
	before := reflect.New(field.Type()).Elem()
	before.Set(field)
	field.SetZero()
	if _, encoded := slot.Of(parent); !encoded {
		return true
	}
	if winner.IsValid() {
		field.Set(winner)
	}
	return !sameValue(before.Interface(), field.Interface())
}

// items are the items of a list-map with a key: one, in a list that the API takes.
func items(t *schema.Type, list reflect.Value, key string) []reflect.Value {
	var found []reflect.Value
	if !list.IsValid() {
		return nil
	}
	for i := range list.Len() {
		if name, _ := t.Elem.Field(t.Key).Patch.Of(list.Index(i)); name.String() == key {
			found = append(found, list.Index(i))
		}
	}
	return found
}

// saysNothing reports whether the encoding of a struct of a patch is {}.
func saysNothing(t *schema.Type, value reflect.Value) bool {
	for _, f := range t.Patchable() {
		if _, encoded := f.Patch.Of(value); encoded {
			return false
		}
	}
	return true
}

func pointee(value reflect.Value) reflect.Value {
	if value.IsValid() && value.Kind() == reflect.Pointer {
		return value.Elem() // invalid of a nil pointer
	}
	return value
}
