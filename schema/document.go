package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// This file reads the OpenAPI v3 documents of an API server. The server makes the schema of its applies of the same documents
// (kube-openapi pkg/schemaconv). It takes the types of lists from the struct tags of the API types if no extension states them.

// document holds the schemas of a document by name.
type document map[string]map[string]any

// These types write JSON that their schemas do not describe.
const (
	quantityName = "io.k8s.apimachinery.pkg.api.resource.Quantity"
	rawName      = "io.k8s.apimachinery.pkg.runtime.RawExtension"
)

// documentIn returns the schemas of a document, or nil for another one.
func documentIn(root map[string]any) document {
	if version, _ := root["openapi"].(string); !strings.HasPrefix(version, "3.") {
		return nil
	}
	return subschemas(asSchema(root["components"]), "schemas")
}

// kind compiles the type of a kind.
func (d document) kind(of []runtimeschema.GroupVersionKind) (*Type, error) {
	if len(of) == 0 {
		return nil, errors.New("an OpenAPI document has the schemas of many kinds: name one")
	}
	is := func(v any) bool {
		kind, _ := v.(map[string]any)
		return kind["group"] == of[0].Group && kind["version"] == of[0].Version && kind["kind"] == of[0].Kind
	}
	for _, name := range sortedKeys(d) {
		if kinds, _ := d[name]["x-kubernetes-group-version-kind"].([]any); !slices.ContainsFunc(kinds, is) {
			continue
		}
		j := validator{}
		j.document(d, name)
		if len(j.problems) > 0 {
			return nil, errors.Join(j.problems...)
		}
		c := newOpenAPI()
		c.document = d
		t := c.finish(c.named(name, nil))
		if t.Kind != Struct && t.Kind != Map {
			return nil, fmt.Errorf("components.schemas[%s]: must be an object that merges by field", name)
		}
		return t, nil
	}
	return nil, fmt.Errorf("components.schemas: no schema has the kind %s of %s", of[0].Kind, of[0].GroupVersion())
}

// reference returns the name of the schema to which a schema refers. A reference with a default lies in the only schema of an allOf.
func reference(s map[string]any) (name string, ok bool) {
	ref, ok := s["$ref"].(string)
	if all, _ := s["allOf"].([]any); !ok && len(all) == 1 {
		ref, ok = asSchema(all[0])["$ref"].(string)
	}
	return ref[strings.LastIndexByte(ref, '/')+1:], ok
}

// strategy returns the type of a list and its keys.
func (d document) strategy(s map[string]any) (kind any, keys []string) {
	kind, keys = s[listType], stringsOf(s[listKeys])
	if kind != nil || d == nil {
		return kind, keys
	}
	switch s["x-kubernetes-patch-strategy"] {
	case "merge", "merge,retainKeys":
		if key, ok := s["x-kubernetes-patch-merge-key"].(string); ok {
			return "map", []string{key}
		}
		return "set", nil
	case nil, "retainKeys":
		return "atomic", nil
	}
	return s["x-kubernetes-patch-strategy"], nil
}

// named returns the type of a named schema. Its fields are set by finish, since schemas may refer to each other. A reference can
// override whether objects merge.
func (c *openAPI) named(name string, override any) *Type {
	switch name {
	case quantityName:
		return c.any
	case rawName:
		return c.opaque
	}
	s := c.document[name]
	if override != nil {
		s = maps.Clone(s)
		s[mapType] = override
		name = fmt.Sprint(name, " ", override)
	}
	if c.types[name] == nil {
		c.types[name] = new(Type)
		c.pending = append(c.pending, pending{c.types[name], s})
	}
	return c.types[name]
}

// pending is a named type whose schema is not yet read.
type pending struct {
	to     *Type
	schema map[string]any
}

// finish reads the named schemas that are left, and returns t.
func (c *openAPI) finish(t *Type) *Type {
	for len(c.pending) > 0 {
		next := c.pending[len(c.pending)-1]
		c.pending = c.pending[:len(c.pending)-1]
		*next.to = *c.value(next.schema, false)
	}
	for _, list := range c.lists {
		list.key = list.Elem.Field(list.Key)
	}
	return t
}

// document checks the schemas that a kind refers to.
func (j *validator) document(d document, kind string) {
	seen := map[string]bool{kind: true}
	for left := []string{kind}; len(left) > 0 && !j.tooDeep(); {
		name := left[len(left)-1]
		left = left[:len(left)-1]
		at := (&schemaPath{text: "components.schemas"}).key(name)
		if _, ok := reference(d[name]); ok {
			j.reject(at, "must not be a reference, as the target of one")
			continue
		}
		j.referring(d, d[name], at, 0, func(name string) {
			if !seen[name] {
				seen[name] = true
				left = append(left, name)
			}
		})
	}
}

// referring checks a schema of a document, and visits the names to which it refers.
func (j *validator) referring(d document, s map[string]any, at *schemaPath, depth int, visit func(string)) {
	if depth > deepestSchema {
		if !j.tooDeep() {
			j.problems = append(j.problems, errTooDeep)
		}
		return
	}
	if kind := s[mapType]; kind != nil && kind != "atomic" && kind != "granular" {
		j.reject(at.child(mapType), "must be atomic or granular, and is %v", kind)
	}
	if name, ok := reference(s); ok {
		if d[name] == nil {
			j.reject(at, "the document has no schema %q", name)
		} else if name != quantityName && name != rawName {
			visit(name)
		}
		return
	}
	switch of := s["type"]; of {
	case nil, "object", "integer", "number", "string", "boolean":
	case "array":
		if asSchema(s["items"]) == nil {
			j.reject(at.child("items"), "required in an array")
		}
	default:
		j.reject(at.child("type"), "must be one of %q, and is %v", schemaTypes, of)
	}
	if s["items"] != nil {
		j.lists(d, s, at)
	}
	properties := subschemas(s, "properties")
	j.notSchemas(s["properties"], at.child("properties"))
	for _, name := range sortedKeys(properties) {
		j.referring(d, properties[name], at.child("properties").key(name), depth+1, visit)
	}
	for _, keyword := range []string{"items", "additionalProperties"} {
		if sub := asSchema(s[keyword]); sub != nil {
			j.referring(d, sub, at.child(keyword), depth+1, visit)
		}
	}
}

// lists checks the type of a list, and that each item of a list-map can have its keys.
func (j *validator) lists(d document, s map[string]any, at *schemaPath) {
	kind, keys := d.strategy(s)
	if kind != "map" {
		if kind != "atomic" && kind != "set" {
			j.reject(at.child(listType), "must be atomic, set or map, and is %v", kind)
		}
		return
	}
	items := asSchema(s["items"])
	if name, ok := reference(items); ok {
		items = d[name]
	}
	properties := asSchema(items["properties"])
	if len(keys) == 0 {
		j.reject(at.child(listKeys), "required in a map")
	}
	for _, key := range keys {
		if items["type"] != "object" || asSchema(properties[key]) == nil {
			j.reject(at.child(listKeys), "%q is not a property of the items", key)
		}
	}
}
