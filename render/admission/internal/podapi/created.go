package podapi

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release/minor"
)

// CheckAdmission checks a Pod that a controller creates as the default admission plugins do
// (Kubernetes v1.36.3 plugin/pkg/admission).
func CheckAdmission(pod *corev1.Pod, report apirule.Reporter) {
	p := created(minor.Linked, pod, report)
	p.checkPriority()
	p.checkOverhead()
}

func created(kubernetes string, pod *corev1.Pod, report apirule.Reporter) *podChecker {
	template := &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	return &podChecker{PodTemplateSpec: template, kubernetes: kubernetes,
		at: fieldpath.Fields("spec"), report: report}
}

// CheckPod checks a new Pod. It applies the rules of the Pod API that hold for no template
// (Kubernetes v1.36.3 pkg/apis/core/validation).
func CheckPod(kubernetes string, pod *corev1.Pod, report apirule.Reporter) {
	p := created(kubernetes, pod, report)
	spec := &p.Spec
	if spec.HostNetwork {
		p.checkHostPorts(true)
	}
	if spec.NodeName != "" && len(spec.SchedulingGates) > 0 {
		p.report(codes.Scheduling, p.field("nodeName"),
			apirule.Forbidden("cannot be set until all schedulingGates have been cleared"),
			"remove one of the two")
	}
	for _, container := range p.containers() {
		if container.Image != strings.TrimSpace(container.Image) {
			p.report(codes.NoImage, container.at.Append(fieldpath.Field("image")),
				apirule.Invalid(container.Image, "must not have leading or trailing whitespace"),
				"remove the space")
		}
	}
	if !p.since("1.37") { // the template has the rule as well
		p.checkVolumeImages()
	}
	for i, finalizer := range p.Finalizers {
		path := fieldpath.Fields("metadata", "finalizers").Append(fieldpath.Index(i))
		apirule.QualifiedName(p.report, codes.BadLabel, path, finalizer)
		standard := []string{string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents,
			metav1.FinalizerDeleteDependents}
		if !strings.Contains(finalizer, "/") && !slices.Contains(standard, finalizer) {
			p.report(codes.BadLabel, path,
				apirule.Invalid(
					finalizer, "name is neither a standard finalizer name nor is it fully qualified"), `use a name such as "example.com/name"`)
		}
	}
	// Exclusive placement adds terms to the template's affinity.
	if a := spec.Affinity; a != nil {
		p.checkAffinity(a, p.field("affinity"))
	}
}

func (p *podChecker) checkVolumeImages() {
	for i := range p.Spec.Volumes {
		if v := &p.Spec.Volumes[i]; v.Image != nil && v.Image.Reference == "" {
			p.report(codes.Volume,
				p.volumePath(i).Append(fieldpath.Fields("image", "reference")...),
				apirule.Missing(""), "set the image")
		}
	}
}
