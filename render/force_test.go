package render_test

import (
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
)

// forceInput is a TrainJob with two managers who want the Pod of job node each in another way.
func forceInput(sdk, queue trainer.PodSpecPatch) render.Input {
	patch := func(manager string, pod *trainer.PodSpecPatch) trainer.RuntimePatch {
		return trainer.RuntimePatch{
			Manager: manager,
			TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
				Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{
					ReplicatedJobs: []trainer.ReplicatedJobPatch{{
						Name: "node",
						Template: &trainer.JobTemplatePatch{
							Spec: &trainer.JobSpecPatch{
								Template: &trainer.PodTemplatePatch{Spec: pod}}},
					}},
				}}},
		}
	}
	node := jobset.ReplicatedJob{Name: "node"}
	node.Template.Spec.Template.Spec.Containers = []corev1.Container{{Name: "node", Image: "i"}}
	node.Template.Spec.Template.Spec.Volumes = []corev1.Volume{{
		Name: "data",
		VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}},
	}}
	in := render.Input{
		TrainJob: &trainer.TrainJob{},
		Runtime:  &trainer.TrainingRuntimeSpec{},
		Patches:  []trainer.RuntimePatch{patch("queue.example.com/x", &queue)},
	}
	in.TrainJob.Name, in.TrainJob.Namespace = "llm", "default"
	in.TrainJob.Spec.RuntimeRef.Name = "plain"
	in.TrainJob.Spec.RuntimePatches = []trainer.RuntimePatch{patch("sdk.example.com/x", &sdk)}
	in.Runtime.Template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{node}
	render.DefaultTrainJob(in.TrainJob, nil)
	render.DefaultRuntime(in.Runtime, nil)
	return in
}

func TestForceManagers(t *testing.T) {
	pool := func(name string) trainer.PodSpecPatch {
		return trainer.PodSpecPatch{NodeSelector: map[string]string{"pool": name}}
	}
	claim := trainer.PodSpecPatch{
		Volumes: []corev1.Volume{
			{Name: "data",
				VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
						ClaimName: "mine"}}}}}
	scratch := trainer.PodSpecPatch{
		Volumes: []corev1.Volume{
			{Name: "data",
				VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}}
	for _, tc := range []struct {
		name       string
		sdk, queue trainer.PodSpecPatch
		force      []string
		want       string // the pool
		codes      []finding.Code
		fails      bool
		reason     string
	}{
		{"nobody", pool("a"), pool("b"), nil, "b", []finding.Code{codes.Overlap}, true,
			"managers that disagree are an error"},
		{"the first patch", pool("a"), pool("b"), []string{"sdk.example.com/x"}, "a",
			[]finding.Code{codes.Forced}, false, "its value is in force, and a warning says so"},
		{"the last patch", pool("a"), pool("b"), []string{"queue.example.com/x"}, "b",
			[]finding.Code{codes.Forced}, false, "a further manager's patch may also win"},
		{"somebody else", pool("a"), pool("b"), []string{"nobody.example.com/x"}, "b",
			[]finding.Code{codes.Overlap}, true, "a manager without a patch wins nothing"},
		{"what goes with the claim", claim, scratch, []string{"sdk.example.com/x"}, "",
			[]finding.Code{codes.Forced, codes.Override}, false,
			"the other source would clash with the runtime's as well, and is gone"},
		{"what stays", claim, scratch, []string{"queue.example.com/x"}, "",
			[]finding.Code{codes.TwoSources, codes.Forced}, true,
			"the winner's own source clashes with the runtime's"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := render.JobSet(forceInput(tc.sdk, tc.queue),
				render.Options{ForceManagers: tc.force})
			if (err != nil) != tc.fails {
				t.Errorf("the error is %v: %s", err, tc.reason)
			}
			var codes []finding.Code
			for _, f := range out.Findings {
				codes = append(codes, f.Code)
			}
			if !slices.Equal(codes, tc.codes) {
				t.Errorf("found %v, want %v: %s", out.Findings, tc.codes, tc.reason)
			}
			if out.JobSet == nil {
				t.Fatal("no JobSet")
			}
			if got := out.JobSet.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector["pool"]; got != tc.want {
				t.Errorf("the pool is %q, want %q: %s", got, tc.want, tc.reason)
			}
		})
	}
}
