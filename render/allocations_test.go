package render_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/mlpolicy"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestAllocations holds that a rendering with nothing to report allocates little beyond the merge.
// For each patch it allocates only the memory of its check. Numbers of allocations are exact, so
// the test cannot fail on a slow machine.
func TestAllocations(t *testing.T) {
	for _, managers := range []int{2, 4, 16} {
		most := float64(170 + 3*managers)
		pod := func(i int) trainer.PodSpecPatch {
			own := fmt.Sprint("m", i)
			return trainer.PodSpecPatch{
				NodeSelector: map[string]string{own + ".example.com/flavor": "spot"},
				Volumes: []corev1.Volume{
					{Name: own, VolumeSource: corev1.VolumeSource{
						EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
				Containers: []trainer.ContainerPatch{{
					Name: "sync", Env: []corev1.EnvVar{{Name: own, Value: "x"}},
					VolumeMounts: []corev1.VolumeMount{{Name: own, MountPath: "/" + own}},
				}},
			}
		}
		in := forceInput(pod(0), pod(1))
		for i := 2; i < managers; i++ {
			p := forceInput(pod(i), pod(i)).TrainJob.Spec.RuntimePatches[0]
			p.Manager = fmt.Sprintf("m%d.example.com/x", i)
			in.Patches = append(in.Patches, p)
		}
		job := &in.Runtime.Template.Spec.ReplicatedJobs[0].Template
		job.Labels = map[string]string{mlpolicy.Ancestor: mlpolicy.Trainer}
		job.Spec.Template.Spec.Containers = append(job.Spec.Template.Spec.Containers,
			corev1.Container{Name: "sync", Image: "i"})
		in.Runtime.MLPolicy = &trainer.MLPolicy{
			MLPolicySource: trainer.MLPolicySource{Torch: &trainer.TorchMLPolicySource{}}}
		in.TrainJob.Spec.Trainer = &trainer.Trainer{
			Env: []corev1.EnvVar{{Name: "LR", Value: "0.1"}}}
		in.TrainJob.Spec.RuntimePatches, in.Patches = append(in.TrainJob.Spec.RuntimePatches,
			in.Patches...), nil

		if out, err := render.JobSet(in, render.Options{}); err != nil || out.Findings != nil {
			t.Fatalf("%d managers: %v, %v", managers, err, out.Findings)
		}
		whole := testing.AllocsPerRun(20, func() { _, _ = render.JobSet(in, render.Options{}) })
		merging := testing.AllocsPerRun(20, func() {
			_, _ = runtimepatch.Apply(&in.Runtime.Template, in.TrainJob.Spec.RuntimePatches,
				runtimepatch.Options{})
		})
		if whole-merging > most {
			t.Errorf("%d managers: %v allocations, of which %v merge: the rest may take %v",
				managers, whole, merging, most)
		}
		t.Logf("%d managers: %v allocations, of which %v merge", managers, whole, merging)
	}
}

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
