package podapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
)

// checkSecurity checks the security context of the Pod.
func (p *podChecker) checkSecurity() {
	p.checkOnWindows()
	p.checkHostProcess()
	c := p.Spec.SecurityContext
	if c == nil {
		return
	}
	at := p.field("securityContext")
	p.checkID(c.RunAsUser, at.Append(fieldpath.Field("runAsUser")))
	p.checkID(c.RunAsGroup, at.Append(fieldpath.Field("runAsGroup")))
	p.checkID(c.FSGroup, at.Append(fieldpath.Field("fsGroup")))
	for i := range c.SupplementalGroups {
		p.checkID(&c.SupplementalGroups[i],
			at.Append(fieldpath.Field("supplementalGroups"), fieldpath.Index(i)))
	}
	if policy := c.FSGroupChangePolicy; policy != nil {
		apirule.OneOf(p.report, codes.SecurityContext,
			at.Append(fieldpath.Field("fsGroupChangePolicy")), *policy,
			corev1.FSGroupChangeOnRootMismatch, corev1.FSGroupChangeAlways)
	}
	if policy := c.SupplementalGroupsPolicy; policy != nil {
		apirule.OneOf(p.report, codes.SecurityContext,
			at.Append(fieldpath.Field("supplementalGroupsPolicy")), *policy,
			corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)
	}
	if policy := c.SELinuxChangePolicy; policy != nil {
		allowed := []corev1.PodSELinuxChangePolicy{corev1.SELinuxChangePolicyRecursive}
		if p.since("1.37") { // SELinuxMount
			allowed = []corev1.PodSELinuxChangePolicy{corev1.SELinuxChangePolicyMountOption,
				corev1.SELinuxChangePolicyRecursive}
		}
		apirule.OneOf(p.report, codes.SecurityContext,
			at.Append(fieldpath.Field("seLinuxChangePolicy")), *policy, allowed...)
	}
	p.checkSysctls(c, at.Append(fieldpath.Field("sysctls")))
	p.checkSeccomp(c.SeccompProfile, at.Append(fieldpath.Field("seccompProfile")))
	p.checkAppArmor(c.AppArmorProfile, at.Append(fieldpath.Field("appArmorProfile")))
	p.checkWindows(c.WindowsOptions, at.Append(fieldpath.Field("windowsOptions")))
}

func (p *podChecker) checkID(id *int64, path fieldpath.Path) {
	if id == nil {
		return
	}
	apirule.Valid(p.report, codes.SecurityContext, path, *id, validation.IsValidUserID(*id),
		"set a number from 0 to 2147483647")
}

const sysctlPattern = `^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`

// sysctl matches a valid name of a kernel parameter.
var sysctl = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(sysctlPattern) })

const longestSysctl = 253

func (p *podChecker) checkSysctls(c *corev1.PodSecurityContext, at fieldpath.Path) {
	for i, s := range c.Sysctls {
		path := at.Append(fieldpath.Index(i), fieldpath.Field("name"))
		if !apirule.Required(p.report, codes.SecurityContext, path, s.Name) {
			continue
		}
		if len(s.Name) > longestSysctl || !sysctl().MatchString(s.Name) {
			p.report(codes.SecurityContext, path,
				apirule.Invalid(
					s.Name, fmt.Sprintf("must have at most %d characters and match regex %s",
						longestSysctl, sysctlPattern)), "use a name such as net.core.somaxconn")
		} else if slices.ContainsFunc(c.Sysctls[:i], func(other corev1.Sysctl) bool {
			return other.Name == s.Name
		}) {
			p.report(codes.SecurityContext, path, apirule.Duplicate(s.Name),
				"remove one of the two")
		}
		dotted := strings.ReplaceAll(s.Name, "/", ".")
		if p.Spec.HostNetwork && strings.HasPrefix(dotted, "net.") {
			p.report(codes.SecurityContext, path,
				apirule.Invalid(s.Name, "may not be specified when 'hostNetwork' is true"),
				"remove one of the two")
		}
		ipc := slices.Contains([]string{"kernel.sem"}, dotted) ||
			strings.HasPrefix(dotted, "kernel.shm") || strings.HasPrefix(dotted, "kernel.msg") ||
			strings.HasPrefix(dotted, "fs.mqueue.")
		if p.Spec.HostIPC && ipc {
			p.report(codes.SecurityContext, path,
				apirule.Invalid(s.Name, "may not be specified when 'hostIPC' is true"),
				"remove one of the two")
		}
	}
}

func (p *podChecker) checkSeccomp(profile *corev1.SeccompProfile, at fieldpath.Path) {
	if profile == nil {
		return
	}
	apirule.OneOf(p.report, codes.SecurityContext, at.Append(fieldpath.Field("type")), profile.Type,
		corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault,
		corev1.SeccompProfileTypeUnconfined)
	path := at.Append(fieldpath.Field("localhostProfile"))
	switch local := profile.Type == corev1.SeccompProfileTypeLocalhost; {
	case local && profile.LocalhostProfile == nil:
		p.report(codes.SecurityContext, path,
			apirule.Missing("must be set when seccomp type is Localhost"), "set the profile")
	case local:
		apirule.RelativePath(p.report, codes.SecurityContext, path, *profile.LocalhostProfile)
	case profile.LocalhostProfile != nil:
		p.report(codes.TwoSources, path,
			apirule.InvalidObject("can only be set when seccomp type is Localhost"),
			"use the type Localhost, or remove the profile")
	}
}

const longestProfile = 4095

func (p *podChecker) checkAppArmor(profile *corev1.AppArmorProfile, at fieldpath.Path) {
	if profile == nil {
		return
	}
	apirule.OneOf(p.report, codes.SecurityContext, at.Append(fieldpath.Field("type")), profile.Type,
		corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault,
		corev1.AppArmorProfileTypeUnconfined)
	path := at.Append(fieldpath.Field("localhostProfile"))
	switch local := profile.Type == corev1.AppArmorProfileTypeLocalhost; {
	case local &&
		(profile.LocalhostProfile == nil || strings.TrimSpace(*profile.LocalhostProfile) == ""):
		p.report(codes.SecurityContext, path,
			apirule.Missing("must be set when AppArmor type is Localhost"), "set the profile")
	case local && strings.TrimSpace(*profile.LocalhostProfile) != *profile.LocalhostProfile:
		p.report(codes.SecurityContext, path,
			apirule.Invalid(*profile.LocalhostProfile, "must not be padded with whitespace"),
			"remove the space")
	case local && len(*profile.LocalhostProfile) > longestProfile:
		p.report(codes.SecurityContext, path, apirule.TooLong(longestProfile), "shorten it")
	case !local && profile.LocalhostProfile != nil:
		p.report(codes.TwoSources, path,
			apirule.Invalid(*profile.LocalhostProfile,
				"can only be set when AppArmor type is Localhost"),
			"use the type Localhost, or remove the profile")
	}
}

// checkContainerSecurity checks the security context of a container.
func (p *podChecker) checkContainerSecurity(c podContainer) {
	s := c.SecurityContext
	if s == nil {
		return
	}
	at := c.at.Append(fieldpath.Field("securityContext"))
	p.checkID(s.RunAsUser, at.Append(fieldpath.Field("runAsUser")))
	p.checkID(s.RunAsGroup, at.Append(fieldpath.Field("runAsGroup")))
	p.checkSeccomp(s.SeccompProfile, at.Append(fieldpath.Field("seccompProfile")))
	p.checkAppArmor(s.AppArmorProfile, at.Append(fieldpath.Field("appArmorProfile")))
	p.checkWindows(s.WindowsOptions, at.Append(fieldpath.Field("windowsOptions")))
	if mount := s.ProcMount; mount != nil {
		path := at.Append(fieldpath.Field("procMount"))
		apirule.OneOf(p.report, codes.SecurityContext, path, *mount, corev1.DefaultProcMount,
			corev1.UnmaskedProcMount)
		if *mount == corev1.UnmaskedProcMount && (p.Spec.HostUsers == nil || *p.Spec.HostUsers) {
			p.report(codes.SecurityContext, path,
				apirule.Invalid(string(*mount), "`hostUsers` must be false to use `Unmasked`"),
				"set hostUsers to false, or use Default")
		}
	}
	if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation {
		return
	}
	if IsPrivileged(s) {
		p.report(codes.SecurityContext, at,
			apirule.InvalidObject(
				"cannot set `allowPrivilegeEscalation` to false and `privileged` to true"),
			"remove allowPrivilegeEscalation: false, or privileged: true")
	}
	if s.Capabilities != nil && slices.Contains(s.Capabilities.Add, "CAP_SYS_ADMIN") {
		p.report(codes.SecurityContext, at,
			apirule.InvalidObject(
				"cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "+
					"CAP_SYS_ADMIN"), "remove allowPrivilegeEscalation: false, or the capability")
	}
}
