package kubeapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/render/codes"
)

// checkSecurity checks the security context of the Pod.
func (p *podChecker) checkSecurity() {
	p.checkOnWindows()
	p.checkHostProcess()
	c, at := p.Spec.SecurityContext, p.at.As(codes.SecurityContext).Field("securityContext")
	if c == nil {
		return
	}
	at.Field("runAsUser").id(c.RunAsUser)
	at.Field("runAsGroup").id(c.RunAsGroup)
	at.Field("fsGroup").id(c.FSGroup)
	for i := range c.SupplementalGroups {
		at.Field("supplementalGroups").Index(i).id(&c.SupplementalGroups[i])
	}
	NilOr(at.Field("fsGroupChangePolicy"), c.FSGroupChangePolicy,
		corev1.FSGroupChangeOnRootMismatch, corev1.FSGroupChangeAlways)
	NilOr(at.Field("supplementalGroupsPolicy"), c.SupplementalGroupsPolicy,
		corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)
	changes := []corev1.PodSELinuxChangePolicy{corev1.SELinuxChangePolicyRecursive}
	if p.since("1.37") { // SELinuxMount
		changes = append(changes, corev1.SELinuxChangePolicyMountOption)
	}
	NilOr(at.Field("seLinuxChangePolicy"), c.SELinuxChangePolicy, changes...)
	p.checkSysctls(c, at.Field("sysctls"))
	checkSeccomp(c.SeccompProfile, at.Field("seccompProfile"))
	checkAppArmor(c.AppArmorProfile, at.Field("appArmorProfile"))
	p.checkWindows(c.WindowsOptions, at.Field("windowsOptions"))
}

func (a *At) id(id *int64) {
	if id != nil {
		a.Valid(*id, validation.IsValidUserID(*id), "set a number from 0 to 2147483647")
	}
}

const sysctlPattern = `^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`

// sysctl matches a valid name of a kernel parameter.
var sysctl = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(sysctlPattern) })

const longestSysctl = 253

func (p *podChecker) checkSysctls(c *corev1.PodSecurityContext, list *At) {
	for i, s := range c.Sysctls {
		at := list.Index(i).Field("name")
		if !at.Required(s.Name) {
			continue
		}
		if len(s.Name) > longestSysctl || !sysctl().MatchString(s.Name) {
			at.Invalid(s.Name, fmt.Sprintf("must have at most %d characters and match regex %s",
				longestSysctl, sysctlPattern), "use a name such as net.core.somaxconn")
		} else if repeats(c.Sysctls, i, func(s *corev1.Sysctl) string { return s.Name }) {
			at.Duplicate(s.Name, "remove one of the two")
		}
		dotted := strings.ReplaceAll(s.Name, "/", ".")
		if p.Spec.HostNetwork && strings.HasPrefix(dotted, "net.") {
			at.Invalid(s.Name, "may not be specified when 'hostNetwork' is true",
				"remove one of the two")
		}
		ipc := dotted == "kernel.sem" || strings.HasPrefix(dotted, "kernel.shm") ||
			strings.HasPrefix(dotted, "kernel.msg") || strings.HasPrefix(dotted, "fs.mqueue.")
		if p.Spec.HostIPC && ipc {
			at.Invalid(s.Name, "may not be specified when 'hostIPC' is true",
				"remove one of the two")
		}
	}
}

func checkSeccomp(profile *corev1.SeccompProfile, at *At) {
	if profile == nil {
		return
	}
	OneOf(at.Field("type"), profile.Type, corev1.SeccompProfileTypeLocalhost,
		corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)
	at = at.Field("localhostProfile")
	switch local := profile.Type == corev1.SeccompProfileTypeLocalhost; {
	case local && profile.LocalhostProfile == nil:
		at.Missing("must be set when seccomp type is Localhost", "set the profile")
	case local:
		at.Relative(*profile.LocalhostProfile)
	case profile.LocalhostProfile != nil:
		at.As(codes.TwoSources).InvalidObject("can only be set when seccomp type is Localhost",
			"use the type Localhost, or remove the profile")
	}
}

const longestProfile = 4095

func checkAppArmor(profile *corev1.AppArmorProfile, at *At) {
	if profile == nil {
		return
	}
	OneOf(at.Field("type"), profile.Type, corev1.AppArmorProfileTypeLocalhost,
		corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
	at = at.Field("localhostProfile")
	name := ptr.Deref(profile.LocalhostProfile, "")
	switch local := profile.Type == corev1.AppArmorProfileTypeLocalhost; {
	case local && strings.TrimSpace(name) == "":
		at.Missing("must be set when AppArmor type is Localhost", "set the profile")
	case local && strings.TrimSpace(name) != name:
		at.Invalid(name, "must not be padded with whitespace", "remove the space")
	case local:
		at.TooLong(len(name), longestProfile, "shorten it")
	case profile.LocalhostProfile != nil:
		at.As(codes.TwoSources).Invalid(name, "can only be set when AppArmor type is Localhost",
			"use the type Localhost, or remove the profile")
	}
}

// checkContainerSecurity checks the security context of a container.
func (p *podChecker) checkContainerSecurity(c podContainer) {
	s, at := c.SecurityContext, c.at.As(codes.SecurityContext).Field("securityContext")
	if s == nil {
		return
	}
	at.Field("runAsUser").id(s.RunAsUser)
	at.Field("runAsGroup").id(s.RunAsGroup)
	checkSeccomp(s.SeccompProfile, at.Field("seccompProfile"))
	checkAppArmor(s.AppArmorProfile, at.Field("appArmorProfile"))
	p.checkWindows(s.WindowsOptions, at.Field("windowsOptions"))
	NilOr(at.Field("procMount"), s.ProcMount, corev1.DefaultProcMount, corev1.UnmaskedProcMount)
	if mount := s.ProcMount; mount != nil && *mount == corev1.UnmaskedProcMount &&
		ptr.Deref(p.Spec.HostUsers, true) {
		at.Field("procMount").Invalid(string(*mount),
			"`hostUsers` must be false to use `Unmasked`",
			"set hostUsers to false, or use Default")
	}
	if ptr.Deref(s.AllowPrivilegeEscalation, true) {
		return
	}
	if IsPrivileged(s) {
		at.InvalidObject("cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
			"remove allowPrivilegeEscalation: false, or privileged: true")
	}
	if s.Capabilities != nil && slices.Contains(s.Capabilities.Add, "CAP_SYS_ADMIN") {
		at.InvalidObject("cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "+
			"CAP_SYS_ADMIN", "remove allowPrivilegeEscalation: false, or the capability")
	}
}
