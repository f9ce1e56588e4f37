package check

import (
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/schema"
)

// directives reports the keys of a map that a strategic merge patch takes for its own orders.
// Upstream obeys them, and so loses the runtime's labels to a label called "$patch".
func (c *objectChecker) directives(m merge.Object, path func() fieldpath.Path) {
	for _, key := range directivesIn(m) {
		c.report(codes.Directive, path().Append(fieldpath.Key(key)),
			"remove the key: a patch cannot remove entries of a map",
			"%q is a directive of strategic merge patches: the cluster obeys it, and drops the "+
				"runtime's values", key)
	}
}

// directivesIn returns the keys of a map that are directives, in their order.
func directivesIn(m merge.Object) []string {
	var keys []string
	for key := range m {
		if isDirective(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func isDirective(key string) bool {
	return strings.HasPrefix(key, "$") &&
		(key == "$patch" || key == "$retainKeys" || strings.HasPrefix(key, "$setElementOrder") ||
			strings.HasPrefix(key, "$deleteFromPrimitiveList"))
}

// nestedDirectives reports the directives in the maps within a value.
func (c *objectChecker) nestedDirectives(t *schema.Type, v any, path func() fieldpath.Path) {
	if t == nil || t.Kind == schema.Scalar {
		return
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			c.nestedDirectives(t.Elem, item, func() fieldpath.Path {
				return path().Append(fieldpath.Index(i))
			})
		}
	case merge.Object:
		if t.Kind == schema.Map {
			c.directives(v, path)
		}
		for _, f := range t.Fields {
			c.nestedDirectives(f.Type, v[f.Name], func() fieldpath.Path {
				return path().Append(fieldpath.Field(f.Name))
			})
		}
	}
}
