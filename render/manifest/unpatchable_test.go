package manifest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// TestAPI_Unpatchable holds that decoding reports each field that Unpatchable returns, with its
// message.
func TestAPI_Unpatchable(t *testing.T) {
	for _, r := range release.Known() {
		api := manifest.NewAPI(&r, nil)
		root, err := (&release.Definitions{}).Fields(&r, "TrainJob")
		if err != nil {
			t.Fatal(err)
		}
		override := root.Find("spec", string(r.Overrides)).Items
		reported := 0
		for _, f := range api.Unpatchable() {
			last := len(f.Path) - 1
			if override.Find(f.Path[:last]...) == nil || override.Find(f.Path...) != nil {
				continue // the struct, or the lack of the field, is of another release
			}
			var value any = map[string]any{f.Path[last]: 1}
			for i, name := range slices.Backward(f.Path[:last]) {
				if override.Find(f.Path[:i+1]...).Items != nil {
					value = []any{value}
				}
				value = map[string]any{name: value}
			}
			text, err := json.Marshal(map[string]any{
				"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
				"metadata": map[string]any{"name": "a"},
				"spec": map[string]any{"runtimeRef": map[string]any{"name": "a"},
					string(r.Overrides): []any{value}},
			})
			if err != nil {
				t.Fatal(err)
			}
			_, found, _ := api.Decode("job.json", text, nil)
			if !slices.ContainsFunc(found, func(g finding.Finding) bool {
				return g.Code == codes.Unpatchable && g.Message == f.Message
			}) {
				t.Errorf("Trainer %s: decoding %s reports %v, want %s: %q", r.Name,
					strings.Join(f.Path, "."), found, codes.Unpatchable, f.Message)
			}
			reported++
		}
		if reported < 40 {
			t.Errorf("Trainer %s: decoding reports %d fields", r.Name, reported)
		}
	}
}
