package main

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// The names that Kueue gives to labels, annotations and gates of Pods.
const (
	podSetLabel         = "kueue.x-k8s.io/podset"
	topologyLabel       = "kueue.x-k8s.io/tas"
	workloadAnnotation  = "kueue.x-k8s.io/workload"
	topologyGate        = "kueue.x-k8s.io/topology"
	requiredTopology    = "kueue.x-k8s.io/podset-required-topology"
	preferredTopology   = "kueue.x-k8s.io/podset-preferred-topology"
	unconstrainedDomain = "kueue.x-k8s.io/podset-unconstrained-topology"
)

// plan returns the smallest patch that admitted Pods need, behind the patches of all other
// managers. It has no content if the Pods need nothing.
func plan(template *trainer.JobSetTemplateSpec, others []trainer.RuntimePatch,
	sets []podSet) (trainer.RuntimePatch, error) {
	merged, err := runtimepatch.Apply(template, others, runtimepatch.Options{})
	if err != nil {
		return trainer.RuntimePatch{}, err
	}
	want := patchOf(sets, &merged.Template)
	if err := check.Patches(template, []trainer.RuntimePatch{want}).Err(); err != nil {
		return trainer.RuntimePatch{}, err
	}
	planned, err := runtimepatch.Minimal(template, others, want)
	if err != nil {
		return trainer.RuntimePatch{}, err
	}
	joinTolerations(&planned, sets, others, &merged.Template, template)
	return planned, nil
}

// patchOf returns the fields that admitted Pods need, except their tolerations. The template holds
// the patches of all other managers.
func patchOf(sets []podSet, template *trainer.JobSetTemplateSpec) trainer.RuntimePatch {
	spec := &trainer.JobSetSpecPatch{}
	for _, set := range sets {
		spec.ReplicatedJobs = append(spec.ReplicatedJobs, trainer.ReplicatedJobPatch{
			Name: set.name,
			Template: &trainer.JobTemplatePatch{
				Spec: &trainer.JobSpecPatch{Template: set.patchOf(podOf(template, set.name))}},
		})
	}
	return trainer.RuntimePatch{
		Manager: managerName, TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
			Template: &trainer.JobSetTemplatePatch{Spec: spec}}}
}

// podOf returns the Pods of a replicated job, or empty ones.
func podOf(template *trainer.JobSetTemplateSpec, job string) *corev1.PodTemplateSpec {
	for i := range template.Spec.ReplicatedJobs {
		if template.Spec.ReplicatedJobs[i].Name == job {
			return &template.Spec.ReplicatedJobs[i].Template.Spec.Template
		}
	}
	return &corev1.PodTemplateSpec{}
}

func (s podSet) patchOf(pod *corev1.PodTemplateSpec) *trainer.PodTemplatePatch {
	metadata := &metav1.ObjectMeta{Labels: map[string]string{podSetLabel: s.name}}
	spec := &trainer.PodSpecPatch{NodeSelector: s.nodeLabels}
	if s.hasTopology {
		metadata.Labels[topologyLabel] = "true"
		metadata.Annotations = map[string]string{workloadAnnotation: s.workload}
		if pod.Annotations[requiredTopology] == "" && pod.Annotations[preferredTopology] == "" {
			metadata.Annotations[unconstrainedDomain] = "true"
		}
		spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: topologyGate}}
	}
	return &trainer.PodTemplatePatch{Metadata: metadata, Spec: spec}
}

// podIn returns the Pods of a replicated job in a patch. It adds them to a patch that lacks them.
func podIn(patch *trainer.RuntimePatch, job string) *trainer.PodSpecPatch {
	spec := made(&made(&made(&patch.TrainingRuntimeSpec).Template).Spec)
	at := slices.IndexFunc(spec.ReplicatedJobs, func(j trainer.ReplicatedJobPatch) bool {
		return j.Name == job
	})
	if at < 0 {
		at, spec.ReplicatedJobs = len(spec.ReplicatedJobs),
			append(spec.ReplicatedJobs, trainer.ReplicatedJobPatch{Name: job})
	}
	return made(&made(&made(&made(&spec.ReplicatedJobs[at].Template).Spec).Template).Spec)
}

// made returns the value of a pointer, new if it is nil.
func made[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}
