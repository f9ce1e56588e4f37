package definition_test

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/render/release/definition"
)

// TestSchema holds that every kind of every release has the descriptions of its definition.
func TestSchema(t *testing.T) {
	for _, r := range release.Known() {
		for _, kind := range definition.Kinds() {
			root, err := definition.Schema(&r, kind)
			if err != nil {
				t.Errorf("Schema(%s, %s): %v", r.Name, kind, err)
				continue
			}
			described, all := 0, 0
			definition.Walk(root, func(s map[string]any) {
				all++
				if s["description"] != nil {
					described++
				}
			})
			if all < 400 || described < all/2 {
				t.Errorf("Schema(%s, %s) describes %d of %d fields", r.Name, kind, described, all)
			}
		}
	}
}

// TestSchema_Text holds that a description stands at its field, also where releases differ.
func TestSchema_Text(t *testing.T) {
	for _, tc := range []struct{ release, want string }{
		{"2.0", "number of training nodes"}, {"2.3", "numNodes is the number of training nodes."},
	} {
		r, err := release.Parse(tc.release)
		if err != nil {
			t.Fatal(err)
		}
		field, err := definition.Schema(r, "TrainJob")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"spec", "trainer", "numNodes"} {
			field = field["properties"].(map[string]any)[name].(map[string]any)
		}
		if got, _ := field["description"].(string); !strings.Contains(strings.ToLower(got),
			strings.ToLower(tc.want)) {
			t.Errorf("Trainer %s describes numNodes as %q, want %q", tc.release, got, tc.want)
		}
	}
}

// TestSchema_Unknown holds the errors.
func TestSchema_Unknown(t *testing.T) {
	if _, err := definition.Schema(nil, "Pod"); err == nil ||
		!strings.Contains(err.Error(), `no kind "Pod"`) {
		t.Errorf("Schema(Pod) = %v", err)
	}
	if _, err := definition.Schema(&release.Release{Schema: "9.9.9", Version: "9.9.9"},
		"TrainJob"); err == nil || !strings.Contains(err.Error(), "Trainer 9.9.9") {
		t.Errorf("Schema(9.9.9) = %v", err)
	}
}
