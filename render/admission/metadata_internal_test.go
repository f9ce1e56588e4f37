package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/merge/tree"
)

// TestIsPlain_SameAsGoType holds that plain metadata is stored as the Go type of all metadata
// encodes it, and which metadata is not plain.
func TestIsPlain_SameAsGoType(t *testing.T) {
	owner := map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}
	incomplete := map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "a"}
	for name, tc := range map[string]struct {
		metadata any
		isPlain  bool
	}{
		"names": {map[string]any{"name": "a", "generateName": "b", "namespace": "c"}, true},
		"empty fields": {map[string]any{"name": "", "labels": map[string]any{},
			"ownerReferences": []any{}}, true},
		"labels": {map[string]any{"labels": map[string]any{"a": ""},
			"annotations": map[string]any{"b": "c"}}, true},
		"owner":               {map[string]any{"ownerReferences": []any{owner}}, true},
		"owner without uid":   {map[string]any{"ownerReferences": []any{incomplete}}, false},
		"null":                {map[string]any{"name": nil}, false},
		"label without value": {map[string]any{"labels": map[string]any{"a": nil}}, false},
		"number as label":     {map[string]any{"labels": map[string]any{"a": int64(1)}}, false},
		"time":                {map[string]any{"creationTimestamp": "2026-01-02T03:04:05Z"}, false},
		"unknown field":       {map[string]any{"nam": "a"}, false},
		"no object":           {"a", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isPlain(tc.metadata); got != tc.isPlain {
				t.Fatalf("isPlain is %t, want %t", got, tc.isPlain)
			}
			if !tc.isPlain {
				return
			}
			decoded := new(metav1.ObjectMeta)
			if !tree.Decode(tc.metadata, decoded) {
				t.Fatal("the Go type rejects the metadata")
			}
			want, err := runtime.DefaultUnstructuredConverter.ToUnstructured(decoded)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, withoutEmpty(tc.metadata.(map[string]any))); d != "" {
				t.Error(d)
			}
		})
	}
}
