package admission

import (
	"strconv"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/trainweld/trainweld/fieldpath"
)

// path parses a path that the API server prints, such as spec.runtimePatches[0].manager. It names
// the items of list-maps by their keys, as in all of this module. It needs the object, since keys
// of maps may contain dots.
func (o *object) path(text string, fields map[string]any) fieldpath.Path {
	var path fieldpath.Path
	var value any = fields
	of := o.schema
	for rest := text; rest != "" && rest != "<nil>"; {
		var step fieldpath.Step
		step, value, of, rest = o.nextStep(rest, value, of)
		path = append(path, step)
	}
	return path
}

// nextStep parses one step of the path.
func (o *object) nextStep(text string, value any,
	of *structuralschema.Structural) (step fieldpath.Step, next any,
	as *structuralschema.Structural, rest string) {
	if strings.HasPrefix(text, "[") {
		token, after, _ := strings.Cut(text[1:], "]")
		if list, ok := value.([]any); ok {
			if i, err := strconv.Atoi(token); err == nil {
				if i < len(list) {
					next = list[i]
				}
				if of != nil {
					as = of.Items
				}
				return o.item(list, i, of), next, as, after
			}
		}
		entries, _ := value.(map[string]any)
		return fieldpath.Key(token), entries[token], valuesOf(of), after
	}
	text = strings.TrimPrefix(text, ".")
	entries, _ := value.(map[string]any)
	if values := valuesOf(of); values != nil {
		key := longestKey(text, entries)
		return fieldpath.Key(key), entries[key], values, text[len(key):]
	}
	name := text
	if end := strings.IndexAny(text, ".["); end > 0 {
		name = text[:end]
	}
	return fieldpath.Field(name), entries[name], structuralField(of, name), text[len(name):]
}

// structuralField returns the schema of a field that a schema names, or nil.
func structuralField(s *structuralschema.Structural, name string) *structuralschema.Structural {
	if s == nil {
		return nil
	}
	if field, ok := s.Properties[name]; ok {
		return &field
	}
	return nil
}

// valuesOf returns the schema of a map's values, or nil for other types.
func valuesOf(of *structuralschema.Structural) *structuralschema.Structural {
	if of == nil || of.AdditionalProperties == nil {
		return nil
	}
	return of.AdditionalProperties.Structural
}

// longestKey returns the longest key that the string starts with and that ends at a possible end of
// a step.
func longestKey(text string, entries map[string]any) string {
	end := len(text)
	for end > 0 {
		if _, ok := entries[text[:end]]; ok {
			return text[:end]
		}
		end = strings.LastIndexAny(text[:end], ".[")
	}
	if end := strings.IndexAny(text, ".["); end > 0 {
		return text[:end]
	}
	return text
}

// item returns the step to an item of a list. It uses the item's key if the key is unique, else its
// position.
func (o *object) item(list []any, i int, of *structuralschema.Structural) fieldpath.Step {
	if of == nil || of.XListType == nil || *of.XListType != "map" || len(of.XListMapKeys) != 1 ||
		i >= len(list) {
		return fieldpath.Index(i)
	}
	key := of.XListMapKeys[0]
	name := func(item any) string {
		fields, _ := item.(map[string]any)
		name, _ := fields[key].(string)
		return name
	}
	count, known := o.names[&list[0]]
	if !known {
		count = make(map[string]int, len(list))
		for _, item := range list {
			count[name(item)]++
		}
		o.names[&list[0]] = count
	}
	if own := name(list[i]); own != "" && count[own] == 1 {
		return fieldpath.Item(key, own)
	}
	return fieldpath.Index(i)
}

func mapOf(object map[string]any, field string) map[string]any {
	fields, _ := object[field].(map[string]any)
	return fields
}
