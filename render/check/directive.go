package check

import (
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/schema"
)

// directives reports the keys of a map that a strategic merge patch takes for its own orders.
// Upstream obeys them, and so loses the runtime's labels to a label called "$patch".
func (c *objectChecker) directives(m reflect.Value, path func() fieldpath.Path) {
	for _, key := range directivesIn(m) {
		c.report(codes.Directive, finding.Error, path().Append(fieldpath.Key(key)),
			"remove the key: a patch cannot remove entries of a map",
			"%q is a directive of strategic merge patches: the cluster obeys it, and drops the "+
				"runtime's values", key)
	}
}

// directivesIn returns the keys of a map that are directives, in their order.
func directivesIn(m reflect.Value) []string {
	var keys []string
	if plain, ok := m.Interface().(map[string]string); ok {
		for key := range plain {
			if isDirective(key) {
				keys = append(keys, key)
			}
		}
	} else {
		for entries := m.MapRange(); entries.Next(); {
			if key := entries.Key().String(); isDirective(key) {
				keys = append(keys, key)
			}
		}
	}
	if len(keys) > 1 {
		slices.Sort(keys)
	}
	return keys
}

func isDirective(key string) bool {
	return strings.HasPrefix(key, "$") &&
		(key == "$patch" || key == "$retainKeys" || strings.HasPrefix(key, "$setElementOrder") ||
			strings.HasPrefix(key, "$deleteFromPrimitiveList"))
}

// nestedDirectives reports the directives in the maps within a value.
func (c *objectChecker) nestedDirectives(t *schema.Type, v reflect.Value,
	path func() fieldpath.Path) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch {
	case t == nil || t.Kind == schema.Scalar:
	case v.Kind() == reflect.Map:
		c.directives(v, path)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			c.nestedDirectives(t.Elem, v.Index(i), func() fieldpath.Path {
				return path().Append(fieldpath.Index(i))
			})
		}
	case v.Kind() == reflect.Struct:
		for _, f := range t.Fields {
			if inner, encoded := f.Template.Of(v); encoded {
				c.nestedDirectives(f.Type, inner, func() fieldpath.Path {
					return path().Append(fieldpath.Field(f.Name))
				})
			}
		}
	}
}
