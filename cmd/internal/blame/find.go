package blame

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/explain"
	"github.com/trainweld/trainweld/render/nearest"
	"github.com/trainweld/trainweld/schema"
)

// Find returns the fields that a path names, in the order of the object. A path may have the form
// of a manifest. The first dot is optional. A field may name an entry of a map (nodeSelector.pool).
// A key or a position names an item; [*] or a missing item means all of them. A path into a list
// that is one value names the list. A path that does not start at the root names every field whose
// path ends with it.
//
// Without a match, the error is an *UnknownField or an *UnsetField. The latter means that the
// object may have the field, but no layer set it. An invalid path gives the error of
// fieldpath.ParsePath.
func (o *Object) Find(text string) ([]*Field, error) {
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

// UnknownField is the error for a path without a field in the object.
type UnknownField struct {
	// Path is the requested path.
	Path fieldpath.Path
	// Nearest are similar fields.
	Nearest []fieldpath.Path
}

// Error names the path and similar fields.
func (e *UnknownField) Error() string {
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

// UnsetField is the error for a field that the object may have and no layer set.
type UnsetField struct {
	Path fieldpath.Path
	// Setters lists the ways to set it, the most likely first.
	Setters []string
}

// Error names the field and the ways to set it.
func (e *UnsetField) Error() string {
	return fmt.Sprintf("nobody sets %s; it could be set by %s", e.Path,
		strings.Join(e.Setters, ", "))
}

// endingIn returns the fields of the object whose paths end with this one.
func (o *Object) endingIn(path fieldpath.Path) []*Field {
	s := search{path: path}
	for f := range o.root.each() {
		if f != o.root {
			s.match(f, 0)
		}
	}
	return s.found
}

// search follows a path in all its possible meanings.
type search struct {
	path    fieldpath.Path
	found   []*Field
	near    []*Field // the fields of the longest partial match
	deepest int      // its number of steps
}

// match matches the steps from index i on within f.
func (s *search) match(f *Field, i int) {
	if i == len(s.path) || f.Claims != nil && f.Children == nil && isInside(s.path[i]) {
		if !slices.Contains(s.found, f) {
			s.found = append(s.found, f)
		}
		return
	}
	hit := false
	for position, child := range f.Children {
		if matchesStep(child.step, s.path[i], position) {
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
	return isIndex || step == fieldpath.Any()
}

// matchesStep reports whether a step in the searched path matches the i-th child's step.
func matchesStep(child, written fieldpath.Step, i int) bool {
	_, isField := child.Field()
	if child == written || written == fieldpath.Any() && !isField {
		return true
	}
	if position, ok := written.Index(); ok {
		_, isElement := child.Element()
		return (child.Keys() != nil || isElement) && position == i
	}
	name, ok := written.Name()
	if !ok {
		return false
	}
	if key, isKey := child.Key(); isKey {
		return key == name
	}
	if field, _ := child.Field(); isField {
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

// nearest returns the fields within f with names similar to the step.
func (f *Field) nearest(step fieldpath.Step, t *schema.Type) []fieldpath.Path {
	var names []string
	byName := map[string]fieldpath.Step{}
	for _, child := range f.Children {
		name := stepName(child.step)
		names, byName[name] = append(names, name), child.step
	}
	if t = t.Lookup(f.Path); t != nil {
		for _, field := range t.Fields {
			if _, known := byName[field.Name]; !known {
				names, byName[field.Name] = append(names, field.Name), fieldpath.Field(field.Name)
			}
		}
	}
	if near := nearest.To(stepName(step), names); near != "" {
		return []fieldpath.Path{f.Path.Append(byName[near])}
	}
	if step.Keys() != nil { // a wrong item of a list: return the existing ones
		var items []fieldpath.Path
		for _, child := range f.Children {
			items = append(items, child.Path)
		}
		return items
	}
	return nil
}

func stepName(step fieldpath.Step) string {
	if _, value, ok := step.Item(); ok {
		return value
	}
	if name, ok := step.Name(); ok {
		return name
	}
	if element, ok := step.Element(); ok {
		return element
	}
	return step.String()
}

// named returns the fields of the object with a name similar to the step.
func (o *Object) named(step fieldpath.Step) []fieldpath.Path {
	name, _ := step.Field()
	var names []string
	for f := range o.root.each() {
		if field, ok := f.step.Field(); ok && !slices.Contains(names, field) {
			names = append(names, field)
		}
	}
	near := nearest.To(name, names)
	var found []fieldpath.Path
	for f := range o.root.each() {
		if field, ok := f.step.Field(); ok && field == near && near != "" {
			found = append(found, f.Path)
		}
	}
	return found
}

// unset returns the path of an unset field according to the schema. It starts at an existing field
// or list, and follows the remaining steps. It returns nil for a field that the schema does not
// have.
func unset(t *schema.Type, path, rest fieldpath.Path) fieldpath.Path {
	for i, step := range rest {
		if t == nil {
			return nil
		}
		_, isField := step.Field()
		if isField && t.KeyField() != nil && i > 0 {
			t = t.Elem
		}
		switch name, isName := step.Name(); {
		case isName && (t.Kind == schema.Struct || t.Kind == schema.Map):
			if path, t = path.Append(t.Step(name)), t.Inner(name); t == nil {
				return nil
			}
		case i > 0 && !isField:
			t, path = t.Elem, path.Append(step)
		default:
			return nil
		}
	}
	return path
}

// setters returns the ways to set a field of the object.
func (o *Object) setters(path fieldpath.Path) []string {
	switch o.typ {
	case JobType():
		path = jobTemplate.Append(path...)
	case PodType():
		path = jobTemplate.Append(fieldpath.Fields("spec", "template")...).Append(path...)
	}
	rule, err := explain.Field(path.String())
	if err != nil {
		return nil // explain knows every field of the schema, so there is no error
	}
	list := []string{rule.Set}
	if !strings.Contains(rule.Set, "runtime's") {
		list = append(list, "the runtime's template")
	}
	return list
}
