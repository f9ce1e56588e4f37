package admission_test

import (
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
)

// A manager that is let win decides its conflicts before anything is judged: what gave way has no say in
// what the cluster is asked to take.
func TestForceManagers(t *testing.T) {
	label := func(manager, team string) trainer.RuntimePatch {
		return trainer.RuntimePatch{
			Manager: manager,
			TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: &trainer.JobSetTemplatePatch{
				Metadata: &metav1.ObjectMeta{Labels: map[string]string{"team": team}},
			}},
		}
	}
	patches := []trainer.RuntimePatch{label("good.example.com/m", "a"), label("bad.example.com/m", "not valid!")}
	for _, tc := range []struct {
		force  []string
		want   []finding.Code
		reason string
	}{
		{nil, []finding.Code{finding.CodeOverlap, finding.CodeIdlePatch, finding.CodeBadMetadata}, "the last one is judged, and the other one changes nothing"},
		{[]string{"good.example.com/m"}, []finding.Code{finding.CodeForced}, "the bad label has given way, and that its patch is idle now needs no words"},
		{[]string{"bad.example.com/m"}, []finding.Code{finding.CodeForced, finding.CodeBadMetadata}, "the winner's value is judged"},
	} {
		found := admission.Check(t.Context(), admission.Input{
			TrainJob: object(t, jobYAML("\ttrainer: {}\n")), Runtime: admitted(t, torchRuntime), Patches: patches, ForceManagers: tc.force,
		})
		var got []finding.Code
		for _, f := range found {
			if f.Severity > finding.Note {
				got = append(got, f.Code)
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("found %v, want %v: %s\n%v", got, tc.want, tc.reason, found)
		}
	}
}
