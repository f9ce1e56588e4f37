package schema_test

import (
	"strings"
	"testing"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// webDocument is a document of an API server with the kind Web, which nests, and the kind Note
// without fields.
const webDocument = `
openapi: 3.0.0
components:
  schemas:
    com.example.v1.Note:
      type: object
      x-kubernetes-group-version-kind: [{group: example.com, kind: Note, version: v1}]
    com.example.v1.Web:
      type: object
      properties:
        apiVersion: {type: string}
        metadata: {allOf: [{$ref: '#/components/schemas/Meta'}], default: {}}
        spec: {$ref: '#/components/schemas/com.example.v1.WebSpec'}
      x-kubernetes-group-version-kind: [{group: other.com, kind: Web, version: v1}, {group: example.com, kind: Web, version: v1}]
    com.example.v1.WebSpec:
      type: object
      properties:
        ports:
          type: array
          items: {allOf: [{$ref: '#/components/schemas/Port'}], default: {}}
          x-kubernetes-list-type: map
          x-kubernetes-list-map-keys: [port, protocol]
          x-kubernetes-patch-strategy: merge
          x-kubernetes-patch-merge-key: port
        inner: {$ref: '#/components/schemas/com.example.v1.WebSpec'}
        whole: {allOf: [{$ref: '#/components/schemas/com.example.v1.WebSpec'}], x-kubernetes-map-type: atomic}
        limits: {type: object, additionalProperties: {$ref: '#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity'}}
        raw: {$ref: '#/components/schemas/io.k8s.apimachinery.pkg.runtime.RawExtension'}
        any: {}
        keyed: {type: array, items: {$ref: '#/components/schemas/Port'}, x-kubernetes-patch-strategy: 'merge,retainKeys', x-kubernetes-patch-merge-key: name}
        set: {type: array, items: {type: string}, x-kubernetes-patch-strategy: merge}
        atomic: {type: array, items: {type: string}, x-kubernetes-patch-strategy: retainKeys}
    Meta: {type: object, properties: {name: {type: string}}}
    Port: {type: object, properties: {name: {type: string, default: ""}, port: {type: integer, default: 0}, protocol: {type: string, default: TCP}}}
    io.k8s.apimachinery.pkg.api.resource.Quantity: {oneOf: [{type: string}, {type: number}]}
    io.k8s.apimachinery.pkg.runtime.RawExtension: {type: object}
`

var web = runtimeschema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Web"}

func TestParseOpenAPI_Document(t *testing.T) {
	root, err := schema.ParseOpenAPI([]byte(webDocument), web)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"metadata.name":           "scalar",
		"spec.ports":              "list-map by port, protocol",
		"spec.inner.inner.ports":  "list-map by port, protocol",
		"spec.whole":              "atomic",
		"spec.inner.whole":        "atomic",
		"spec.limits":             "map",
		"spec.raw":                "untyped",
		"spec.any":                "untyped",
		"spec.keyed":              "list-map by name",
		"spec.set":                "set",
		"spec.inner.inner.atomic": "atomic",
	} {
		if got := root.Lookup(fieldpath.Fields(strings.Split(path, ".")...)).String(); got != want {
			t.Errorf("%s merges as %s, want %s", path, got, want)
		}
	}
	keyed := root.Lookup(fieldpath.Fields("spec", "keyed"))
	if keyed.KeyField() == nil || keyed.Elem.Field("protocol").Default != "TCP" {
		t.Errorf("the key of spec.keyed is %v, the default protocol %v", keyed.KeyField(),
			keyed.Elem.Field("protocol").Default)
	}
}

func TestParseOpenAPI_DocumentInvalid(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"no such kind": {"group: example.com, kind: Web", "group: example.com, kind: Net",
			"components.schemas: no schema has the kind Web of example.com/v1"},
		"no such version": {"group: example.com, kind: Web, version: v1}]",
			"group: example.com, kind: Web, version: v2}]",
			"components.schemas: no schema has the kind Web of example.com/v1"},
		"no schemas": {
			"schemas:", "none:",
			"components.schemas: no schema has the kind Web of example.com/v1"},
		"a kind is a list": {"com.example.v1.Web:\n      type: object",
			"com.example.v1.Web:\n      type: string",
			"components.schemas[com.example.v1.Web]: must be an object that merges by field"},
	} {
		text := strings.Replace(webDocument, test.old, test.new, 1)
		if _, err := schema.ParseOpenAPI([]byte(text), web); err == nil ||
			err.Error() != test.want {
			t.Errorf("%s: got\n%v\nwant\n%s", name, err, test.want)
		}
	}
	for name, test := range map[string]struct{ old, new, path, want string }{
		"a dangling name": {"    Meta:", "    Mata:", "metadata", "untyped"},
		"a chain": {"    Meta:", "    Meta: {$ref: Mata}\n    Mata:", "metadata",
			"struct"},
		"a circle": {"    Meta:", "    Meta: {$ref: Meta}\n    Mata:", "metadata",
			"untyped"},
		"an unknown type": {"set: {type: array", "set: {type: list", "spec.set", "untyped"},
		"a list of nothing": {"set: {type: array, items: {type: string}", "set: {type: array",
			"spec.set", "set"},
		"a missing key": {"merge-key: name", "merge-key: id", "spec.keyed", "atomic"},
		"no keys": {"list-map-keys: [port, protocol]", "list-map-keys: []", "spec.ports",
			"atomic"},
		"another strategy": {"strategy: retainKeys", "strategy: replace", "spec.atomic",
			"atomic"},
		"another map":        {"map-type: atomic", "map-type: whole", "spec.whole", "struct"},
		"a property is none": {"any: {}", "any: 5", "spec.any", "invalid"},
		"a deep schema": {
			"any: {}", "any: " + strings.Repeat("{properties: {a: ", 501) + "{}" +
				strings.Repeat("}}", 501), "spec.any", "untyped"},
	} {
		root, err := schema.ParseOpenAPI(
			[]byte(strings.Replace(webDocument, test.old, test.new, 1)), web)
		if got := root.Lookup(
			fieldpath.Fields(strings.Split(test.path, ".")...)).String(); err != nil ||
			got != test.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, test.want)
		}
	}
	if _, err := schema.ParseOpenAPI([]byte(webDocument)); err == nil ||
		!strings.Contains(err.Error(), "name one") {
		t.Errorf("without a kind: %v", err)
	}
	other := web
	other.Kind = "Other"
	if _, err := schema.ParseOpenAPI([]byte(definition(portsSchema, portsSchema)),
		other); err == nil ||
		!strings.Contains(err.Error(), "spec.names.kind: must be Other of example.com") {
		t.Errorf("a definition of another kind: %v", err)
	}
}
