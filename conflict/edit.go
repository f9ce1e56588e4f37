package conflict

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/schema"
)

// editor removes fields from patches. It works on their JSON, each of which it makes once. Its work
// follows the removed fields, not the number of patches or the length of their lists.
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
	lists   map[string]map[string][]merge.Object // the items of each list by their merge keys
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
		if patch.remove(place{e.t, patch.fields, nil}, winning, path) {
			patch.changed, changed = true, true
		}
	}
	return changed
}

// read returns the JSON of a patch, without fields if it has none.
func (e *editor) read(i int) *edited {
	if e.edited[i] == nil {
		fields, ofValue := fieldsOf(e.patches[i].Value)
		e.edited[i] = &edited{fields: fields, ofValue: ofValue,
			lists: map[string]map[string][]merge.Object{}}
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

// place is an object of a patch, at a path.
type place struct {
	t      *schema.Type
	object merge.Object
	path   fieldpath.Path
}

// remove removes the field at the end of the path within an object, and then each object that
// becomes empty, because no patch claimed its presence. The winner's patch holds another object at
// the same place. It reports whether the patch changed.
func (p *edited) remove(at place, winner merge.Object, path fieldpath.Path) bool {
	if len(path) == 0 {
		return false // managers never disagree on a whole item or map
	}
	name, ok := path[0].Name()
	value, has := at.object[name]
	if !ok || !has {
		return false
	}
	f := at.t.Field(name)
	isAlways := p.ofValue && f != nil && f.Patch.IsAlways()
	if len(path) == 1 {
		if isAlways { // it takes the winner's value
			if at.object[name] = f.Empty(); winner[name] != nil {
				at.object[name] = tree.Copy(winner[name])
			}
			return !merge.SameValue(value, at.object[name])
		}
		delete(at.object, name)
		return true
	}
	within := place{at.t.Inner(name), nil, at.path.Append(path[0])}
	switch value := value.(type) {
	case merge.Object:
		within.object = value
		own, _ := winner[name].(merge.Object)
		if !p.remove(within, own, path[1:]) {
			return false
		}
		if len(value) == 0 && !isAlways {
			delete(at.object, name)
		}
		return true
	case []any:
		return p.removeInItems(at.object, within, winner[name], path)
	}
	return false
}

// removeInItems removes a field from the items of a list that the path leads to, or the items.
func (p *edited) removeInItems(parent merge.Object, list place, winner any,
	path fieldpath.Path) bool {
	key, text, isItem := path[1].Item()
	if !isItem {
		return false
	}
	name, _ := path[0].Name()
	items, _ := parent[name].([]any)
	if len(path) == 2 {
		left := slices.DeleteFunc(items, func(item any) bool {
			return keyOf(item, key) == text
		})
		parent[name] = left
		return len(left) < len(items)
	}
	own, _ := winner.([]any)
	var winning merge.Object
	for _, item := range own {
		if object, ok := item.(merge.Object); ok && keyOf(item, key) == text {
			winning = object
		}
	}
	changed := false
	for _, item := range p.items(list.path, items, key)[text] {
		inner := place{list.t.Elem, item, list.path.Append(path[1])}
		changed = p.remove(inner, winning, path[2:]) || changed
	}
	return changed
}

// items returns the objects in a list by the texts of their keys.
func (p *edited) items(path fieldpath.Path, list []any, key string) map[string][]merge.Object {
	at := path.String()
	known, ok := p.lists[at]
	if !ok {
		known = make(map[string][]merge.Object, len(list))
		for _, item := range list {
			if object, isObject := item.(merge.Object); isObject {
				text := keyOf(item, key)
				known[text] = append(known[text], object)
			}
		}
		p.lists[at] = known
	}
	return known
}

// keyOf returns the text of an item's merge key.
func keyOf(item any, key string) string {
	object, _ := item.(merge.Object)
	return fmt.Sprint(object[key])
}
