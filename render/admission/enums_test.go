package admission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/render/codes"
)

// TestEnums compares the findings on long lists of supported values with the findings of the API
// server's validator. The validator has the whole lists. The findings name ten values.
func TestEnums(t *testing.T) {
	long := make([]string, 40)
	for i := range long {
		long[i] = fmt.Sprintf("value-%d", i)
	}
	values, _ := json.Marshal(long)
	enum := `{"type": "string", "enum": ` + string(values) + `}`
	text := `{"spec": {"group": "a.b", "names": {"kind": "Widget"}, "scope": "Namespaced", "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
		"type": "object", "properties": {"spec": {"type": "object", "properties": {
			"one": ` + enum + `,
			"few": {"type": "string", "enum": ["a", "b"]},
			"list": {"type": "array", "items": ` + enum + `},
			"keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
				"items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "mode": ` + enum + `}}},
			"map": {"type": "object", "additionalProperties": ` + enum + `}}}}}}}]}}`
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal([]byte(text), crd); err != nil {
		t.Fatal(err)
	}
	cut, err := compileVersion(crd, &crd.Spec.Versions[0])
	if err != nil {
		t.Fatal(err)
	}
	if cut.enums == nil {
		t.Fatal("no list of values is cut")
	}
	whole, err := compileWhole(crd)
	if err != nil {
		t.Fatal(err)
	}
	at := func(c *compiled, fields, old string) []string {
		var found findings
		o := &object{definition: &definition{compiled: c}, fields: decoded(t, fields),
			names: itemNames{}}
		var before *object
		if old != "" {
			before = &object{definition: o.definition, fields: decoded(t, old), names: itemNames{}}
		}
		o.validate(t.Context(), before, &found)
		var got []string
		for _, f := range found.List() {
			got = append(got, fmt.Sprint(f.Code, f.Path, f.Message))
			if n := strings.Count(f.Remedy.Text, `"value-`); f.Code == codes.BadValue && c == cut &&
				n > namedValues {
				t.Errorf("%s: the help names %d values, want %d", f.Path, n, namedValues)
			}
		}
		slices.Sort(got)
		return got
	}
	for _, tc := range []struct{ fields, old string }{
		{fields: `{"one": "value-3", "list": ["value-39"], "map": {"a.b": "value-0"}}`},
		{fields: `{"one": "value-40", "few": "c", "list": ["value-1", "x", "y", ""], "map": {"a.b": "z", "c": "value-1"}}`},
		{fields: `{"one": 5, "list": [null, ["value-1"], {}, true], "map": {"a": 1.5}}`},
		{fields: `{"keyed": [{"name": "a", "mode": "x"}, {"name": "b"}, {"name": "c", "mode": "value-2"}]}`},
		{fields: `{"one": "x", "list": ["x"], "map": {"a": "x"}}`,
			old: `{"one": "x", "list": ["x"], "map": {"a": "x"}}`},
		{fields: `{"one": "y", "list": ["x", "y"], "map": {"a": "x", "b": "y"}}`,
			old: `{"one": "x", "list": ["x"], "map": {"a": "x", "b": "x"}}`},
		{fields: `{"keyed": [{"name": "b", "mode": "y"}, {"name": "a", "mode": "x"}]}`,
			old: `{"keyed": [{"name": "a", "mode": "x"}, {"name": "b", "mode": "x"}]}`},
	} {
		if got, want := at(cut, tc.fields, tc.old),
			at(whole, tc.fields, tc.old); !slices.Equal(got, want) {
			t.Errorf("%s after %s:\n got %q\nwant %q", tc.fields, tc.old, got, want)
		}
	}
}

// compileWhole compiles a definition with all its lists in the API server's validator.
func compileWhole(crd *apiextensionsv1.CustomResourceDefinition) (*compiled, error) {
	c, err := compileVersion(crd, &crd.Spec.Versions[0])
	if err != nil {
		return nil, err
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &internal, nil); err != nil {
		return nil, err
	}
	c.enums = nil
	c.validator, _, err = validation.NewSchemaValidator(&internal)
	return c, err
}

func decoded(t *testing.T, spec string) map[string]any {
	t.Helper()
	var fields map[string]any
	text := `{"apiVersion": "a.b/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "d"}, "spec": ` + spec + `}`
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}
