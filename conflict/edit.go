package conflict

import (
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/schema"
)

// editor removes fields from patches. It works on their JSON, each of which it makes once. Its work
// follows the removed fields, not the number of patches.
type editor struct {
	t       *schema.Type // of the base
	patches []merge.Patch
	winner  merge.Owner
	// the places of each layer's patches; nil before the first removal
	of     map[merge.Owner][]int
	edited map[int]*edited // the patches that were read
}

// edited is the JSON of a patch.
type edited struct {
	fields  merge.Object
	ofValue bool // whether the patch is a Go value, which cannot omit every field
	changed bool
}

// removeField removes a field from a layer's patches, and reports whether that changed them.
func (e *editor) removeField(layer merge.Owner, path fieldpath.Path) bool {
	if e.of == nil {
		e.of, e.edited = map[merge.Owner][]int{}, map[int]*edited{}
		for i := range e.patches {
			owner := merge.Manager(e.patches[i].Manager)
			e.of[owner] = append(e.of[owner], i)
		}
	}
	var winning merge.Object
	if own := e.of[e.winner]; len(own) > 0 {
		winning = e.read(own[0]).fields
	}
	changed := false
	for _, i := range e.of[layer] {
		patch := e.read(i)
		if patch.removeName(e.t, patch.fields, winning, path) {
			patch.changed, changed = true, true
		}
	}
	return changed
}

// read returns the JSON of a patch, without fields if it has none.
func (e *editor) read(i int) *edited {
	if e.edited[i] == nil {
		fields, ofValue := fieldsOf(e.patches[i].Value)
		e.edited[i] = &edited{fields: fields, ofValue: ofValue}
	}
	return e.edited[i]
}

// result returns the patches without the removed fields.
func (e *editor) result() []merge.Patch {
	patches := slices.Clone(e.patches)
	for i, patch := range e.edited {
		if patch.changed {
			patches[i].Value = valueOf(patch.fields, patches[i].Value)
		}
	}
	return patches
}

// fieldsOf returns a copy of a patch's JSON, and whether the patch is a Go value. A JSON patch has
// no fields.
func fieldsOf(patch any) (fields merge.Object, ofValue bool) {
	switch patch := patch.(type) {
	case nil, merge.JSONPatch:
		return nil, false
	case merge.Object:
		return tree.Copy(patch), false
	case *merge.Object:
		return tree.Copy(*patch), false
	}
	made, _ := tree.Value(patch) // it has merged
	fields, _ = made.(merge.Object)
	return fields, true
}

// valueOf returns a patch with other fields.
func valueOf(fields merge.Object, like any) any {
	t := reflect.TypeOf(like)
	if t.Kind() == reflect.Map || t == reflect.TypeFor[*merge.Object]() {
		return fields
	}
	isPointer := t.Kind() == reflect.Pointer
	if isPointer {
		t = t.Elem()
	}
	made := reflect.New(t)
	if tree.Read(fields, made.Interface()) != nil {
		return nil
	}
	if isPointer {
		return made.Interface()
	}
	return made.Elem().Interface()
}

// remove returns a value without the field or the item at the end of the path, and without each
// object that becomes empty, because no patch claimed its presence. The winner's patch has another
// value at the same place. It changes the value in place, and reports whether it did.
func (p *edited) remove(t *schema.Type, value, winner any,
	path fieldpath.Path) (left any, changed bool) {
	t = t.For(value)
	switch value := value.(type) {
	case merge.Object:
		own, _ := winner.(merge.Object)
		return value, p.removeName(t, value, own, path)
	case []any:
		own, _ := winner.([]any)
		return p.removeItem(t, value, own, path)
	}
	return value, false
}

// removeName is remove for the field or the entry of an object.
func (p *edited) removeName(t *schema.Type, object, winner merge.Object,
	path fieldpath.Path) (changed bool) {
	name, _ := path[0].Name()
	value, has := object[name]
	if !has {
		return false
	}
	f := t.Field(name)
	isAlways := p.ofValue && f != nil && f.IsAlways()
	var left any
	switch {
	case len(path) > 1:
		left, changed = p.remove(t.Inner(name), value, winner[name], path[1:])
	case isAlways && winner[name] != nil: // it takes the winner's value
		left = tree.Copy(winner[name])
		changed = !merge.SameValue(value, left)
	case isAlways:
		left = f.Empty()
		changed = !merge.SameValue(value, left)
	default:
		changed = true
	}
	within, isObject := left.(merge.Object)
	if changed && !isAlways && (left == nil || isObject && len(within) == 0) {
		delete(object, name)
	} else {
		object[name] = left
	}
	return changed
}

// removeItem is remove for the items of a list with the keys of a step.
func (p *edited) removeItem(t *schema.Type, list, winner []any,
	path fieldpath.Path) (left []any, changed bool) {
	isAt := func(item any) bool {
		step, ok := t.Item(item)
		return ok && path[0].Keys() != nil && fieldpath.Path{step}.HasPrefix(path[:1])
	}
	if len(path) == 1 {
		left = slices.DeleteFunc(slices.Clone(list), isAt)
		return left, len(left) < len(list)
	}
	var winning any
	for _, item := range winner {
		if isAt(item) {
			winning = item
		}
	}
	for _, item := range list {
		if isAt(item) {
			_, did := p.remove(t.Elem, item, winning, path[1:])
			changed = changed || did
		}
	}
	return list, changed
}
