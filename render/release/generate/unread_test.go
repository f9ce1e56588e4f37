package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestLayOver lays schemas over fields, also within lists, and wants an error for a field below an
// unknown one.
func TestLayOver(t *testing.T) {
	root := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(
		[]byte(`{"properties": {"a": {"type": "array", "items": {"properties": {"b": {"type": "integer"}}}}}}`), root); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ field, over, want string }{
		{"a.b", `{"minimum": 1}`, ""},
		{"a.c", `{"type": "string"}`, ""},
		{"x.y", `{}`, "there is no field x"},
	} {
		err := layOver(root, strings.Split(tc.field, "."), []byte(tc.over))
		if (err == nil) != (tc.want == "") || err != nil && err.Error() != tc.want {
			t.Errorf("%s: %v, want %q", tc.field, err, tc.want)
		}
	}
	below := root.Properties["a"].Items.Schema.Properties
	if b := below["b"]; b.Type != "integer" || b.Minimum == nil || below["c"].Type != "string" {
		t.Errorf("got %v", below)
	}
}

// TestListDifferences wants the places of the fields that differ.
func TestListDifferences(t *testing.T) {
	decode := func(text string) (value any) {
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	var got []string
	listDifferences([]string{"Kind"},
		decode(`{"properties": {"a": {"type": "string"}, "b": {"items": {"properties": {"c": {"minimum": 0}}}}, "same": {}}}`),
		decode(`{"properties": {"b": {"items": {"properties": {"c": {"minimum": 1}}}}, "same": {}, "d": {}}}`),
		func(place []string) { got = append(got, strings.Join(place, ".")) })
	if slices.Sort(got); !slices.Equal(got, []string{"Kind.a", "Kind.b.c.minimum", "Kind.d"}) {
		t.Errorf("got %q", got)
	}
}
