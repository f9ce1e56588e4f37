package merge_test

import (
	"errors"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/merge"
)

// TestPatchError asks for the place at which a merge fails.
func TestPatchError(t *testing.T) {
	const pod = `.spec.replicatedJobs[name="node"].template.spec.template.spec`
	template := &trainer.JobSetTemplateSpec{Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{{Name: "node"}}}}
	spec := &template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	spec.NodeSelector = map[string]string{"pool": "a100"}
	for _, tc := range []struct {
		patch  trainer.PodSpecPatch
		path   string
		says   string
		reason string
	}{
		{trainer.PodSpecPatch{ImagePullSecrets: []corev1.LocalObjectReference{{}}}, pod + ".imagePullSecrets[0]", `"name"`, "the item has no key, and the runtime has the list"},
		{trainer.PodSpecPatch{NodeSelector: map[string]string{"$patch": "x"}}, pod + ".nodeSelector", `"x"`, "no such directive"},
		{trainer.PodSpecPatch{NodeSelector: map[string]string{"$retainKeys": "x"}}, pod + ".nodeSelector", "$retainKeys", "it wants a list"},
	} {
		p := patch("a.example.com/x")
		p.TrainingRuntimeSpec.Template.Spec = &trainer.JobSetSpecPatch{ReplicatedJobs: []trainer.ReplicatedJobPatch{{
			Name: "node", Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{Template: &trainer.PodTemplatePatch{Spec: &tc.patch}}},
		}}}
		result, err := merge.Apply(template, []trainer.RuntimePatch{patch("b.example.com/x"), p}, merge.Options{})
		var failed *merge.PatchError
		if !errors.As(err, &failed) || result != nil {
			t.Fatalf("%s: got %v, %v, want no result and a PatchError", tc.reason, result, err)
		}
		if failed.Manager != "a.example.com/x" || failed.Path.String() != tc.path || !strings.Contains(failed.Err.Error(), tc.says) {
			t.Errorf("%s: manager %q at %s: %v; want a.example.com/x at %s, and %s in the message", tc.reason, failed.Manager, failed.Path, failed.Err, tc.path, tc.says)
		}
		if text := err.Error(); !strings.Contains(text, "a.example.com/x") || !strings.Contains(text, tc.path) {
			t.Errorf("%s: %q does not name the manager and the field", tc.reason, text)
		}
	}
}
