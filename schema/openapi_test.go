package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/schema"
)

const portsSchema = `{
	"type": "object",
	"properties": {
		"spec": {
			"type": "object",
			"properties": {
				"replicas": {"type": "integer"},
				"limit": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
				"labels": {"type": "object", "additionalProperties": {"type": "string"}},
				"args": {"type": "array", "items": {"type": "string"}},
				"tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
				"selector": {"type": "object", "properties": {"app": {"type": "string"}}, "x-kubernetes-map-type": "atomic"},
				"values": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
				"template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
				"ports": {
					"type": "array",
					"x-kubernetes-list-type": "map",
					"x-kubernetes-list-map-keys": ["port", "protocol"],
					"items": {
						"type": "object",
						"required": ["port"],
						"properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "name": {"type": "string"}}
					}
				}
			}
		}
	}
}`

// definition is a CustomResourceDefinition of two versions, the second of which is stored.
func definition(served, stored string) string {
	return fmt.Sprintf(
		`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {"group": "example.com", "versions": [
		{"name": "v1", "served": true, "storage": false, "schema": {"openAPIV3Schema": %s}},
		{"name": "v2", "served": true, "storage": true, "schema": {"openAPIV3Schema": %s}}]}}`, served, stored)
}

func TestParseOpenAPI(t *testing.T) {
	root, err := schema.ParseOpenAPI([]byte(portsSchema))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"spec":                               "struct",
		"spec.replicas":                      "scalar",
		"spec.limit":                         "scalar",
		"spec.labels":                        "map",
		`spec.labels["a"]`:                   "scalar",
		"spec.args":                          "atomic",
		"spec.tags":                          "set",
		"spec.selector":                      "atomic",
		"spec.selector.app":                  "scalar",
		"spec.values":                        "map",
		`spec.values["a"]["b"]`:              "untyped",
		`spec.template["spec"]`:              "untyped",
		"spec.template.metadata":             "struct",
		"spec.template.metadata.finalizers":  "set",
		"spec.ports":                         "list-map by port, protocol",
		`spec.ports[port=80,protocol="TCP"]`: "struct",
		`spec.ports[port=80,protocol="TCP"].name`: "scalar",
		"metadata.labels":                         "map",
		"metadata.ownerReferences":                "list-map by uid",
		`metadata.ownerReferences[uid="a"]`:       "atomic",
		"kind":                                    "scalar",
		"spec.unknown":                            "invalid",
	} {
		p, err := fieldpath.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := root.Lookup(p).String(); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

func TestParseOpenAPIOfVersions(t *testing.T) {
	other := `{"type": "object", "properties": {"data": {"type": "string"}}}`
	both := []byte(definition(portsSchema, other))
	for _, test := range []struct {
		of    []runtimeschema.GroupVersionKind
		field string
	}{{nil, "data"}, {[]runtimeschema.GroupVersionKind{{Version: "v2"}}, "data"},
		{[]runtimeschema.GroupVersionKind{{Version: "v1"}}, "spec"}} {
		root, err := schema.ParseOpenAPI(both, test.of...)
		if err != nil || root.Field(test.field) == nil {
			t.Errorf("of %v: %v, field %s: %v", test.of, err, test.field, root.Field(test.field))
		}
	}
}

func TestParseOpenAPI_Invalid(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"no JSON": {`{`, "read the definition: unexpected EOF"},
		"a list":  {`[]`, "read the definition: must be an object"},
		"another kind": {
			`{"kind": "Pod", "spec": {}}`, "kind: must be CustomResourceDefinition, and is Pod"},
		"an old definition": {
			`{"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1beta1"}`,
			"apiVersion: must be apiextensions.k8s.io/v1, and is apiextensions.k8s.io/v1beta1"},
		"no versions": {
			`{"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1"}`,
			"spec.versions: there is no version that is stored"},
		"no schema": {
			definition(portsSchema, "null"), "spec.versions[1].schema.openAPIV3Schema: required"},
	} {
		_, err := schema.ParseOpenAPI([]byte(test.schema))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: got\n%v\nwant\n%s", name, err, test.want)
		}
	}
}

// TestParseOpenAPI_Lenient reads schemas that no API server accepts. What they do not say merges by
// its JSON, or as a whole.
func TestParseOpenAPI_Lenient(t *testing.T) {
	const items = `"items": {"type": "object", "properties": {"k": {"type": "string"}, "o": {"type": "object"}}}`
	for name, test := range map[string]struct{ schema, want string }{
		"no type":         {`{}`, "untyped"},
		"an unknown type": {`{"type": "list"}`, "untyped"},
		"a reference":     {`{"$ref": "#/properties/a"}`, "untyped"},
		"a type in a junctor": {
			`{"type": "object", "anyOf": [{"type": "string"}], "properties": {"k": {}}}`, "struct"},
		"no schema": {`5`, "invalid"},
		"no items":  {`{"type": "array"}`, "atomic"},
		"a map without keys": {
			`{"type": "array", "x-kubernetes-list-type": "map", ` + items + `}`, "atomic"},
		"a map without items": {
			`{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}`, "atomic"},
		"a map of texts": {
			`{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "string"}}`, "atomic"},
		"an unknown key": {
			`{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["x"], ` + items + `}`, "atomic"},
		"a key that is no word": {
			`{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "o"], ` + items + `}`, "atomic"},
		"an optional key": {
			`{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], ` + items + `}`, "list-map by k"},
		"another list": {
			`{"type": "array", "x-kubernetes-list-type": "bag", ` + items + `}`, "atomic"},
		"another map": {
			`{"type": "object", "x-kubernetes-map-type": "whole", "additionalProperties": {"type": "string"}}`, "map"},
		"properties and more": {
			`{"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "string"}}`, "struct"},
	} {
		root, err := schema.ParseOpenAPI(
			[]byte(`{"type": "object", "properties": {"a": ` + test.schema + `}}`))
		if got := root.Inner("a").String(); err != nil || got != test.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, test.want)
		}
	}
}

// TestParseOpenAPI_Linear reads large schemas: a result or an error comes at once.
func TestParseOpenAPI_Linear(t *testing.T) {
	wide := map[string]any{}
	for i := range 50_000 {
		wide[fmt.Sprintf("p%d", i)] = map[string]any{"type": "string"}
	}
	data, err := json.Marshal(map[string]any{"type": "object", "properties": wide})
	if err != nil {
		t.Fatal(err)
	}
	deep := func(n int, end string) string {
		return strings.Repeat(`{"type":"object","properties":{"a":`, n) + end +
			strings.Repeat("}}", n)
	}
	for name, text := range map[string]string{
		"many properties":            string(data),
		"many properties of no type": strings.ReplaceAll(string(data), `{"type":"string"}`, "{}"),
		"400 levels":                 deep(400, `{"type":"string"}`),
		"4,000 levels":               deep(4000, `{}`),
		"10,000 levels":              deep(10_000, `{}`),
		"many branches": `{"type":"object","properties":` +
			string(data[len(`{"properties":`):len(data)-len(`,"type":"object"}`)]) +
			`,"anyOf":[` + strings.Repeat(`{"properties":{"p1":{"minLength":1}}},`, 20_000) +
			`{}]}`,
	} {
		start := testenv.ProcessorTime()
		_, err := schema.ParseOpenAPI([]byte(text))
		if took := testenv.ProcessorTime() - start; took > 20*time.Second {
			t.Errorf("%s: %v", name, took)
		}
		if (err != nil) != (name == "10,000 levels") { // which JSON does not have
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestParseOpenAPI_YAML reads the same types from YAML as from JSON. Several documents, duplicate
// keys and other values are errors.
func TestParseOpenAPI_YAML(t *testing.T) {
	const text = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  versions:
  - name: v1
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          tags: {type: array, x-kubernetes-list-type: set, items: {type: string, maxLength: 9007199254740993}}
`
	for _, before := range []string{"", "---\n", "# a comment\n---\n", "\n"} {
		for _, behind := range []string{"", "---\n", "---\n# the end\n"} {
			got, err := schema.ParseOpenAPI([]byte(before + text + behind))
			if err != nil {
				t.Fatalf("%q, %q: %v", before, behind, err)
			}
			if tags := got.Lookup(fieldpath.Fields("tags")); tags.String() != "set" {
				t.Errorf("tags are %v, want a set", tags)
			}
		}
	}
	if got, err := schema.ParseOpenAPI(
		[]byte("{type: object, properties: {a: {type: string}}}")); err != nil ||
		got.Field("a") == nil {
		t.Errorf("a schema in braces: %v, %v", got, err)
	}
	for bad, want := range map[string]string{
		text + "---\n" + text:                    "there is more than one document",
		`{"type": "object"}{"type": "x"}`:        "read the definition: ",
		"type: object\ntype: object\n":           "already set",
		"":                                       "must be an object",
		"- a\n":                                  "must be an object",
		"a: [\n":                                 "read the definition: ",
		"type: object\nproperties: &a {b: *a}\n": "read the definition: ",
		"a: &a " + strings.Repeat("x", 1<<20) +
			"\nb: [*a, *a, *a]\n": "its aliases expand it to more than 3 MiB",
	} {
		if _, err := schema.ParseOpenAPI([]byte(bad)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("ParseOpenAPI(%.80q) = %v, want %q", bad, err, want)
		}
	}
}
