package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// This file reads the OpenAPI v3 documents of an API server. The server makes the schema of its
// applies of the same documents (kube-openapi pkg/schemaconv). It takes the types of lists from the
// struct tags of the API types if no extension states them.

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
		return kind["group"] == of[0].Group && kind["version"] == of[0].Version &&
			kind["kind"] == of[0].Kind
	}
	for _, name := range sortedKeys(d) {
		if kinds, _ := d[name]["x-kubernetes-group-version-kind"].([]any); !slices.ContainsFunc(
			kinds, is) {
			continue
		}
		c := newOpenAPI()
		c.document = d
		t := c.finish(c.named(name, nil))
		if t.Kind != Struct && t.Kind != Map {
			return nil, fmt.Errorf("components.schemas[%s]: must be an object that merges by field",
				name)
		}
		return t, nil
	}
	return nil, fmt.Errorf("components.schemas: no schema has the kind %s of %s", of[0].Kind,
		of[0].GroupVersion())
}

// reference returns the name of the schema to which a schema refers. A reference with a default
// lies in the only schema of an allOf.
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

// named returns the type of a named schema. Its fields are set by finish, since schemas may refer
// to each other. A reference can override whether objects merge.
func (c *openAPI) named(name string, override any) *Type {
	for i := 0; ; i++ { // through references to references, which may lead to themselves
		next, ok := reference(c.document[name])
		if !ok {
			break
		}
		if name = next; i > len(c.document) {
			return c.free
		}
	}
	switch name {
	case quantityName:
		return c.scalar(scalar{})
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
		if *next.to = *c.value(next.schema, false); next.to.Kind == ListMap {
			c.lists = append(c.lists, next.to)
		}
	}
	for _, list := range c.lists {
		list.setKeys()
	}
	return t
}
