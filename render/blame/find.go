package blame

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/schema"
)

// Find returns the fields that a path names, in the order of the object. A path may be written as in
// a manifest: with or without its first dot, an entry of a map as a field (nodeSelector.pool), an item
// by its key or its position, and where it leaves the item out, all of them are meant. A path into a
// list that is one value names the list. A path that does not begin at the root names every field whose
// path ends so.
//
// Where nothing is found, the error is an *UnknownField when the object cannot have such a field, and
// an *UnsetField when it can and nobody set it.
func (o *Object) Find(text string) ([]*Field, error) {
	if o == nil || o.root == nil {
		o = &Object{root: &Field{}}
	}
	path, err := fieldpath.ParsePath(text)
	if err != nil {
		return nil, err
	}
	if len(path) == 0 {
		return []*Field{o.root}, nil
	}
	s := search{path: path, deepest: -1}
	s.match(o.root, 0)
	if s.found != nil {
		return s.found, nil
	}
	if s.deepest == 0 {
		if found := o.endingIn(path); found != nil {
			return found, nil
		}
	}
	for _, f := range s.near {
		if at := unset(o.typ.Lookup(f.Path), f.Path, path[s.deepest:]); at != nil {
			return nil, &UnsetField{Path: at, Setters: o.setters(at)}
		}
	}
	unknown := &UnknownField{Path: path}
	for _, f := range s.near {
		unknown.Nearest = append(unknown.Nearest, f.nearest(path[s.deepest], o.typ)...)
	}
	if unknown.Nearest == nil && len(path) == 1 {
		unknown.Nearest = o.named(path[0])
	}
	return nil, unknown
}

// UnknownField is a path that leads to no field of the object.
type UnknownField struct {
	// Path is what was asked for.
	Path fieldpath.Path
	// Nearest are fields that may have been meant.
	Nearest []fieldpath.Path
}

// Error names the path and what may have been meant.
func (e *UnknownField) Error() string {
	if e == nil {
		return "no error"
	}
	text := fmt.Sprintf("there is no field %s", e.Path)
	if len(e.Nearest) == 0 {
		return text
	}
	var names []string
	for _, path := range e.Nearest[:min(len(e.Nearest), 5)] {
		names = append(names, path.String())
	}
	return text + "; did you mean " + strings.Join(names, " or ") + "?"
}

// UnsetField is a field that the object may have and that nobody set.
type UnsetField struct {
	Path fieldpath.Path
	// Setters say who could set it, the most likely first.
	Setters []string
}

// Error says that nobody set the field, and who could.
func (e *UnsetField) Error() string {
	if e == nil {
		return "no error"
	}
	return fmt.Sprintf("nobody sets %s; it could be set by %s", e.Path, strings.Join(e.Setters, ", "))
}

// endingIn are the fields anywhere in the object whose paths end as this one.
func (o *Object) endingIn(path fieldpath.Path) []*Field {
	s := search{path: path}
	var walk func(f *Field)
	walk = func(f *Field) {
		for _, child := range f.Children {
			s.match(child, 0)
			walk(child)
		}
	}
	walk(o.root)
	return s.found
}

// search walks down a path in every way that it can be meant.
type search struct {
	path    fieldpath.Path
	found   []*Field
	near    []*Field // the fields in which it came farthest
	deepest int      // up to which step
}

// match looks for the steps from the i-th on within f.
func (s *search) match(f *Field, i int) {
	if i == len(s.path) || f.Claims != nil && f.Children == nil && isInside(s.path[i]) {
		if !slices.Contains(s.found, f) {
			s.found = append(s.found, f)
		}
		return
	}
	hit := false
	for position, child := range f.Children {
		if meets(child.step, s.path[i], position) {
			hit = true
			s.match(child, i+1)
		}
	}
	if _, isField := s.path[i].Field(); isField && !hit {
		for _, child := range f.Children {
			if child.step.Keys() != nil {
				hit = true
				s.match(child, i)
			}
		}
	}
	if hit || i < s.deepest {
		return
	}
	if i > s.deepest {
		s.near = nil
	}
	s.deepest, s.near = i, append(s.near, f)
}

// isInside reports whether a path leads into a list that is one value.
func isInside(step fieldpath.Step) bool {
	_, isIndex := step.Index()
	return isIndex
}

// meets reports whether the step to a child, which is the i-th, is what somebody wrote.
func meets(child, written fieldpath.Step, i int) bool {
	if child == written {
		return true
	}
	if position, ok := written.Index(); ok {
		_, isElement := child.Element()
		return (child.Keys() != nil || isElement) && position == i
	}
	name, ok := written.Field()
	if !ok {
		name, ok = written.Key()
	}
	if !ok {
		return false
	}
	if key, isKey := child.Key(); isKey {
		return key == name
	}
	if field, isField := child.Field(); isField {
		return field == name
	}
	if _, byField := written.Field(); byField {
		return false
	}
	if _, value, isItem := child.Item(); isItem {
		return value == name
	}
	element, isElement := child.Element()
	return isElement && element == name
}

// nearest are the fields within f whose names are near to a step.
func (f *Field) nearest(step fieldpath.Step, t *schema.Type) []fieldpath.Path {
	var names []string
	byName := map[string]fieldpath.Step{}
	for _, child := range f.Children {
		name := nameOf(child.step)
		names, byName[name] = append(names, name), child.step
	}
	if t = t.Lookup(f.Path); t != nil {
		for _, field := range t.Fields {
			if _, known := byName[field.Name]; !known {
				names, byName[field.Name] = append(names, field.Name), fieldpath.Field(field.Name)
			}
		}
	}
	if near := finding.Nearest(nameOf(step), names); near != "" {
		return []fieldpath.Path{f.Path.Append(byName[near])}
	}
	if step.Keys() != nil { // a wrong item of a list: show which there are
		var items []fieldpath.Path
		for _, child := range f.Children {
			items = append(items, child.Path)
		}
		return items
	}
	return nil
}

func nameOf(step fieldpath.Step) string {
	if _, value, ok := step.Item(); ok {
		return value
	}
	if name, ok := step.Field(); ok {
		return name
	}
	if key, ok := step.Key(); ok {
		return key
	}
	if element, ok := step.Element(); ok {
		return element
	}
	return step.String()
}

// named are the fields of a name anywhere in the object.
func (o *Object) named(step fieldpath.Step) []fieldpath.Path {
	name, _ := step.Field()
	var names []string
	var walk func(f *Field, visit func(*Field))
	walk = func(f *Field, visit func(*Field)) {
		for _, child := range f.Children {
			visit(child)
			walk(child, visit)
		}
	}
	walk(o.root, func(f *Field) {
		if field, ok := f.step.Field(); ok && !slices.Contains(names, field) {
			names = append(names, field)
		}
	})
	near := finding.Nearest(name, names)
	var found []fieldpath.Path
	walk(o.root, func(f *Field) {
		if field, ok := f.step.Field(); ok && field == near && near != "" {
			found = append(found, f.Path)
		}
	})
	return found
}
