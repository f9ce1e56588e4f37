package schema_test

import (
	"encoding/json"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestType_Item finds the items of lists by their keys, and compares with the paths that a merge
// gives them.
func TestType_Item(t *testing.T) {
	pod := schema.TypeOf(reflect.TypeFor[corev1.PodSpec]())
	port := schema.TypeOf(reflect.TypeFor[struct {
		Ports []struct {
			Port intstr.IntOrString `json:"port"`
		} `json:"ports" patchStrategy:"merge" patchMergeKey:"port"`
	}]()).Inner("ports")
	definition, err := schema.ParseOpenAPI([]byte(`{"type": "object", "properties": {
		"several": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"], "items": {"type": "object", "required": ["port"], "properties": {
			"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}}}},
		"one": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["on"], "items": {"type": "object", "required": ["on"], "properties": {"on": {"type": "boolean"}}}},
		"set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}},
		"atomic": {"type": "array", "items": {"type": "integer"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		list       string
		of         *schema.Type
		item, want string
	}{
		{"containers", pod.Inner("containers"), `{"name": "a"}`, `[name="a"]`},
		{"containers", pod.Inner("containers"), `{"name": ""}`, `[name=""]`},
		{"containers", pod.Inner("containers"), `{"image": "x"}`, ""},
		{"containers", pod.Inner("containers"), `{"name": {}}`, ""},
		{"containers", pod.Inner("containers"), `"a"`, ""},
		{"ports", pod.Inner("containers").Elem.Inner("ports"), `{"containerPort": 80}`,
			`[containerPort="80"]`},
		{"ports of an int or a string", port, `{"port": 80}`, `[port=80]`},
		{"ports of an int or a string", port, `{"port": "80"}`, `[port="80"]`},
		{"tolerations", pod.Inner("tolerations"), `{"key": "a"}`, ""},
		{"several", definition.Inner("several"), `{"port": 80}`, `[port=80,protocol="TCP"]`},
		{"several", definition.Inner("several"), `{"port": 80, "protocol": null}`,
			`[port=80,protocol=null]`},
		{"several", definition.Inner("several"), `{"protocol": "UDP"}`, `[protocol="UDP"]`},
		{"several", definition.Inner("several"), `{"port": [], "protocol": "UDP"}`, ""},
		{"one", definition.Inner("one"), `{"on": true}`, `[on=true]`},
		{"one", definition.Inner("one"), `{}`, ""},
		{"set", definition.Inner("set"), `2`, `[=2]`},
		{"set", definition.Inner("set"), `[]`, ""},
		{"atomic", definition.Inner("atomic"), `2`, ""},
		{"no type", nil, `{"name": "a"}`, ""},
	} {
		var item any
		if err := json.Unmarshal([]byte(tc.item), &item); err != nil {
			t.Fatal(err)
		}
		step, ok := tc.of.Item(item)
		if got := step.String(); ok != (tc.want != "") || ok && got != tc.want {
			t.Errorf("%s: Item(%s) = %s, %v, want %q", tc.list, tc.item, got, ok, tc.want)
		}
		if _, isObject := item.(map[string]any); !ok || !isObject ||
			definition.Inner(tc.list) == nil {
			continue
		}
		patch := merge.Object{tc.list: []any{item}}
		result, err := merge.Apply(definition, nil, []merge.Patch{{Manager: "m", Value: &patch}})
		if err != nil {
			t.Errorf("%s: %s: %v", tc.list, tc.item, err)
			continue
		}
		at, isClaimed := fieldpath.Path{fieldpath.Field(tc.list), step}, false
		for path := range result.History.All() {
			isClaimed = isClaimed || path.HasPrefix(at)
		}
		if !isClaimed {
			t.Errorf("%s: the merge claims nothing at %s", tc.list, at)
		}
	}
}
