package admission_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/trainweld/trainweld/render/admission"
)

// queueDefinition defines a kind with two served versions, and one that is not served.
const queueDefinition = `{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "queues.example.com"},
  "spec": {"group": "example.com", "scope": "Cluster", "names": {"kind": "Queue", "plural": "queues"}, "versions": [
    {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
      "type": "object", "required": ["weight"], "properties": {
        "weight": {"type": "integer", "maximum": 9},
        "labels": {"type": "object", "additionalProperties": {"type": "object", "properties": {"size": {"type": "string"}}}}},
      "x-kubernetes-validations": [{"rule": "self.weight != 7", "message": "must not be 7"}]}}}}},
    {"name": "v2", "served": true, "storage": false},
    {"name": "v0", "served": false, "storage": false}]}}`

func kindsOf(t *testing.T, text string) []*admission.Kind {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	kinds, err := admission.Kinds(fields)
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func TestKinds(t *testing.T) {
	kinds := kindsOf(t, queueDefinition)
	if len(kinds) != 2 || kinds[0].Version != "v1" || kinds[1].Version != "v2" ||
		kinds[0].Group != "example.com" || kinds[0].Kind != "Queue" || kinds[0].Namespaced {
		t.Fatalf("Kinds = %+v, want the served versions v1 and v2 of the cluster's Queue", kinds)
	}
	if _, err := kinds[1].Admit(context.Background(), map[string]any{}, ""); err == nil {
		t.Error("Admit = nil, want an error for a version without a schema")
	}
	if _, err := admission.Kinds(map[string]any{"spec": "a"}); err == nil {
		t.Error("Kinds = nil, want an error for a spec that is a string")
	}
}

func TestKind_Admit(t *testing.T) {
	kind := kindsOf(t, queueDefinition)[0]
	var group sync.WaitGroup
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"valid", `{"spec": {"weight": 1, "labels": {"a": {"size": "x"}}}}`, nil},
		{"unknown field", `{"spec": {"weight": 1, "wieght": 2}}`,
			[]string{`TW101 .spec.wieght did you mean "weight"?`}},
		{"unknown field of a map's value",
			`{"spec": {"weight": 1, "labels": {"a": {"sise": "x"}}}}`,
			[]string{`TW101 .spec.labels["a"].sise did you mean "size"?`}},
		{"unknown field that resembles none", `{"spec": {"weight": 1, "other": 2}}`,
			[]string{"TW101 .spec.other remove the field"}},
		{"wrong type", `{"spec": {"weight": "1"}}`,
			[]string{"TW103 .spec.weight set a value of that type"}},
		{"missing field", `{"spec": {}}`, []string{"TW500 .spec.weight set it"}},
		{"limit", `{"spec": {"weight": 10}}`, []string{"TW501 .spec.weight use a supported value"}},
		{"rule", `{"spec": {"weight": 7}}`,
			[]string{"TW502 .spec change the values to satisfy the rule"}},
	} {
		group.Go(func() { // one kind serves concurrent checks
			fields := map[string]any{}
			if err := json.Unmarshal([]byte(tc.in), &fields); err != nil {
				t.Error(err)
			}
			fields["apiVersion"], fields["kind"], fields["metadata"] = "example.com/v1", "Queue",
				map[string]any{"name": "a"}
			found, err := kind.Admit(context.Background(), fields, "default")
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			var got []string
			for _, f := range found {
				got = append(got, string(f.Code)+" "+f.Path.String()+" "+f.Remedy.Text)
				if f.Object.Namespace != "" {
					t.Errorf("%s: the object is %s, want none in a namespace", tc.name, f.Object)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s: Admit = %q, want %q", tc.name, got, tc.want)
			}
		})
	}
	group.Wait()
}
