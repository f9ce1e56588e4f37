package render_test

import (
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/release"
)

// inputOfAll is an input with fields that an early release or the API server drops, and without
// fields that have defaults.
func inputOfAll() render.Input {
	pod := corev1.PodSpec{
		ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu"}},
		Containers: []corev1.Container{{Name: "node", Image: "i",
			Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}}}}
	node := jobset.ReplicatedJob{Name: "node", GroupName: "workers"}
	node.Template.Labels = map[string]string{
		"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
	node.Template.Spec.Template.Spec = pod
	in := render.Input{
		TrainJob: &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: "llm", Namespace: "team"}},
		Runtime:  &trainer.TrainingRuntimeSpec{}}
	in.Runtime.Template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{node}
	in.Runtime.Template.Spec.VolumeClaimPolicies = []jobset.VolumeClaimPolicy{{}}
	in.TrainJob.Spec.RuntimePatches = []trainer.RuntimePatch{{
		Manager: "example.com/m",
		TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
			Template: &trainer.JobSetTemplatePatch{
				Metadata: &metav1.ObjectMeta{
					GenerateName: "x", Labels: map[string]string{"a": "b"}},
				Spec: &trainer.JobSetSpecPatch{
					ReplicatedJobs: []trainer.ReplicatedJobPatch{{Name: "node"}}}}}}}
	return in
}

// TestInputs_Unchanged holds that no function changes its input, in any release.
func TestInputs_Unchanged(t *testing.T) {
	sets := []render.PodSet{{Name: "node"}}
	admitted, err := render.Assign(inputOfAll().TrainJob, sets,
		map[string]string{"node": "reserved"}, twoFlavors())
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(in render.Input, opts render.Options){
		"JobSet":    func(in render.Input, opts render.Options) { _, _ = render.JobSet(in, opts) },
		"Merge":     func(in render.Input, opts render.Options) { render.Merge(in, opts) },
		"Conflicts": func(in render.Input, opts render.Options) { render.Conflicts(in, opts) },
		"PodSets":   func(in render.Input, opts render.Options) { _, _ = render.PodSets(in, opts) },
		"Admit": func(in render.Input, _ render.Options) {
			if _, err := render.Admit(in, sets, admitted, twoFlavors()); err != nil {
				t.Errorf("Admit: %v", err)
			}
		},
	} {
		for _, r := range release.Compared() {
			in := inputOfAll()
			before := mustJSON(t, in)
			call(in, render.Options{Release: &r, ForceManagers: []string{"example.com/m"}})
			if after := mustJSON(t, in); after != before {
				t.Errorf("%s of release %s changes its input from\n%s\nto\n%s", name, r.Name,
					before, after)
			}
		}
	}
}

// TestMigrate_AsWritten holds that Migrate fills in the API server's defaults neither in the
// overrides nor in the patch that it returns.
func TestMigrate_AsWritten(t *testing.T) {
	in := inputOfAll()
	in.TrainJob.Spec.RuntimePatches = nil
	field := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}
	overrides := &legacy.Overrides{PodTemplateOverrides: []legacy.PodTemplateOverride{{
		TargetJobs: []legacy.TargetJob{{Name: "node"}},
		Spec: &legacy.PodTemplateSpecOverride{
			InitContainers: []legacy.ContainerOverride{{Name: "init",
				Env: []corev1.EnvVar{{Name: "A", ValueFrom: field}}}},
			Volumes: []corev1.Volume{{Name: "disk", VolumeSource: corev1.VolumeSource{
				ISCSI: &corev1.ISCSIVolumeSource{TargetPortal: "p", IQN: "q"}}}}}}}}
	in.Runtime.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.InitContainers =
		[]corev1.Container{{Name: "init", Image: "i"}}
	before := mustJSON(t, []any{in, overrides})
	m := render.Migrate(in, overrides, "example.com/m")
	if after := mustJSON(t, []any{in, overrides}); after != before {
		t.Errorf("Migrate changes its input from\n%s\nto\n%s", before, after)
	}
	if text := mustJSON(t, m.TrainJob); m.TrainJob == nil || strings.Contains(text, `"default"`) {
		t.Errorf("the migrated TrainJob has defaults, or there is none: %s, %v", text, m.Findings)
	}
}
