package explain_test

import (
	"testing"

	"github.com/trainweld/trainweld/render/explain"
	"github.com/trainweld/trainweld/render/release"
)

// TestPatchable compares the fields that a patch may set with the definition of TrainJob. The API
// server prunes a field that the definition lacks.
func TestPatchable(t *testing.T) {
	root, err := new(release.Definitions).Fields(nil, "TrainJob")
	if err != nil {
		t.Fatal(err)
	}
	template := root.Find("spec", "runtimePatches", "trainingRuntimeSpec", "template")
	for _, text := range explain.Paths() {
		rule, err := explain.Field(text)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, step := range rule.Path {
			if name, ok := step.Field(); ok {
				names = append(names, name)
			}
		}
		defined := template.Find(names...) != nil
		isNested := names[0] != "metadata" && len(names) > 1 && names[len(names)-2] == "metadata"
		if rule.Patchable && !defined || isNested && defined && !rule.Patchable {
			t.Errorf("%s: patchable: %t, defined: %t", text, rule.Patchable, defined)
		}
		for _, f := range rule.Fields {
			if f.Patchable && template.Find(append(names, f.Name)...) == nil {
				t.Errorf("%s: the field %s is patchable, and not defined", text, f.Name)
			}
		}
	}
}
