package kubeapi

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release/minor"
)

func created(kubernetes string, pod *corev1.Pod, report Reporter) *podChecker {
	template := &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	return &podChecker{PodTemplateSpec: template, kubernetes: kubernetes,
		at: Root(report, codes.PodSpec, fieldpath.Field("spec"))}
}

// CheckAdmission checks a Pod that a controller creates as the default admission plugins do
// (Kubernetes v1.36.3 plugin/pkg/admission): its priority or preemption policy may not differ from
// its class, and its overhead needs a RuntimeClass. A Pod without a class gets priority 0, unless
// the cluster has a default class.
func CheckAdmission(pod *corev1.Pod, report Reporter) {
	p := created(minor.Linked, pod, report)
	const help = "set priorityClassName instead"
	computed, known := render.SystemPriority(p.Spec.PriorityClassName)
	if n := p.Spec.Priority; known && n != nil && *n != computed {
		p.at.Field("priority").Invalid(*n,
			fmt.Sprintf("must be the priority of the class, %d", computed), help)
	}
	if policy := p.Spec.PreemptionPolicy; known && policy != nil && *policy == corev1.PreemptNever {
		p.at.Field("preemptionPolicy").Invalid(string(*policy),
			fmt.Sprintf("must be the policy of the class, %q", corev1.PreemptLowerPriority), help)
	}
	if p.Spec.RuntimeClassName == nil && len(p.Spec.Overhead) > 0 {
		p.at.Field("overhead").Forbid("must have a RuntimeClass that defines it",
			"remove the field, or set runtimeClassName")
	}
}

// CheckPod checks a new Pod. It applies the rules of the Pod API that hold for no template.
func CheckPod(kubernetes string, pod *corev1.Pod, report Reporter) {
	p := created(kubernetes, pod, report)
	spec := &p.Spec
	if spec.HostNetwork {
		p.checkHostPorts(true)
	}
	if spec.NodeName != "" && len(spec.SchedulingGates) > 0 {
		p.at.As(codes.Scheduling).Field("nodeName").Both(
			"cannot be set until all schedulingGates have been cleared")
	}
	for _, container := range p.containers() {
		if container.Image != strings.TrimSpace(container.Image) {
			container.at.As(codes.NoImage).Field("image").Invalid(container.Image,
				"must not have leading or trailing whitespace", "remove the space")
		}
	}
	if !p.since("1.37") { // the template has the rule as well
		p.checkVolumeImages()
	}
	for i, finalizer := range p.Finalizers {
		at := Root(report, codes.BadLabel, fieldpath.Fields("metadata", "finalizers")...).Index(i)
		at.Qualified(finalizer)
		standard := []string{string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents,
			metav1.FinalizerDeleteDependents}
		if !strings.Contains(finalizer, "/") && !slices.Contains(standard, finalizer) {
			at.Invalid(finalizer,
				"name is neither a standard finalizer name nor is it fully qualified",
				`use a name such as "example.com/name"`)
		}
	}
	// Exclusive placement adds terms to the template's affinity.
	if a := spec.Affinity; a != nil {
		p.checkAffinity(a)
	}
}

func (p *podChecker) checkVolumeImages() {
	for i := range p.Spec.Volumes {
		if v := &p.Spec.Volumes[i]; v.Image != nil && v.Image.Reference == "" {
			p.volume(i).As(codes.Volume).Field("image", "reference").Missing("", "set the image")
		}
	}
}
