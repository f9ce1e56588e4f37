package kubeapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/render/codes"
)

// The values of annotations for profiles, which both kinds share but for defaults and NAME or PATH.
const (
	unconfined = corev1.SeccompProfileNameUnconfined
	localhost  = corev1.SeccompLocalhostProfileNamePrefix
	ofSeccomp  = corev1.SeccompContainerAnnotationKeyPrefix
	ofAppArmor = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix
)

var (
	seccompDefaults = []string{corev1.SeccompProfileRuntimeDefault,
		corev1.DeprecatedSeccompProfileDockerDefault}
	appArmorDefaults = []string{corev1.DeprecatedAppArmorBetaProfileRuntimeDefault}
)

// checkProfileAnnotations checks the annotations for profiles of seccomp and AppArmor. They must
// match the fields that replaced them.
func (p *podChecker) checkProfileAnnotations(annotations *At) {
	for _, key := range slices.Sorted(maps.Keys(p.Annotations)) {
		value, at := p.Annotations[key], annotations.Key(key)
		if key == corev1.SeccompPodAnnotationKey || strings.HasPrefix(key, ofSeccomp) {
			if local, isLocal := strings.CutPrefix(value, localhost); isLocal {
				at.Relative(local)
			} else if value != unconfined && !slices.Contains(seccompDefaults, value) {
				at.Invalid(value, "must be a valid seccomp profile",
					"use runtime/default, unconfined or localhost/PATH")
			}
		}
		container, isAppArmor := strings.CutPrefix(key, ofAppArmor)
		if !isAppArmor {
			continue
		}
		if !HasContainer(slices.Concat(p.Spec.InitContainers, p.Spec.Containers), container) {
			at.Invalid(container, "container not found", "name a container of the Pod")
		}
		if value != "" && value != unconfined && !slices.Contains(appArmorDefaults, value) &&
			!strings.HasPrefix(value, localhost) {
			at.Invalid(value, fmt.Sprintf("invalid AppArmor profile name: %q", value),
				"use runtime/default, unconfined or localhost/NAME")
		}
	}
	pod := ptr.Deref(p.Spec.SecurityContext, corev1.PodSecurityContext{})
	p.matchSeccomp(corev1.SeccompPodAnnotationKey, pod.SeccompProfile, p.at)
	for _, c := range p.containers() {
		own := ptr.Deref(c.SecurityContext, corev1.SecurityContext{})
		p.matchSeccomp(ofSeccomp+c.Name, own.SeccompProfile, c.at)
		if own.AppArmorProfile == nil {
			own.AppArmorProfile = pod.AppArmorProfile
		}
		if profile := own.AppArmorProfile; profile != nil && !p.isWindows() {
			p.matchProfile(ofAppArmor+c.Name, string(profile.Type), profile.LocalhostProfile,
				appArmorDefaults, c.at.Field("securityContext", "appArmorProfile"))
		}
	}
}

func (p *podChecker) matchSeccomp(key string, profile *corev1.SeccompProfile, of *At) {
	if profile != nil {
		p.matchProfile(key, string(profile.Type), profile.LocalhostProfile, seccompDefaults,
			of.Field("securityContext", "seccompProfile"))
	}
}

// matchProfile reports an annotation that differs from a field. Seccomp and AppArmor use the same
// names of types and the same prefixes of values.
func (p *podChecker) matchProfile(key, kind string, local *string, defaults []string, at *At) {
	value, set := p.Annotations[key]
	if !set {
		return
	}
	field, matches := "type", true
	switch kind {
	case string(corev1.SeccompProfileTypeUnconfined):
		matches = value == unconfined
	case string(corev1.SeccompProfileTypeRuntimeDefault):
		matches = slices.Contains(defaults, value)
	case string(corev1.SeccompProfileTypeLocalhost):
		var name string
		if name, matches = strings.CutPrefix(value, localhost); matches {
			field, matches = "localhostProfile", local != nil && *local == name
		}
	}
	if !matches {
		at.As(codes.SecurityContext).Field(field).Reject("must match the annotation "+key,
			"remove the annotation")
	}
}
