package main

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/compose"
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

// patchOf returns the fields that admitted Pods need. The template holds the patches of all other managers.
func patchOf(sets []podSet, template *trainer.JobSetTemplateSpec) trainer.RuntimePatch {
	spec := &trainer.JobSetSpecPatch{}
	for _, set := range sets {
		pod := &corev1.PodTemplateSpec{}
		if at := slices.IndexFunc(template.Spec.ReplicatedJobs, func(j jobset.ReplicatedJob) bool { return j.Name == set.name }); at >= 0 {
			pod = &template.Spec.ReplicatedJobs[at].Template.Spec.Template
		}
		spec.ReplicatedJobs = append(spec.ReplicatedJobs, trainer.ReplicatedJobPatch{
			Name:     set.name,
			Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{Template: set.patchOf(pod)}},
		})
	}
	return trainer.RuntimePatch{Manager: managerName, TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: &trainer.JobSetTemplatePatch{Spec: spec}}}
}

func (s podSet) patchOf(pod *corev1.PodTemplateSpec) *trainer.PodTemplatePatch {
	metadata := &metav1.ObjectMeta{Labels: map[string]string{podSetLabel: s.name}}
	spec := &trainer.PodSpecPatch{NodeSelector: s.nodeLabels, Tolerations: lacking(pod.Spec.Tolerations, s.tolerations)}
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

// rules let the tolerations of all patches and of the runtime add up. The list is atomic: a patch with the flavors' tolerations alone
// drops all others.
func rules() compose.Rules {
	pods := fieldpath.Fields("spec", "replicatedJobs").Append(fieldpath.Item("name", "")).Append(fieldpath.Fields("template", "spec", "template", "spec")...)
	return compose.Rules{{Path: pods.Append(fieldpath.Field("tolerations")), Kind: compose.KindUnion, Seconds: compose.KindMaximum}}
}

// lacking returns the flavors' tolerations that the Pods lack. A toleration of the Pods keeps its seconds.
func lacking(pods, flavors []corev1.Toleration) []corev1.Toleration {
	return slices.DeleteFunc(slices.Clone(flavors), func(t corev1.Toleration) bool {
		return slices.ContainsFunc(pods, func(other corev1.Toleration) bool { return identity(t) == identity(other) })
	})
}

// identity returns a toleration without its seconds. The default operator is Equal.
func identity(t corev1.Toleration) corev1.Toleration {
	t.TolerationSeconds = nil
	if t.Operator == "" {
		t.Operator = corev1.TolerationOpEqual
	}
	return t
}
