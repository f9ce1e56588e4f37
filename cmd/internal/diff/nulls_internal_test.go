package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDropNulls: fields that are null go, at every depth, and nothing else does: the laws rely on
// it.
func TestDropNulls(t *testing.T) {
	kept := func() map[string]any {
		return map[string]any{"false": false, "zero": int64(0), "empty": "",
			"object": map[string]any{}, "list": []any{}, "items": []any{nil, "x"}}
	}
	value := map[string]any{"gone": nil, "in": kept(), "among": []any{kept(), []any{kept()}}}
	within := value["among"].([]any)
	for _, o := range []any{value["in"], within[0], within[1].([]any)[0]} {
		o.(map[string]any)["gone"] = nil
	}
	dropNulls(value)
	want := map[string]any{"in": kept(), "among": []any{kept(), []any{kept()}}}
	if diff := cmp.Diff(want, value); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// DropNulls lets the tests of the laws compare the same values as the package.
var DropNulls = dropNulls
