package schema_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// TestResolve is the grammar of paths: how each step may be written, and which one is meant.
func TestResolve(t *testing.T) {
	defined, err := schema.ParseOpenAPI([]byte(`{"type": "object", "properties": {
	"ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"], "items": {
		"type": "object", "required": ["port", "protocol"], "properties": {"port": {"type": "integer"}, "protocol": {"type": "string"}, "name": {"type": "string"}}}},
	"sizes": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}},
	"a.b": {"type": "object", "properties": {"c": {"type": "string"}}},
	"free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"in": {"type": "string"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]*schema.Type{
		"Deployment": schema.TypeOf(reflect.TypeFor[appsv1.Deployment]()),
		"defined":    defined,
		"JSON":       schema.Open(),
	}
	const pod = "spec.template.spec."
	for _, tc := range []struct{ of, text, want, reason string }{
		{"Deployment", "spec.replicas", ".spec.replicas", "a field"},
		{"Deployment", `["spec"].replicas`, ".spec.replicas", "a field in brackets"},
		{"Deployment", pod + `containers[name="a"].image`,
			`.spec.template.spec.containers[name="a"].image`, "an item by its key"},
		{"Deployment", pod + "containers[a].image",
			`.spec.template.spec.containers[name="a"].image`, "an item by its name"},
		{"Deployment", pod + "containers[*].image", ".spec.template.spec.containers[*].image",
			"any item"},
		{"Deployment", pod + "containers.env.value",
			".spec.template.spec.containers[*].env[*].value", "items that are left out"},
		{"Deployment", pod + "containers[name=0]", `.spec.template.spec.containers[name="0"]`,
			"a text that a shell left without quotes"},
		{"Deployment", pod + "containers[a].ports[containerPort=80]",
			`.spec.template.spec.containers[name="a"].ports[containerPort="80"]`,
			"a number that is the key of a Go type"},
		{"Deployment", pod + "nodeSelector.a", `.spec.template.spec.nodeSelector["a"]`,
			"the key of a map behind a dot"},
		{"Deployment", pod + "nodeSelector[7]", `.spec.template.spec.nodeSelector["7"]`,
			"a key that is a number"},
		{"Deployment", pod + "nodeSelector[*]", ".spec.template.spec.nodeSelector[*]", "any key"},
		{"Deployment", pod + `nodeSelector["*"]`, `.spec.template.spec.nodeSelector["*"]`,
			"a star in quotes"},
		{"Deployment", "metadata.finalizers[a]", `.metadata.finalizers[="a"]`,
			"an element of a set"},
		{"Deployment", "metadata.finalizers[*]", ".metadata.finalizers[*]", "any element"},
		{"Deployment", pod + "tolerations[0].key", ".spec.template.spec.tolerations[0].key",
			"a position in a list without keys"},
		{"Deployment", pod + "tolerations.key", ".spec.template.spec.tolerations[*].key",
			"any position"},
		{"defined", "ports[port=80,protocol=TCP].name", `.ports[port=80,protocol="TCP"].name`,
			"an item by several keys"},
		{"defined", "sizes[=3]", ".sizes[=3]", "a number in a set"},
		{"defined", `["a.b"].c`, `["a.b"].c`, "a field with a dot"},
		{"defined", "free.x.y", ".free.x.y", "a field that the definition leaves open"},
		{"defined", "free[*]", ".free[*]", "any field that the definition leaves open"},
		{"JSON", `a["b c"].d`, `.a["b c"].d`, "an object without a schema"},
		{"JSON", `a["b"]`, `.a.b`, "a name in brackets, where keys and fields are one"},
	} {
		path, err := fieldpath.ParsePath(tc.text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := types[tc.of].Resolve(path)
		if err != nil || got.String() != tc.want {
			t.Errorf("%s: %s is %s, %v, want %s", tc.reason, tc.text, got, err, tc.want)
			continue
		}
		again, err := fieldpath.ParsePath(got.String())
		if err != nil {
			t.Fatal(err)
		}
		if again, err = types[tc.of].Resolve(again); err != nil || !slices.Equal(again, got) {
			t.Errorf("%s: %s is resolved again as %s, %v", tc.reason, got, again, err)
		}
		if types[tc.of].Lookup(got) == nil && tc.of != "JSON" {
			t.Errorf("%s: %s has no type", tc.reason, got)
		}
	}
	for _, tc := range []struct{ of, text, problem, meant, reason string }{
		{"Deployment", "spec.replica", ".spec has no field replica", ".spec.replicas",
			"a misspelt field"},
		{"Deployment", "spec.templte.spec.containrs.imag", ".spec has no field templte",
			".spec.template.spec.containers[*].image", "three of them"},
		{"Deployment", "containers[*].image", "the object has no field containers",
			".spec.template.spec.containers[*].image", "the end of a path"},
		{"Deployment", "elsewhere",
			"the object has no field elsewhere; its fields are kind, apiVersion, metadata, spec, " +
				"status", "", "no field at all"},
		{"Deployment", "spec.elsewhere", ".spec has no field elsewhere; its fields are replicas",
			"", "no field of a part"},
		{"Deployment", "spec.replicas.x", ".spec.replicas has no fields or items", ".spec.replicas",
			"a field of a number"},
		{"Deployment", "spec[0]", ".spec is neither a list nor a map", ".spec",
			"an item of a struct"},
		{"Deployment", pod + "containers[0].image",
			".spec.template.spec.containers has items by their key name",
			".spec.template.spec.containers[*].image", "a position among items with keys"},
		{"Deployment", pod + "containers[name=*].image",
			".spec.template.spec.containers has no item that is called *",
			".spec.template.spec.containers[*].image", "a star as a value"},
		{"Deployment", pod + "containers.*.image",
			".spec.template.spec.containers has no part that is called *",
			".spec.template.spec.containers[*].image", "a star as a field"},
		{"Deployment", pod + "*.image",
			".spec.template.spec has no part that is called *; its fields are volumes", "",
			"a star as a field of a struct"},
		{"Deployment", pod + "containers[id=a].image",
			".spec.template.spec.containers has items by their key name",
			".spec.template.spec.containers[*].image", "another key"},
		{"Deployment", pod + `containers[="a"].image`,
			".spec.template.spec.containers has items by their key name",
			`.spec.template.spec.containers[name="a"].image`, "an element among items"},
		{"Deployment", pod + `nodeSelector[name="a"]`,
			`.spec.template.spec.nodeSelector is a map: name a key, as in ["a"]`,
			`.spec.template.spec.nodeSelector["a"]`, "an item of a map"},
		{"Deployment", "metadata.finalizers.a",
			`.metadata.finalizers is a set: name an element, as in [="a"]`,
			`.metadata.finalizers[="a"]`, "a field of a set"},
		{"Deployment", "metadata.finalizers[0]",
			`.metadata.finalizers is a set: name an element, as in [="a"]`,
			".metadata.finalizers[*]", "a position in a set"},
		{"Deployment", pod + `tolerations[key="a"]`,
			".spec.template.spec.tolerations is a list without keys",
			".spec.template.spec.tolerations[*]", "a key of a list without keys"},
		{"defined", "ports[80].name", ".ports has items by their key port, protocol",
			".ports[*].name", "one of two keys"},
	} {
		path, err := fieldpath.ParsePath(tc.text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := types[tc.of].Resolve(path)
		var wrong *schema.PathError
		if !errors.As(err, &wrong) || got != nil {
			t.Errorf("%s: %s is %s, %v", tc.reason, tc.text, got, err)
			continue
		}
		if !strings.HasPrefix(fmt.Sprint(err), tc.problem) || wrong.Meant.String() != tc.meant {
			t.Errorf("%s: %s:\n got %v\nwant %s: use %s", tc.reason, tc.text, err, tc.problem,
				tc.meant)
		}
		if right, err := types[tc.of].Resolve(wrong.Meant); err != nil ||
			!slices.Equal(right, wrong.Meant) {
			t.Errorf("%s: the right path %s is %s, %v", tc.reason, wrong.Meant, right, err)
		}
	}
}

// TestReplaced finds the value that a patch replaces whole around a field.
func TestReplaced(t *testing.T) {
	deployment := schema.TypeOf(reflect.TypeFor[appsv1.Deployment]())
	for text, want := range map[string]string{
		".spec.template.spec.tolerations[0].key":    ".spec.template.spec.tolerations",
		".spec.template.spec.tolerations":           "",
		".spec.template.spec.containers[*].image":   "",
		".spec.template.spec.nodeSelector[*]":       "",
		".spec.template.spec.containers[*].args[*]": ".spec.template.spec.containers[*].args",
		".metadata.finalizers[*]":                   "",
	} {
		path, err := fieldpath.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := deployment.Replaced(path); got.String() != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
