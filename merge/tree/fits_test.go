package tree_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/trainweld/trainweld/merge/tree"
)

// TestFits holds that Fits says of a value what Decode does with it.
func TestFits(t *testing.T) {
	pod := func(container any) any {
		return map[string]any{"spec": map[string]any{"template": map[string]any{
			"spec": map[string]any{"containers": []any{container}}}}}
	}
	container := func(field string, value any) any {
		return pod(map[string]any{"name": "a", field: value})
	}
	meta := func(field string, value any) any {
		return map[string]any{"metadata": map[string]any{field: value}}
	}
	for _, tc := range []struct {
		reason string
		value  any
		want   bool
	}{
		{"an object", container("image", "a:1"), true},
		{"an empty list", container("env", []any{}), true},
		{"a null field", container("env", nil), true},
		{"a null item", pod(nil), true},
		{"an unknown field", container("imag", "a:1"), false},
		{"a number for a string", container("image", int64(1)), false},
		{"an invalid string", container("image", "\xff"), false},
		{"a string for a list", container("env", "A"), false},
		{"a list for an object", pod([]any{}), false},
		{"a quantity as a number", container("resources", map[string]any{
			"limits": map[string]any{"cpu": int64(1)}}), true},
		{"no quantity", container("resources", map[string]any{
			"limits": map[string]any{"cpu": "much"}}), false},
		{"a boolean", map[string]any{"spec": map[string]any{"suspend": true}}, true},
		{"a word for a boolean", map[string]any{"spec": map[string]any{"suspend": "true"}}, false},
		{"a whole number", map[string]any{"spec": map[string]any{"parallelism": int64(1)}}, true},
		{"a large number", map[string]any{"spec": map[string]any{
			"parallelism": int64(1) << 40}}, false},
		{"a fraction", map[string]any{"spec": map[string]any{"parallelism": 1.5}}, false},
		{"a port by its name", container("readinessProbe", map[string]any{
			"tcpSocket": map[string]any{"port": "http"}}), true},
		{"labels", meta("labels", map[string]any{"a": "b"}), true},
		{"a null label", meta("labels", map[string]any{"a": nil}), false},
		{"a label that is a number", meta("labels", map[string]any{"a": int64(1)}), false},
		{"a time", meta("creationTimestamp", "2026-01-02T03:04:05Z"), true},
		{"no time", meta("creationTimestamp", "today"), false},
		{"nothing", nil, false},
		{"a string", "job", false},
	} {
		var job batchv1.Job
		got, decoded := tree.Fits(tc.value, &job), tree.Decode(tc.value, &job)
		if got != tc.want || got != decoded {
			t.Errorf("%s: Fits = %t, Decode = %t, want %t", tc.reason, got, decoded, tc.want)
		}
	}
	if tree.Fits(map[string]any{}, batchv1.Job{}) || tree.Fits(map[string]any{}, nil) {
		t.Error("Fits wants a pointer to a value, as Decode")
	}
}
