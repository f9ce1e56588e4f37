package explain

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/nearest"
	"github.com/trainweld/trainweld/schema"
)

// parse parses a path as package schema does. It also accepts [] for any item of a list, as Format writes it if the
// items have no key.
func parse(text string) (fieldpath.Path, error) {
	return fieldpath.ParsePath(strings.ReplaceAll(strings.TrimSpace(text), "[]", "[*]"))
}

// resolved is a field with the types on its path.
type resolved struct {
	path fieldpath.Path
	typ  *schema.Type
	// field is the last struct field on the path, and parent its struct.
	field  *schema.StructField
	parent *schema.Type
	// patchable means that a patch can reach the field.
	patchable bool
	// pruned means that the definitions lack the field.
	pruned bool
	// atomic is the outermost list or value around the field that merges as a whole, or nil.
	atomic fieldpath.Path
}

func resolve(root *schema.Type, path fieldpath.Path) (*resolved, error) {
	r := &resolved{typ: root, patchable: true}
	for _, step := range path {
		var err error
		if name, ok := step.Field(); ok {
			err = r.into(name)
		} else {
			err = r.item(step)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// into descends into a field. In a list or map without a named item, it descends into that field of any item.
func (r *resolved) into(name string) error {
	if r.typ.Kind == schema.Map {
		return r.item(fieldpath.Key(name))
	}
	if r.typ.Kind != schema.Struct {
		if r.typ.Elem == nil || r.typ.Elem.Kind != schema.Struct {
			return fmt.Errorf("%s has no fields", r.where())
		}
		if err := r.item(anyItem); err != nil {
			return err
		}
	}
	f := r.typ.Field(name)
	if f == nil {
		var names []string
		for _, f := range r.typ.Fields {
			names = append(names, f.Name)
		}
		where := r.where()
		if near := nearest.To(name, names); near != "" {
			return fmt.Errorf("%s has no field %s; did you mean %s?", where, name, near)
		}
		return fmt.Errorf("%s has no field %s; its fields are %s", where, name, strings.Join(names, ", "))
	}
	r.parent = r.typ
	r.pruned = r.pruned || isPruned(r.path, f)
	r.patchable = r.patchable && f.Patch != nil && !r.pruned
	r.path = r.path.Append(fieldpath.Field(name))
	r.field, r.typ = f, f.Type
	if r.typ.Kind == schema.Atomic && r.atomic == nil {
		r.atomic = r.path
	}
	return nil
}

// kept are the fields of a template's metadata in the definitions of TrainJob and of the runtimes. The API server prunes
// the others.
var kept = []string{"annotations", "finalizers", "labels", "name", "namespace"}

// isPruned reports whether the API server prunes the field of the struct at a path.
func isPruned(path fieldpath.Path, f *schema.StructField) bool {
	return len(path) > 0 && path[len(path)-1] == fieldpath.Field("metadata") && !slices.Contains(kept, f.Name)
}

// anyItem is the step to any item of a list or any key of a map.
var anyItem = fieldpath.Key("*")

// item descends into an item of a list or a key of a map.
func (r *resolved) item(step fieldpath.Step) error {
	name, _ := step.Key() // also of an element
	key, value, isItem := step.Item()
	position, isPosition := step.Index()
	_, isElement := step.Element()
	switch t := r.typ; {
	case t.Key != "" && isItem && key != t.Key:
		return fmt.Errorf("the items of %s are told apart by %s, not by %s", r.where(), t.Key, key)
	case t.Key != "" && isElement:
		return fmt.Errorf("the items of %s are told apart by %s: name one as in [%s=%q]", r.where(), t.Key, t.Key, name)
	case t.Kind == schema.Map && (isItem || isElement):
		return fmt.Errorf("%s is a map: name a key of it, as in [\"key\"]", r.where())
	case t.Kind == schema.Set && isItem:
		return fmt.Errorf("%s is a set: name an element of it, as in [=\"element\"]", r.where())
	case isItem:
		name = value
	case t.Kind == schema.Map && isPosition:
		name = strconv.Itoa(position)
	case step == anyItem, name == t.Key: // a position also stands for any item
		name = ""
	}
	named, ok := r.typ.Named(name)
	if !ok {
		return fmt.Errorf("%s is neither a list nor a map", r.where())
	}
	r.path = r.path.Append(named)
	r.typ = r.typ.Elem
	if r.typ == nil {
		return errors.New("it has no items that could be named")
	}
	return nil
}

// where returns the path for an error.
func (r *resolved) where() string {
	if len(r.path) == 0 {
		return "a JobSet"
	}
	return Format(r.path)
}
