package merge

import (
	"fmt"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

func zzTemplate() *trainer.JobSetTemplateSpec {
	t := &trainer.JobSetTemplateSpec{}
	for _, n := range []string{"dataset-initializer", "model-initializer", "node"} {
		j := jobset.ReplicatedJob{Name: n}
		j.Template.Labels = map[string]string{"trainer.kubeflow.org/trainjob-ancestor-step": n}
		p := &j.Template.Spec.Template.Spec
		p.NodeSelector = map[string]string{"pool": "a", "zone": "b"}
		p.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: "Exists"}}
		for _, v := range []string{"data", "model", "shm", "cfg"} {
			p.Volumes = append(p.Volumes, corev1.Volume{Name: v, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		}
		for _, c := range []string{"main", "side", "metrics"} {
			ct := corev1.Container{Name: c, Image: "img:" + c, Command: []string{"python", "train.py"}}
			for i := range 8 {
				ct.Env = append(ct.Env, corev1.EnvVar{Name: fmt.Sprint("E", i), Value: "v"})
			}
			for _, v := range []string{"data", "model"} {
				ct.VolumeMounts = append(ct.VolumeMounts, corev1.VolumeMount{Name: v, MountPath: "/" + v})
			}
			ct.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")}
			p.Containers = append(p.Containers, ct)
		}
		t.Spec.ReplicatedJobs = append(t.Spec.ReplicatedJobs, j)
	}
	return t
}

func zzPatches(n int) []trainer.RuntimePatch {
	var out []trainer.RuntimePatch
	for i := range n {
		var jobs []trainer.ReplicatedJobPatch
		for _, name := range []string{"dataset-initializer", "model-initializer", "node"} {
			jobs = append(jobs, trainer.ReplicatedJobPatch{Name: name, Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{Template: &trainer.PodTemplatePatch{Spec: &trainer.PodSpecPatch{
				NodeSelector: map[string]string{fmt.Sprint("m", i): "x"},
				Volumes:      []corev1.Volume{{Name: fmt.Sprint("v", i), VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
				Containers: []trainer.ContainerPatch{{Name: "side", Env: []corev1.EnvVar{{Name: fmt.Sprint("M", i), Value: "1"}},
					VolumeMounts: []corev1.VolumeMount{{Name: fmt.Sprint("v", i), MountPath: fmt.Sprint("/v", i)}}}},
			}}}}})
		}
		out = append(out, trainer.RuntimePatch{Manager: fmt.Sprintf("m%d.example/x", i), TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{ReplicatedJobs: jobs}}}})
	}
	return out
}

func BenchmarkZZ(b *testing.B) {
	for _, n := range []int{1, 4, 16} {
		t, p := zzTemplate(), zzPatches(n)
		r, _ := Apply(t, p, Options{Owners: true})
		b.Run(fmt.Sprint("apply-owners-", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Apply(t, p, Options{Owners: true})
			}
		})
		b.Run(fmt.Sprint("apply-", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Apply(t, p, Options{})
			}
		})
		b.Run(fmt.Sprint("copy-", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Template.DeepCopy()
			}
		})
	}
}
