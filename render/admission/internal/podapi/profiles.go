package podapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
)

// checkProfileAnnotations checks the annotations for profiles of seccomp and AppArmor. They must
// match the fields that replaced them (Kubernetes v1.36.3 pkg/apis/core/validation).
func (p *podChecker) checkProfileAnnotations(at fieldpath.Path) {
	for _, key := range slices.Sorted(maps.Keys(p.Annotations)) {
		value := p.Annotations[key]
		if key == corev1.SeccompPodAnnotationKey ||
			strings.HasPrefix(key, corev1.SeccompContainerAnnotationKeyPrefix) {
			p.checkSeccompAnnotation(value, at.Append(fieldpath.Key(key)))
		}
		container, isAppArmor := strings.CutPrefix(
			key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix)
		if !isAppArmor {
			continue
		}
		if !slices.ContainsFunc(p.containers(), func(c podContainer) bool {
			return c.Name == container
		}) {
			p.report(codes.BadLabel, at.Append(fieldpath.Key(key)),
				apirule.Invalid(container, "container not found"), "name a container of the Pod")
		}
		if value != "" && value != corev1.DeprecatedAppArmorBetaProfileRuntimeDefault &&
			value != corev1.DeprecatedAppArmorBetaProfileNameUnconfined &&
			!strings.HasPrefix(value, corev1.DeprecatedAppArmorBetaProfileNamePrefix) {
			p.report(codes.BadLabel, at.Append(fieldpath.Key(key)),
				apirule.Invalid(value, fmt.Sprintf("invalid AppArmor profile name: %q", value)),
				"use runtime/default, unconfined or localhost/NAME")
		}
	}
	var pod corev1.PodSecurityContext
	if p.Spec.SecurityContext != nil {
		pod = *p.Spec.SecurityContext
	}
	p.matchSeccomp(corev1.SeccompPodAnnotationKey, pod.SeccompProfile, p.field("securityContext"))
	for _, c := range p.containers() {
		var own corev1.SecurityContext
		if c.SecurityContext != nil {
			own = *c.SecurityContext
		}
		if own.SeccompProfile == nil && own.AppArmorProfile == nil && pod.AppArmorProfile == nil {
			continue
		}
		context := c.at.Append(fieldpath.Field("securityContext"))
		p.matchSeccomp(corev1.SeccompContainerAnnotationKeyPrefix+c.Name, own.SeccompProfile,
			context)
		if p.isWindows() {
			continue
		}
		if own.AppArmorProfile == nil {
			own.AppArmorProfile = pod.AppArmorProfile
		}
		if profile := own.AppArmorProfile; profile != nil {
			p.matchProfile(corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+c.Name,
				string(profile.Type), profile.LocalhostProfile,
				[]string{corev1.DeprecatedAppArmorBetaProfileRuntimeDefault},
				context.Append(fieldpath.Field("appArmorProfile")))
		}
	}
}

func (p *podChecker) checkSeccompAnnotation(value string, path fieldpath.Path) {
	if local, isLocal := strings.CutPrefix(
		value, corev1.SeccompLocalhostProfileNamePrefix); isLocal {
		apirule.RelativePath(p.report, codes.BadLabel, path, local)
		return
	}
	if !slices.Contains(
		[]string{corev1.SeccompProfileRuntimeDefault, corev1.DeprecatedSeccompProfileDockerDefault,
			corev1.SeccompProfileNameUnconfined}, value) {
		p.report(codes.BadLabel, path, apirule.Invalid(value, "must be a valid seccomp profile"),
			"use runtime/default, unconfined or localhost/PATH")
	}
}

func (p *podChecker) matchSeccomp(key string, profile *corev1.SeccompProfile,
	context fieldpath.Path) {
	if profile != nil {
		p.matchProfile(key, string(profile.Type), profile.LocalhostProfile,
			[]string{corev1.SeccompProfileRuntimeDefault,
				corev1.DeprecatedSeccompProfileDockerDefault},
			context.Append(fieldpath.Field("seccompProfile")))
	}
}

// matchProfile reports an annotation that differs from the field at the path. Seccomp and AppArmor
// use the same names of types and the same prefixes of values.
func (p *podChecker) matchProfile(key, kind string, local *string, defaults []string,
	at fieldpath.Path) {
	value, set := p.Annotations[key]
	if !set {
		return
	}
	field, matches := "type", true
	switch kind {
	case string(corev1.SeccompProfileTypeUnconfined):
		matches = value == corev1.SeccompProfileNameUnconfined
	case string(corev1.SeccompProfileTypeRuntimeDefault):
		matches = slices.Contains(defaults, value)
	case string(corev1.SeccompProfileTypeLocalhost):
		var name string
		if name, matches = strings.CutPrefix(
			value, corev1.SeccompLocalhostProfileNamePrefix); matches {
			field, matches = "localhostProfile", local != nil && *local == name
		}
	}
	if !matches {
		p.report(codes.SecurityContext, at.Append(fieldpath.Field(field)),
			fmt.Sprintf("must match the annotation %s", key), "remove the annotation")
	}
}
