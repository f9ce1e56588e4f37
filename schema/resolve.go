package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
)

// PathError is the error for a path that no object of a type has.
type PathError struct {
	// Meant is the longest path that was probably meant, or nil.
	Meant   fieldpath.Path
	problem string
}

// Error says which step leads nowhere, and shows the path that was probably meant.
func (e *PathError) Error() string {
	switch {
	case e == nil:
		return "no error"
	case e.Meant == nil:
		return e.problem
	}
	return e.problem + ": use " + e.Meant.String()
}

// Resolve returns the path that a person means who writes p, in the form in which paths are
// printed. A field of a list is the field of each item, and [a] is the item, the element or the key
// a. The error is a [*PathError].
func (t *Type) Resolve(p fieldpath.Path) (fieldpath.Path, error) {
	path, lacking, problem := t.resolve(p, nil)
	if problem == "" {
		return path, nil
	}
	if lacking != nil {
		path = nil
		if lacking == t.forStep(p[0]).granular() {
			path = t.endingWith(p)
		}
	}
	if lacking != nil && path == nil {
		var names []string
		for _, f := range lacking.Fields {
			names = append(names, f.Name)
		}
		problem += "; its fields are " + strings.Join(names, ", ")
	}
	return nil, &PathError{path, problem}
}

// resolve returns what p means behind a path at, and the first problem. With a problem, the path is
// as long as a correction is known. If none is known for a field, lacking is the struct without it.
func (t *Type) resolve(p, at fieldpath.Path) (path fieldpath.Path, lacking *Type, problem string) {
	path, of := at, t
	for _, step := range p {
		if name, isField := step.Field(); isField && name != anyName && of.isList() &&
			of.Kind != Set {
			path, of = path.Append(fieldpath.Any()), of.child(fieldpath.Any())
		}
		in := of.forStep(step)
		meant, why := in.granular().meant(step)
		isFirst := why != "" && problem == ""
		if isFirst {
			where := "the object"
			if len(path) > 0 {
				where = path.String()
			}
			problem = where + " " + why
		}
		if meant == (fieldpath.Step{}) {
			if _, isName := step.Name(); isName && isFirst && in.granular().Kind == Struct {
				lacking = in.granular()
			}
			return path, lacking, problem
		}
		path, of = path.Append(meant), in.child(meant)
	}
	return path, nil, problem
}

// anyName is how other grammars write any item.
const anyName = "*"

// isList reports whether the values are lists only.
func (t *Type) isList() bool {
	return t.HasItems() || t != nil && t.Kind == Atomic && t.Object == nil
}

// forStep returns the type of the objects or the lists of an Untyped to which a step leads.
func (t *Type) forStep(step fieldpath.Step) *Type {
	if t == nil || t.Kind != Untyped {
		return t
	}
	_, isName := step.Name()
	if t.List == nil || t.Object != nil && (isName || step == fieldpath.Any()) {
		return t.Object
	}
	return t.List
}

// meant returns the step that a person means who writes another one. With a problem it is a
// correction, and empty if none is known.
func (t *Type) meant(step fieldpath.Step) (meant fieldpath.Step, problem string) {
	name, isName := step.Name()
	_, isField := step.Field()
	if isField && name == anyName && (t == nil || t.Field(name) == nil) {
		if t != nil && t.Kind == Struct && t.Elem == nil {
			return fieldpath.Step{}, "has no part that is called *"
		}
		return fieldpath.Any(), "has no part that is called *"
	}
	switch {
	case t == nil:
		if isName {
			return t.Step(name), ""
		}
		return step, ""
	case t.Elem != nil && step == fieldpath.Any():
		return step, ""
	case t.Kind == Struct:
		return t.meantField(step)
	case t.Kind == Map:
		return t.meantKey(step)
	case t.Kind == ListMap:
		return t.meantItem(step)
	case t.Kind == Set:
		return t.meantElement(step)
	case t.Kind == Atomic:
		if _, isIndex := step.Index(); isIndex {
			return step, ""
		}
		return fieldpath.Any(), "is a list without keys"
	}
	return fieldpath.Step{}, "has no fields or items"
}

// meantField is meant for a struct.
func (t *Type) meantField(step fieldpath.Step) (meant fieldpath.Step, problem string) {
	name, isName := step.Name()
	switch {
	case t.Field(name) != nil && isName:
		return fieldpath.Field(name), ""
	case t.Elem != nil && isName:
		return t.Step(name), ""
	case !isName:
		return fieldpath.Step{}, "is neither a list nor a map"
	}
	if near := t.near(name); near != nil {
		return fieldpath.Field(near.Name), "has no field " + name
	}
	return fieldpath.Step{}, "has no field " + name
}

// meantKey is meant for a map.
func (t *Type) meantKey(step fieldpath.Step) (meant fieldpath.Step, problem string) {
	if name, isName := step.Name(); isName {
		return t.Step(name), ""
	}
	if i, isIndex := step.Index(); isIndex {
		return fieldpath.Key(strconv.Itoa(i)), ""
	}
	return t.Step(textOf(step)), `is a map: name a key, as in ["a"]`
}

// meantElement is meant for a set.
func (t *Type) meantElement(step fieldpath.Step) (meant fieldpath.Step, problem string) {
	const asElement = `is a set: name an element, as in [="a"]`
	_, isField := step.Field()
	_, isName := step.Name()
	_, isIndex := step.Index()
	value, isElement := step.ElementValue()
	switch {
	case isIndex:
		return fieldpath.Any(), asElement
	case isElement && !isText(t.Elem):
		return fieldpath.ElementOf(value), ""
	case isElement || isName && !isField:
		return fieldpath.Element(textOf(step)), ""
	}
	return fieldpath.Element(textOf(step)), asElement
}

// isText reports whether the keys and elements of a type are compared as texts.
func isText(t *Type) bool {
	return t != nil &&
		(t.JSON == "string" || t.goType != nil && indirect(t.goType).Kind() != reflect.Struct)
}

// meantItem is meant for a list-map.
func (t *Type) meantItem(step fieldpath.Step) (meant fieldpath.Step, problem string) {
	keys, names := step.Keys(), t.Keys
	if names == nil {
		names = []string{t.Key}
	}
	isOther := func(key fieldpath.ItemKey) bool { return !slices.Contains(names, key.Name) }
	isStar := func(key fieldpath.ItemKey) bool { return key.Value == anyName }
	name, isName := step.Name()
	switch {
	case isName && t.Key != "":
		return fieldpath.Item(t.Key, name), ""
	case slices.ContainsFunc(keys, isStar):
		return fieldpath.Any(), "has no item that is called *"
	case len(keys) > 0 && !slices.ContainsFunc(keys, isOther):
		for i, key := range keys {
			if isText(t.Elem.granular().Inner(key.Name)) {
				keys[i].Value = wordOf(key.Value)
			}
		}
		return fieldpath.ItemBy(keys...), ""
	}
	problem = "has items by their key " + strings.Join(names, ", ")
	if _, isElement := step.Element(); isElement && t.Key != "" {
		return fieldpath.Item(t.Key, textOf(step)), problem
	}
	return fieldpath.Any(), problem
}

// textOf returns what a step names in its list or map.
func textOf(step fieldpath.Step) string {
	if value, isElement := step.ElementValue(); isElement {
		return wordOf(value)
	}
	for _, key := range step.Keys() {
		return wordOf(key.Value)
	}
	name, _ := step.Name()
	return name
}

// wordOf returns a scalar as a person writes it without quotes.
func wordOf(value any) string {
	if value == nil {
		return "null"
	}
	return fmt.Sprint(value)
}

// Replaced returns the shortest beginning of a path, itself not included, whose value merges whole.
// It returns nil if there is none.
func (t *Type) Replaced(p fieldpath.Path) fieldpath.Path {
	for i, step := range p {
		if t = t.forStep(step); t == nil {
			return nil
		}
		isEntry := t.Kind == Map && t.goType != nil // which merges whole
		switch {
		case t.Kind == Atomic:
			return p[:i]
		case isEntry && i+1 < len(p):
			return p[:i+1]
		}
		t = t.child(step)
	}
	return nil
}

// near returns the field whose name differs by its case or its end alone, or nil.
func (t *Type) near(name string) *StructField {
	lower := strings.ToLower(name)
	for _, f := range t.Fields {
		if strings.ToLower(f.Name) == lower {
			return f
		}
	}
	for _, f := range t.Fields {
		if isNear(lower, strings.ToLower(f.Name)) {
			return f
		}
	}
	return nil
}

// isNear reports whether two names have three letters in common at their ends, and differ by at
// most two letters between these.
func isNear(a, b string) bool {
	short := min(len(a), len(b))
	start := 0
	for start < short && a[start] == b[start] {
		start++
	}
	end := 0
	for end < short-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return start+end > 2 && max(len(a), len(b))-start-end <= 2
}

// endingWith returns the shortest path that ends with another one, or nil.
func (t *Type) endingWith(end fieldpath.Path) fieldpath.Path {
	type place struct {
		path fieldpath.Path
		of   *Type
	}
	seen := map[*Type]bool{}
	for queue := []place{{nil, t}}; len(queue) > 0; queue = queue[1:] {
		path, of := queue[0].path, queue[0].of
		if of.isList() {
			path, of = path.Append(fieldpath.Any()), of.Elem
		}
		if of = of.forStep(fieldpath.Field("")).granular(); of == nil || seen[of] {
			continue
		}
		seen[of] = true
		if name, _ := end[0].Name(); of.Kind == Struct && of.Field(name) != nil {
			if longer, _, problem := of.resolve(end, path); problem == "" {
				return longer
			}
		}
		for _, f := range of.Fields {
			queue = append(queue, place{path.Append(fieldpath.Field(f.Name)), f.Type})
		}
	}
	return nil
}
