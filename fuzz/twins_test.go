package fuzz_test

import (
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/merge"
)

// TestTwinMounts lays every short list of mounts over every other, with one path several times in a patch, as the
// API of patches accepts it. The merge gives what upstream's gives. Where the runtime has mounts, so that
// every order of the patches merges, an overlap is reported exactly where the order decides.
func TestTwinMounts(t *testing.T) {
	mounts := []corev1.VolumeMount{
		{Name: "v", MountPath: "/a"}, {Name: "w", MountPath: "/a", ReadOnly: true},
		{Name: "v", MountPath: "/b", SubPath: "s"}, {Name: "w", MountPath: "/b"},
	}
	short := listsUpTo(mounts[:3], 2)
	runtimes := slices.DeleteFunc(slices.Clone(short), func(l []corev1.VolumeMount) bool { return len(l) == 2 && l[0].MountPath == l[1].MountPath })
	try := func(runtime []corev1.VolumeMount, patches ...[]corev1.VolumeMount) {
		c := &fuzz.Case{Template: &trainer.JobSetTemplateSpec{}}
		job := jobset.ReplicatedJob{Name: "node"}
		job.Template.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", VolumeMounts: runtime}}
		c.Template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{job}
		for i, list := range patches {
			pod := &trainer.PodTemplatePatch{Spec: &trainer.PodSpecPatch{Containers: []trainer.ContainerPatch{{Name: "c", VolumeMounts: list}}}}
			c.Patches = append(c.Patches, trainer.RuntimePatch{
				Manager: []string{"a.example/x", "b.example/x"}[i],
				TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{
					ReplicatedJobs: []trainer.ReplicatedJobPatch{{Name: "node", Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{Template: pod}}}},
				}}},
			})
		}
		if broken := equalsUpstream(c); broken != "" {
			t.Fatalf("%s\n%s", broken, asYAML(c))
		}
		if len(runtime) == 0 || len(patches) < 2 {
			return
		}
		merged, err := merge.Apply(c.Template, c.Patches, merge.Options{Owners: true})
		if err != nil {
			t.Fatal(err)
		}
		reported := pathsOf(conflict.Find(merged.Owners), conflict.Overlap)
		if one, other, err := twoOutcomes(c.Template, c.Patches); err != nil || (one != "") != (len(reported) > 0) {
			t.Fatalf("overlaps are reported on %v, and the orders give (%v)\n%s\n%s\n%s", reported, err, one, other, asYAML(c))
		}
	}
	for _, runtime := range runtimes {
		for _, patch := range listsUpTo(mounts, 3) {
			try(runtime, patch)
		}
		for _, first := range short {
			for _, second := range short {
				try(runtime, first, second)
			}
		}
	}
}

// listsUpTo returns every list of at most n of the items.
func listsUpTo[T any](items []T, n int) [][]T {
	lists := [][]T{nil}
	for last := lists; n > 0; n-- {
		var longer [][]T
		for _, list := range last {
			for _, item := range items {
				longer = append(longer, append(slices.Clip(list), item))
			}
		}
		lists, last = append(lists, longer...), longer
	}
	return lists
}
