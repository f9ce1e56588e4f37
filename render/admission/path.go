package admission

import (
	"slices"
	"strconv"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/trainweld/trainweld/schema"
)

// path reads a path as the API server prints it, such as spec.runtimePatches[0].manager, and names the
// items of list-maps by their keys, as everything else in this module does. It needs the object to tell
// the keys of maps, which may hold dots, from fields.
func (d *definition) path(text string, fields map[string]any) schema.Path {
	var path schema.Path
	var value any = fields
	of := d.schema
	for rest := text; rest != "" && rest != "<nil>"; {
		var step schema.Step
		step, value, of, rest = nextStep(rest, value, of)
		path = append(path, step)
	}
	return path
}

// nextStep reads one step off the text.
func nextStep(text string, value any, of *structuralschema.Structural) (step schema.Step, next any, as *structuralschema.Structural, rest string) {
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
				return item(list, i, of), next, as, after
			}
		}
		entries, _ := value.(map[string]any)
		return schema.Key(token), entries[token], valuesOf(of), after
	}
	text = strings.TrimPrefix(text, ".")
	entries, _ := value.(map[string]any)
	if values := valuesOf(of); values != nil {
		key := longestKey(text, entries)
		return schema.Key(key), entries[key], values, text[len(key):]
	}
	name := text
	if end := strings.IndexAny(text, ".["); end > 0 {
		name = text[:end]
	}
	if of != nil {
		if property, ok := of.Properties[name]; ok {
			as = &property
		}
	}
	return schema.Field(name), entries[name], as, text[len(name):]
}

// valuesOf is the schema of a map's values, nil for what is no map.
func valuesOf(of *structuralschema.Structural) *structuralschema.Structural {
	if of == nil || of.AdditionalProperties == nil {
		return nil
	}
	return of.AdditionalProperties.Structural
}

// longestKey is the key that the text begins with.
func longestKey(text string, entries map[string]any) string {
	longest := text
	if end := strings.IndexAny(text, ".["); end > 0 {
		longest = text[:end]
	}
	for key := range entries {
		after, ok := strings.CutPrefix(text, key)
		if ok && len(key) > len(longest) && (after == "" || after[0] == '.' || after[0] == '[') {
			longest = key
		}
	}
	return longest
}

// item is the step to an item of a list: by the item's key where the list has one and no other item has
// the same, else by its position.
func item(list []any, i int, of *structuralschema.Structural) schema.Step {
	if of == nil || of.XListType == nil || *of.XListType != "map" || len(of.XListMapKeys) != 1 || i >= len(list) {
		return schema.Index(i)
	}
	key := of.XListMapKeys[0]
	name := func(item any) (string, bool) {
		fields, _ := item.(map[string]any)
		name, ok := fields[key].(string)
		return name, ok && name != ""
	}
	own, ok := name(list[i])
	if !ok {
		return schema.Index(i)
	}
	twice := slices.ContainsFunc(list[:i], func(other any) bool { n, _ := name(other); return n == own }) ||
		slices.ContainsFunc(list[i+1:], func(other any) bool { n, _ := name(other); return n == own })
	if twice {
		return schema.Index(i)
	}
	return schema.Item(key, own)
}
