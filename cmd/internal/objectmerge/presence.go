package objectmerge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/jsonfields"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/schema"
)

// present records which fields the base and the patches set. The encoding of a Go type also writes
// required fields that no input sets, such as a null selector.
type present struct {
	fields map[string]*present
	items  map[string][]*present // the items of a list with a merge key, by their key
	list   []*present            // the items of another list
}

// directives are the names of fields that no object has. Some are the start of a longer name.
var directives = []string{"$patch", "$retainKeys", "$setElementOrder/", "$deleteFromPrimitiveList/"}

func isDirective(name string) bool {
	return slices.ContainsFunc(directives, func(d string) bool {
		return name == d || strings.HasSuffix(d, "/") && strings.HasPrefix(name, d)
	})
}

// typeRef is a place in a Go type: the type there, and the merge key of a list.
type typeRef struct {
	t   reflect.Type
	key string
}

// presence walks values by their Go types.
type presence struct{ structs jsonfields.Structs }

// field returns the place of a field or an entry. It has no type if the Go type does not tell it.
func (w presence) field(at typeRef, name string) (f typeRef, isPointer bool) {
	switch {
	case at.t == nil:
	case at.t.Kind() == reflect.Map:
		return typeRef{t: at.t.Elem()}, false
	case at.t.Kind() == reflect.Struct:
		if f, ok := w.structs.Field(at.t, name); ok {
			return typeRef{f.Type, f.MergeKey}, f.Type.Kind() == reflect.Pointer
		}
	}
	return typeRef{}, false
}

// concrete returns the place without pointers. A type with its own encoding has nothing within it.
func (at typeRef) concrete() typeRef {
	if at.t != nil {
		if at.t = jsonfields.Concrete(at.t); jsonfields.DecodesItself(at.t) {
			at.t = nil
		}
	}
	return at
}

func (at typeRef) item() typeRef {
	if at.t == nil || at.t.Kind() != reflect.Slice {
		return typeRef{}
	}
	return typeRef{t: at.t.Elem()}
}

// add records the fields of a value of an input. It returns p, or a new record for nil.
func (w presence) add(p *present, at typeRef, value any) *present {
	if p == nil {
		p = &present{}
	}
	at = at.concrete()
	switch value := value.(type) {
	case map[string]any:
		if p.fields == nil {
			p.fields = make(map[string]*present, len(value))
		}
		for name, field := range value {
			of, _ := w.field(at, name)
			switch {
			case isDirective(name):
			case field == nil:
				delete(p.fields, name)
			default:
				p.fields[name] = w.add(p.fields[name], of, field)
			}
		}
	case []any:
		if at.key == "" {
			p.list = make([]*present, len(value))
			for i, item := range value {
				p.list[i] = w.add(nil, at.item(), item)
			}
			break
		}
		// Items of one key are separate in a new list, and merge into the first one of another
		// list.
		merges := len(p.items) > 0
		if !merges {
			p.items = map[string][]*present{}
		}
		for _, item := range value {
			key := keyIn(item, at.key)
			if merges && p.items[key] != nil {
				w.add(p.items[key][0], at.item(), item)
			} else {
				p.items[key] = append(p.items[key], w.add(nil, at.item(), item))
			}
		}
	}
	return p
}

// prune removes fields of an encoded value that no input sets and that have their Go type's empty
// value. It keeps the value of a pointer, which an input has set.
func (w presence) prune(p *present, at typeRef, value any) {
	at = at.concrete()
	switch value := value.(type) {
	case map[string]any:
		if at.t == nil || at.t.Kind() == reflect.Map {
			if at.t != nil {
				for name, entry := range value {
					of, _ := w.field(at, name)
					w.prune(p.of(name), of, entry)
				}
			}
			return
		}
		for name, field := range value {
			of, isPointer := w.field(at, name)
			set := p.of(name)
			w.prune(set, of, field)
			if field == nil || set == nil && !isPointer && isZero(of, field) {
				delete(value, name)
			}
		}
	case []any:
		seen := map[string]int{}
		for i, item := range value {
			var set *present
			switch {
			case p == nil:
			case at.key != "":
				key := keyIn(item, at.key)
				if n := seen[key]; n < len(p.items[key]) {
					set = p.items[key][n]
				}
				seen[key]++
			case i < len(p.list):
				set = p.list[i]
			}
			w.prune(set, at.item(), item)
		}
	}
}

// of returns the record of a field, or nil.
func (p *present) of(name string) *present {
	if p == nil {
		return nil
	}
	return p.fields[name]
}

// isZero reports whether a pruned value encodes the zero value of its Go type. The zero quantity is
// "0", for example.
func isZero(at typeRef, value any) bool {
	if at.t == nil {
		return false
	}
	if fields, ok := value.(map[string]any); ok {
		return len(fields) == 0 && at.t.Kind() == reflect.Struct
	}
	zero, err := json.Marshal(reflect.Zero(at.t).Interface())
	text, failed := json.Marshal(value)
	return err == nil && failed == nil && bytes.Equal(zero, text)
}

func keyIn(item any, key string) string {
	object, _ := item.(map[string]any)
	return fmt.Sprint(object[key])
}

func mergeKeyOf(t *schema.Type, item any) string { return keyIn(item, t.Key) }

// fieldsOf returns the fields of a merged value that the base or one of the patches sets.
func (m *Object) fieldsOf(value any, patches []Patch) (merge.Object, error) {
	base, err := m.base.Fields()
	if err != nil {
		return nil, err
	}
	w, root := presence{jsonfields.Structs{}}, typeRef{t: m.goType}
	set := w.add(nil, root, base)
	for _, patch := range patches {
		w.add(set, root, patch.fields)
	}
	merged, err := tree.Fields(value)
	if err != nil {
		return nil, err
	}
	w.prune(set, root, merged)
	return merged, nil
}
