package diff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// Apply returns the object after the changes. The changes from old to new turn old into an object
// with the encoding of new. This includes the order of lists, and excludes nulls. The result has
// the type of the argument, and is a pointer if the argument is one. They share no memory.
//
// It returns an error if the object differs from the compared one, as far as the changes can tell.
// Each field must have the change's old value, so Apply rejects masked changes.
func (cs Changes) Apply(old any) (any, error) {
	t := typeOf(old)
	if t == nil {
		return nil, fmt.Errorf("diff: there is no object to apply changes to")
	}
	value, err := decode(old, t)
	if err != nil {
		return nil, fmt.Errorf("diff: the object: %w", err)
	}
	root := &edit{}
	for i := range cs {
		at := root
		for _, step := range cs[i].Path {
			at = at.child(step)
		}
		if cs[i].Kind == Moved {
			at.move = &cs[i]
		} else {
			at.change = &cs[i]
		}
	}
	value, err = root.apply(schemaOf(t), nil, value)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("diff: the changed object: %w", err)
	}
	made := reflect.New(t)
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, made.Interface()); err != nil {
		return nil, fmt.Errorf("diff: the changed object: %w", err)
	}
	if reflect.TypeOf(old).Kind() == reflect.Pointer {
		return made.Interface(), nil
	}
	return made.Elem().Interface(), nil
}

// edit holds the changes to one field and to the fields within it.
type edit struct {
	step         fieldpath.Step
	change, move *Change
	children     []*edit
	index        map[fieldpath.Step]*edit // of children
}

func (e *edit) child(step fieldpath.Step) *edit {
	if c := e.index[step]; c != nil {
		return c
	}
	c := &edit{step: step}
	e.children = append(e.children, c)
	if e.index == nil {
		e.index = map[fieldpath.Step]*edit{}
	}
	e.index[step] = c
	return c
}

// apply returns the value after the edit; nil means a missing value.
func (e *edit) apply(t *schema.Type, path fieldpath.Path, value any) (any, error) {
	if c := e.change; c != nil {
		if !reflect.DeepEqual(value, c.Old) {
			return nil, fmt.Errorf(
				"diff: %s is not what it was when the objects were compared; apply changes to "+
					"the object that they were made of, unmasked", c.Path)
		}
		return c.New, nil
	}
	if len(e.children) == 0 {
		return value, nil
	}
	_, _, isItem := e.children[0].step.Item()
	_, isElement := e.children[0].step.Element()
	if isItem || isElement {
		return e.list(t, path, value)
	}
	return e.fields(t, path, value)
}

// fields edits the fields of a struct or the entries of a map. A map without entries becomes nil.
func (e *edit) fields(t *schema.Type, path fieldpath.Path, value any) (any, error) {
	made, isMap := map[string]any{}, false
	maps.Copy(made, entries(value))
	for _, child := range e.children {
		name, isField := child.step.Field()
		if !isField {
			name, isMap = child.step.Key()
		}
		v, err := child.apply(t.Inner(name), path.Append(child.step), made[name])
		if err != nil {
			return nil, err
		}
		if v == nil {
			delete(made, name)
		} else {
			made[name] = v
		}
	}
	if isMap && len(made) == 0 {
		return nil, nil
	}
	return made, nil
}

// list edits a list with keys. It removes deleted and moved items. It inserts new and moved items
// at their positions in the new list, in ascending order. A list without items becomes nil.
func (e *edit) list(t *schema.Type, path fieldpath.Path, value any) (any, error) {
	items := slices.Clone(asList(value))
	keys := itemSteps(t, items)
	if keys == nil {
		return nil, fmt.Errorf(
			"diff: %s has two items of one key; apply changes to the object that they were made of",
			path)
	}
	at := indexByKey(keys)
	type placed struct {
		to   int
		item any
	}
	var place []placed
	gone := map[int]bool{}
	for _, child := range e.children {
		i, found := at[child.step]
		var item any
		if found {
			item = items[i]
		}
		made, err := child.apply(t.Elem, path.Append(child.step), item)
		if err != nil {
			return nil, err
		}
		added := child.change != nil && child.change.Kind == Added
		switch {
		case added && !found:
			place = append(place, placed{child.change.To, made})
		case !found || added:
			return nil, fmt.Errorf(
				"diff: %s is not what it was when the objects were compared; apply changes to "+
					"the object that they were made of", path.Append(child.step))
		case made == nil:
			gone[i] = true
		case child.move != nil:
			gone[i] = true
			place = append(place, placed{child.move.To, made})
		default:
			items[i] = made
		}
	}
	made := make([]any, 0, len(items)+len(place))
	for i, item := range items {
		if !gone[i] {
			made = append(made, item)
		}
	}
	slices.SortFunc(place, func(a, b placed) int { return cmp.Compare(a.to, b.to) })
	all := make([]any, 0, len(made)+len(place))
	for _, p := range place {
		n := p.to - len(all)
		if n > len(made) {
			return nil, fmt.Errorf(
				"diff: %s has fewer items than when the objects were compared; apply changes to "+
					"the object that they were made of", path)
		}
		if n > 0 {
			all = append(all, made[:n]...)
			made = made[n:]
		}
		all = append(all, p.item)
	}
	all = append(all, made...)
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}
