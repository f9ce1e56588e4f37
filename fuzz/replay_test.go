package fuzz_test

import (
	"encoding/json"
	"reflect"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// document is a JSON object in the making, of claims alone. It knows nothing of schemas: the steps
// of a path tell fields, items and elements apart.
type document struct{ root map[string]any }

// place is where a value stands: a key of an object or an index of a list.
type place struct {
	object map[string]any
	key    string
	list   []any
	index  int
}

func (p place) get() any {
	if p.object != nil {
		return p.object[p.key]
	}
	return p.list[p.index]
}

func (p place) put(v any) {
	if p.object != nil {
		p.object[p.key] = v
	} else {
		p.list[p.index] = v
	}
}

// find walks to the place of a path; create makes the missing values on the way. It returns false
// where something is missing, or a position that is not the list's next one.
func (d document) find(path fieldpath.Path, create bool) (place, bool) {
	at := place{object: map[string]any{"": d.root}}
	for _, step := range path {
		next, ok := at.step(step, create)
		if !ok {
			return place{}, false
		}
		at = next
	}
	return at, true
}

func (p place) step(step fieldpath.Step, create bool) (place, bool) {
	name, isName := step.Field()
	if !isName {
		name, isName = step.Key()
	}
	if isName {
		object, ok := p.get().(map[string]any)
		if !ok {
			if !create || p.get() != nil {
				return place{}, false
			}
			object = map[string]any{}
			p.put(object)
		}
		if _, found := object[name]; !found && !create {
			return place{}, false
		}
		return place{object: object, key: name}, true
	}
	list, _ := p.get().([]any)
	item := any(nil)
	var same func(i int) bool
	if key, want, ok := step.Item(); ok {
		value := any(want)
		if key == "containerPort" {
			value = json.Number(want)
		}
		item = map[string]any{key: value}
		same = func(i int) bool {
			fields, _ := list[i].(map[string]any)
			return reflect.DeepEqual(fields[key], value)
		}
	} else if element, ok := step.Element(); ok {
		item = element
		same = func(i int) bool { return list[i] == element }
	} else if index, ok := step.Index(); ok && index <= len(list) {
		item = map[string]any{}
		same = func(i int) bool { return i == index }
	} else {
		return place{}, false
	}
	for i := range list {
		if same(i) {
			return place{list: list, index: i}, true
		}
	}
	if !create {
		return place{}, false
	}
	list = append(list, item)
	p.put(list)
	return place{list: list, index: len(list) - 1}, true
}

// apply sets the value of a claim. A null claims that the field is there and has no value. At the
// end, remove deletes such fields, once every other claim has made the values around them.
func (d document) apply(path fieldpath.Path, value any) bool {
	_, isElement := path[len(path)-1].Element()
	_, _, isItem := path[len(path)-1].Item()
	_, isIndex := path[len(path)-1].Index()
	if value == nil && (isElement || isItem || isIndex) {
		return true
	}
	at, ok := d.find(path, true)
	if !ok {
		return false
	}
	switch value.(type) {
	case merge.Presence:
		if at.get() == nil {
			at.put(map[string]any{})
		}
	default:
		at.put(decode(encode(value)))
	}
	return true
}

func (d document) remove(path fieldpath.Path) {
	at, ok := d.find(path, false)
	if !ok {
		return
	}
	if at.object != nil {
		delete(at.object, at.key)
		return
	}
	parent, _ := d.find(path[:len(path)-1], false)
	parent.put(append(append([]any{}, at.list[:at.index]...), at.list[at.index+1:]...))
}
