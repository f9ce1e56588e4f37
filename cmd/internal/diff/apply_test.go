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

// Apply returns the object after the changes, of the type to which old points. The changes from old
// to new turn old into an object with the encoding of new. This includes the order of lists, and
// excludes nulls. It returns an error if a field lacks the change's old value.
func (cs Changes) Apply(old any) (any, error) {
	t := typeOf(old)
	value, err := decode(old, t)
	if err != nil {
		return nil, err
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
		return nil, err
	}
	made := reflect.New(t)
	err = kjson.UnmarshalCaseSensitivePreserveInts(data, made.Interface())
	return made.Interface(), err
}

// notComparedError says that an object is not the one that was compared.
func notComparedError(path fieldpath.Path) error {
	return fmt.Errorf("%s is not what it was when the objects were compared", path)
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
			return nil, notComparedError(c.Path)
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
		return nil, notComparedError(path)
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
			return nil, notComparedError(path.Append(child.step))
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
			return nil, notComparedError(path)
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
