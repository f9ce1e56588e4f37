package merge_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/merge"
)

func labels(manager string, keysAndValues ...string) trainer.RuntimePatch {
	p := patch(manager)
	for i := 0; i < len(keysAndValues); i += 2 {
		p.TrainingRuntimeSpec.Template.Metadata.Labels[keysAndValues[i]] = keysAndValues[i+1]
	}
	return p
}

func TestUpsert(t *testing.T) {
	a, b, c := labels("a", "x", "1", "y", "2"), labels("b", "x", "1"), labels("c")
	for _, tc := range []struct {
		name    string
		patches []trainer.RuntimePatch
		entry   trainer.RuntimePatch
		want    []trainer.RuntimePatch
		reason  string
	}{
		{"into nothing", nil, a, []trainer.RuntimePatch{a}, "a nil list is an empty one"},
		{"a new manager", []trainer.RuntimePatch{a, b}, c, []trainer.RuntimePatch{a, b, c}, "it comes last, and so wins"},
		{"in the first place", []trainer.RuntimePatch{a, b}, labels("a", "z", "3"), []trainer.RuntimePatch{labels("a", "z", "3"), b}, "its order among the managers stays, and what it sends no longer is gone"},
		{"in the last place", []trainer.RuntimePatch{a, b}, labels("b"), []trainer.RuntimePatch{a, labels("b")}, "an empty entry replaces as well"},
		{"the same once more", []trainer.RuntimePatch{a, b}, a, []trainer.RuntimePatch{a, b}, "nothing changes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var before []trainer.RuntimePatch
			for _, p := range tc.patches {
				before = append(before, *p.DeepCopy())
			}
			got := merge.Upsert(tc.patches, tc.entry)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.patches); diff != "" {
				t.Errorf("the list it was given was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestUpsertSharesNothing changes what went in, and looks at what came out.
func TestUpsertSharesNothing(t *testing.T) {
	backing := make([]trainer.RuntimePatch, 1, 2)
	backing[0] = labels("a", "x", "1")
	entry := labels("b", "x", "1")
	got := merge.Upsert(backing, entry)
	entry.TrainingRuntimeSpec.Template.Metadata.Labels["x"] = "changed"
	if x := got[1].TrainingRuntimeSpec.Template.Metadata.Labels["x"]; x != "1" {
		t.Errorf("the entry is shared: %s", x)
	}
	if other := backing[:2][1].Manager; other != "" {
		t.Errorf("the list's own memory was written: %q", other)
	}
	replaced := merge.Upsert(got, labels("a", "x", "2"))
	if x := got[0].TrainingRuntimeSpec.Template.Metadata.Labels["x"]; x != "1" {
		t.Errorf("the old list was changed: %s", x)
	}
	if replaced[0].TrainingRuntimeSpec.Template.Metadata.Labels["x"] != "2" {
		t.Errorf("%+v", replaced)
	}
}
