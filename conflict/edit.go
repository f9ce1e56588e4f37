package conflict

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// editor removes fields from patches. It copies each patch before its first change. Its work follows the removed fields, not the
// number of patches or the length of their lists.
type editor[T, P any] struct {
	plan    *merge.Plan[T, P]
	patches []merge.Layered[P]
	winner  merge.Layer
	of      map[merge.Layer][]int // the places of each layer's patches; nil before the first removal
	copied  map[int]bool
	removal removal
	winning reflect.Value // a copy of the winner's patch, for fields that take its value
}

// removal finds the items of lists by their merge keys.
type removal struct {
	lists map[listOf]map[string][]reflect.Value
	// shares tells that a field holds a part of the winner's patch.
	shares bool
}

// listOf identifies a list by its memory. No removal of a field moves the items of a list-map.
type listOf struct {
	t     *schema.Type
	items uintptr
	n     int
}

// removeField removes a field from a layer's patch, and reports whether that changed the patch.
func (e *editor[T, P]) removeField(layer merge.Layer, path fieldpath.Path) bool {
	if e.of == nil {
		e.patches, e.of, e.copied = slices.Clone(e.patches), map[merge.Layer][]int{}, map[int]bool{}
		for i := range e.patches {
			if e.patches[i].Patch != nil {
				e.of[e.patches[i].Layer] = append(e.of[e.patches[i].Layer], i)
			}
		}
	}
	changed := false
	for _, i := range e.of[layer] {
		if !e.copied[i] {
			e.patches[i].Patch, e.copied[i] = e.plan.CopyPatch(e.patches[i].Patch), true
		}
		if own := e.of[e.winner]; len(own) > 0 && (!e.winning.IsValid() || e.removal.shares) {
			e.winning, e.removal.shares = reflect.ValueOf(e.plan.CopyPatch(e.patches[own[0]].Patch)), false
		}
		changed = e.removal.removeField(e.plan.Type(), reflect.ValueOf(e.patches[i].Patch), e.winning, path) || changed
	}
	return changed
}

// removeField removes the field at the end of the path from a patch's value. The same place of the winner's patch holds winner,
// invalid if absent.
func (r *removal) removeField(t *schema.Type, value, winner reflect.Value, path fieldpath.Path) bool {
	if value = reflect.Indirect(value); !value.IsValid() {
		return false
	}
	if object, ok := value.Interface().(merge.Object); ok && t.Kind != schema.Map {
		return removeFromObject(t, object, path)
	}
	winner = reflect.Indirect(winner)
	if len(path) == 0 {
		return false // managers never disagree on a whole item or map
	}
	step, rest := path[0], path[1:]
	if name, ok := step.Field(); ok && value.Kind() == reflect.Struct {
		return r.removeStructField(t.Field(name), value, winner, rest)
	}
	if _, key, ok := step.Item(); ok && t.KeyField() != nil {
		own := reflect.Value{}
		for _, item := range r.items(t, winner, key) {
			own = item
		}
		changed := false
		for _, item := range r.items(t, value, key) {
			changed = r.removeField(t.Elem, item, own, rest) || changed
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

// removeFromObject removes a field from a patch that is an object.
func removeFromObject(t *schema.Type, object merge.Object, path fieldpath.Path) bool {
	name, ok := path[0].Name()
	if !ok {
		return false
	}
	value, there := object[name]
	if !there {
		return false
	}
	if len(path) == 1 {
		delete(object, name)
		return true
	}
	within, changed := t.Inner(name), false
	switch value := value.(type) {
	case merge.Object:
		changed = removeFromObject(within, value, path[1:])
		if changed && len(value) == 0 {
			delete(object, name)
		}
	case []any:
		object[name] = slices.DeleteFunc(slices.Clone(value), func(item any) bool {
			key, text, isItem := path[1].Item()
			inner, isObject := item.(merge.Object)
			if !isItem || !isObject || fmt.Sprint(inner[key]) != text {
				return false
			}
			if len(path) == 2 {
				changed = true
				return true
			}
			changed = removeFromObject(within.Elem, inner, path[2:]) || changed
			return false
		})
	}
	return changed
}

// removeStructField removes a field of a struct, or the field at the end of the path within it. It also removes a struct that becomes
// empty, because no patch claimed its presence.
func (r *removal) removeStructField(f *schema.StructField, parent, winner reflect.Value, rest fieldpath.Path) bool {
	if f == nil || f.Patch == nil {
		return false
	}
	field, encoded := f.Patch.Of(parent)
	if !encoded {
		return false
	}
	own, _ := f.Patch.Of(winner)
	if len(rest) == 0 {
		return r.clearField(f.Patch, parent, own)
	}
	if !r.removeField(f.Type, field, own, rest) {
		return false
	}
	if field.Kind() == reflect.Pointer && f.Type.Kind == schema.Struct && isEmptyPatch(f.Type, field.Elem()) && f.Patch.OmitEmpty {
		field.SetZero()
	}
	return true
}

// clearField empties a field so that the encoding omits it. If the encoding never omits it, clearField sets the winner's value. It
// reports whether the encoding changed.
func (r *removal) clearField(slot *schema.Slot, parent, winner reflect.Value) bool {
	field, _ := slot.Of(parent)
	before := reflect.New(field.Type()).Elem()
	before.Set(field)
	field.SetZero()
	if _, encoded := slot.Of(parent); !encoded {
		return true
	}
	if winner.IsValid() {
		field.Set(winner)
		r.shares = true
	}
	return !merge.SameValue(before.Interface(), field.Interface())
}

// items returns the items of a list-map with a key. A list that the API accepts has one.
func (r *removal) items(t *schema.Type, list reflect.Value, key string) []reflect.Value {
	if !list.IsValid() || list.Len() == 0 {
		return nil
	}
	at := listOf{t, list.Pointer(), list.Len()}
	known, ok := r.lists[at]
	if !ok {
		known = make(map[string][]reflect.Value, list.Len())
		for i := range list.Len() {
			name, _ := t.Elem.Field(t.Key).Patch.Of(list.Index(i))
			text := name.String()
			if name.Kind() != reflect.String {
				text = fmt.Sprint(reflect.Indirect(name)) // such as a port
			}
			known[text] = append(known[text], list.Index(i))
		}
		if r.lists == nil {
			r.lists = map[listOf]map[string][]reflect.Value{}
		}
		r.lists[at] = known
	}
	return known[key]
}

// isEmptyPatch reports whether a patch's struct encodes as {}.
func isEmptyPatch(t *schema.Type, value reflect.Value) bool {
	for _, f := range t.Patchable() {
		if _, encoded := f.Patch.Of(value); encoded {
			return false
		}
	}
	return true
}
