package children

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/internal/defaults"
	"github.com/trainweld/trainweld/render/release/minor"
)

// This file holds the changes of the API server to Jobs, Pods and claims when it stores them. It
// skips defaults without information. The sources are Kubernetes v1.36.3 pkg/apis/core/v1,
// pkg/api/pod and pkg/registry/core, with default feature gates. Package minor has what other
// versions drop.

// storePodTemplate changes a Pod template as the Job API of a version of Kubernetes does.
func storePodTemplate(template *corev1.PodTemplateSpec, kubernetes string) {
	for _, key := range []string{
		"pod.beta.kubernetes.io/init-containers", "pod.alpha.kubernetes.io/init-containers",
		"pod.beta.kubernetes.io/init-container-statuses",
		"pod.alpha.kubernetes.io/init-container-statuses",
	} {
		delete(template.Annotations, key)
	}
	spec := &template.Spec
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = spec.DeprecatedServiceAccount
	}
	if spec.DeprecatedServiceAccount != "" {
		spec.DeprecatedServiceAccount = spec.ServiceAccountName
	}
	minor.Drop(kubernetes, spec)
	roundUp(spec.Overhead)
	if spec.Resources != nil {
		roundUp(spec.Resources.Limits)
		roundUp(spec.Resources.Requests)
	}
	for _, container := range defaults.Containers(spec) {
		roundUp(container.Resources.Limits)
		roundUp(container.Resources.Requests)
	}
	for i := range spec.Volumes {
		v := &spec.Volumes[i].VolumeSource
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			resources := v.Ephemeral.VolumeClaimTemplate.Spec.Resources
			roundUp(resources.Limits)
			roundUp(resources.Requests)
		}
	}
}

// dropped removes each field that a version of Kubernetes drops.
func dropped(*minor.Field, fieldpath.Path) bool { return true }

// roundUp rounds quantities up to thousandths, the finest unit that the API stores.
func roundUp(list corev1.ResourceList) {
	for name, quantity := range list {
		quantity.RoundUp(resource.Milli)
		list[name] = quantity
	}
}

// storeClaim changes a claim as its API does. The two forms of its data source mirror each other.
// The old form names only claims and snapshots, and the new form must not name another namespace.
func storeClaim(spec *corev1.PersistentVolumeClaimSpec, kubernetes string) {
	minor.Each(kubernetes, spec, dropped)
	roundUp(spec.Resources.Limits)
	roundUp(spec.Resources.Requests)
	if ref := spec.DataSourceRef; ref != nil && ref.Namespace != nil && *ref.Namespace != "" {
		spec.DataSourceRef = nil
	}
	switch source, ref := spec.DataSource, spec.DataSourceRef; {
	case ref == nil && source != nil && !isClaimOrSnapshot(source):
		spec.DataSource = nil
	case ref == nil && source != nil:
		spec.DataSourceRef = &corev1.TypedObjectReference{
			APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name}
	case ref != nil && source == nil:
		spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: ref.APIGroup, Kind: ref.Kind,
			Name: ref.Name}
	}
}

func isClaimOrSnapshot(source *corev1.TypedLocalObjectReference) bool {
	group := ""
	if source.APIGroup != nil {
		group = *source.APIGroup
	}
	return source.Kind == "PersistentVolumeClaim" && group == "" ||
		source.Kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io"
}

// appArmorProfiles returns the containers of a Pod, with fields for the profiles that annotations
// choose.
func appArmorProfiles(pod *corev1.Pod, containers []corev1.Container) []corev1.Container {
	if pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows {
		return containers
	}
	var ofPod *corev1.AppArmorProfile
	if c := pod.Spec.SecurityContext; c != nil {
		ofPod = c.AppArmorProfile
	}
	containers = slices.Clone(containers)
	for i := range containers {
		c := &containers[i]
		profile := appArmorProfile(
			pod.Annotations[corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+c.Name])
		if profile == nil || c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil ||
			equality.Semantic.DeepEqual(profile, ofPod) {
			continue
		}
		context := corev1.SecurityContext{}
		if c.SecurityContext != nil {
			context = *c.SecurityContext
		}
		context.AppArmorProfile = profile
		c.SecurityContext = &context
	}
	return containers
}

// appArmorProfile returns the profile that the value of an annotation chooses, or nil for an
// invalid value.
func appArmorProfile(annotation string) *corev1.AppArmorProfile {
	const longest = 4095
	switch annotation {
	case corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	}
	name, local := strings.CutPrefix(annotation, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	if !local || name == "" || name != strings.TrimSpace(name) || len(name) > longest {
		return nil
	}
	return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost,
		LocalhostProfile: &name}
}

// hasLabelKeys reports whether the API adds labels of the Pod to selectors of its spec.
func hasLabelKeys(spec *corev1.PodSpec) bool {
	has := false
	eachTerm(spec.Affinity, func(t *corev1.PodAffinityTerm) {
		has = has || len(t.MatchLabelKeys)+len(t.MismatchLabelKeys) > 0
	})
	return has ||
		slices.ContainsFunc(spec.TopologySpreadConstraints,
			func(c corev1.TopologySpreadConstraint) bool { return len(c.MatchLabelKeys) > 0 })
}

// selectLabels adds the labels of matchLabelKeys and mismatchLabelKeys to the selector of the same
// term or constraint.
func selectLabels(spec *corev1.PodSpec, labels map[string]string) {
	add := func(selector *metav1.LabelSelector, keys []string,
		operator metav1.LabelSelectorOperator) {
		for _, key := range keys {
			if value, ok := labels[key]; ok && selector != nil {
				selector.MatchExpressions = append(selector.MatchExpressions,
					metav1.LabelSelectorRequirement{
						Key: key, Operator: operator, Values: []string{value}})
			}
		}
	}
	spec.Affinity = spec.Affinity.DeepCopy()
	eachTerm(spec.Affinity, func(t *corev1.PodAffinityTerm) {
		add(t.LabelSelector, t.MatchLabelKeys, metav1.LabelSelectorOpIn)
		add(t.LabelSelector, t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
	})
	spec.TopologySpreadConstraints = slices.Clone(spec.TopologySpreadConstraints)
	for i := range spec.TopologySpreadConstraints {
		c := &spec.TopologySpreadConstraints[i]
		c.LabelSelector = c.LabelSelector.DeepCopy()
		add(c.LabelSelector, c.MatchLabelKeys, metav1.LabelSelectorOpIn)
	}
}

// eachTerm visits the terms of Pod affinity and anti-affinity.
func eachTerm(affinity *corev1.Affinity, visit func(*corev1.PodAffinityTerm)) {
	if affinity == nil {
		return
	}
	for _, a := range []*corev1.PodAffinity{
		affinity.PodAffinity, (*corev1.PodAffinity)(affinity.PodAntiAffinity)} {
		if a == nil {
			continue
		}
		for i := range a.RequiredDuringSchedulingIgnoredDuringExecution {
			visit(&a.RequiredDuringSchedulingIgnoredDuringExecution[i])
		}
		for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
			visit(&a.PreferredDuringSchedulingIgnoredDuringExecution[i].PodAffinityTerm)
		}
	}
}
