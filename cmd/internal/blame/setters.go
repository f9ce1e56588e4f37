package blame

import (
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/explain"
	"github.com/trainweld/trainweld/schema"
)

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
