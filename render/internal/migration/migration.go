// Package migration converts the overrides of Trainer 2.1 to one patch.
//
// Fold merges the overrides into empty jobs and makes a patch from the result. Then order.go orders
// its lists so that a merge gives the order of Trainer 2.1. Differences compares the JobSets of
// both forms. render.Migrate renders them, and rejects the patch if they differ.
//
// Its first file to read is migration.go.
package migration

import (
	"reflect"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// Fold returns one patch with the effect of all overrides in sequence, or nil if they set nothing.
// Without a base, it uses empty jobs.
func Fold(base *trainer.JobSetTemplateSpec,
	overrides *legacy.Overrides) (*trainer.JobSetTemplatePatch, error) {
	// The overrides applied to empty jobs give exactly the fields that they set.
	var bare trainer.JobSetTemplateSpec
	for _, name := range overrides.Targets() {
		bare.Spec.ReplicatedJobs = append(bare.Spec.ReplicatedJobs,
			jobset.ReplicatedJob{Name: name})
	}
	patched, err := runtimepatch.Apply(&bare, overrides.PatchesOf(bare.Spec.ReplicatedJobs),
		runtimepatch.Options{})
	if err != nil {
		return nil, err
	}
	patch := &trainer.JobSetTemplatePatch{}
	if m := metadataOf(&patched.Template.ObjectMeta); m != nil {
		patch.Metadata = m
	}
	if base == nil {
		base = &bare
	}
	over, err := runtimepatch.Apply(base, overrides.PatchesOf(base.Spec.ReplicatedJobs),
		runtimepatch.Options{})
	if err != nil {
		return nil, err
	}
	accounts := overrides.ServiceAccountNames()
	places := map[string]int{} // of the jobs in over
	for i := range slices.Backward(over.Template.Spec.ReplicatedJobs) {
		places[over.Template.Spec.ReplicatedJobs[i].Name] = i
	}
	for i := range patched.Template.Spec.ReplicatedJobs {
		job := &patched.Template.Spec.ReplicatedJobs[i]
		pod := podPatch(&job.Template.Spec.Template)
		if name := accounts[job.Name]; name != nil { // an empty name removes the runtime's
			if pod.Spec == nil {
				pod.Spec = &trainer.PodSpecPatch{}
			}
			pod.Spec.ServiceAccountName = name
		}
		if reflect.DeepEqual(pod, &trainer.PodTemplatePatch{}) {
			continue
		}
		if at, ok := places[job.Name]; ok {
			order(pod, &base.Spec.ReplicatedJobs[at].Template.Spec.Template,
				&over.Template.Spec.ReplicatedJobs[at].Template.Spec.Template)
		}
		if patch.Spec == nil {
			patch.Spec = &trainer.JobSetSpecPatch{}
		}
		patch.Spec.ReplicatedJobs = append(patch.Spec.ReplicatedJobs, trainer.ReplicatedJobPatch{
			Name:     job.Name,
			Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{Template: pod}},
		})
	}
	if patch.Metadata == nil && patch.Spec == nil {
		return nil, nil
	}
	return patch, nil
}

func metadataOf(m *metav1.ObjectMeta) *metav1.ObjectMeta {
	if len(m.Labels)+len(m.Annotations) == 0 {
		return nil
	}
	return &metav1.ObjectMeta{Labels: m.Labels, Annotations: m.Annotations}
}

// podPatch returns a patch with the fields of the template. It skips the service account's name,
// since a template cannot express an empty one.
func podPatch(t *corev1.PodTemplateSpec) *trainer.PodTemplatePatch {
	spec := trainer.PodSpecPatch{
		NodeSelector:     t.Spec.NodeSelector,
		Affinity:         t.Spec.Affinity,
		Tolerations:      t.Spec.Tolerations,
		Volumes:          t.Spec.Volumes,
		InitContainers:   containerPatches(t.Spec.InitContainers),
		Containers:       containerPatches(t.Spec.Containers),
		SchedulingGates:  t.Spec.SchedulingGates,
		ImagePullSecrets: t.Spec.ImagePullSecrets,
	}
	patch := &trainer.PodTemplatePatch{Metadata: metadataOf(&t.ObjectMeta)}
	if !reflect.DeepEqual(spec, trainer.PodSpecPatch{}) {
		patch.Spec = &spec
	}
	return patch
}

func containerPatches(containers []corev1.Container) []trainer.ContainerPatch {
	var patches []trainer.ContainerPatch
	for _, c := range containers {
		patches = append(
			patches, trainer.ContainerPatch{Name: c.Name, Env: c.Env, VolumeMounts: c.VolumeMounts})
	}
	return patches
}

// SourceOf returns the path of the last override that sets the patch's path. For an item of a list
// it returns the list. The positions of an item in the patch's and the override's list differ.
func SourceOf(overrides *legacy.Overrides, path fieldpath.Path) fieldpath.Path {
	depth := len(runtimepatch.PatchPath(""))
	if len(path) <= depth {
		return path
	}
	in := path[depth:]
	if at := slices.IndexFunc(in, func(s fieldpath.Step) bool {
		_, ok := s.Index()
		return ok
	}); at >= 0 {
		in = in[:at]
	}
	if sources := overrides.SourcesOf(in); len(sources) > 0 {
		return sources[0]
	}
	return path
}
