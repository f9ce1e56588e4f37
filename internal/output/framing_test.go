package output

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/manifest"
)

// TestFraming holds objects that are encoded one by one against the same ones encoded together.
func TestFraming(t *testing.T) {
	objects := []any{
		map[string]any{"a": "a\nb\n", "list": []any{"x", map[string]any{"y": 1}}, "empty": map[string]any{}},
		map[string]any{"kind": "B", "text": "{\n    \"a\": 1\n}"},
		map[string]any{},
	}
	for _, format := range []manifest.Format{manifest.YAML, manifest.JSON} {
		for n := range len(objects) + 1 {
			var want, got bytes.Buffer
			if err := manifest.Encode(&want, format, objects[:n]...); err != nil {
				t.Fatal(err)
			}
			if err := Encode(&got, format, Each(objects[:n])); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.String(), got.String()); diff != "" {
				t.Errorf("%d objects as %s (-want +got):\n%s", n, format, diff)
			}
		}
	}
}
