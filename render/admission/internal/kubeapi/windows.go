package kubeapi

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainweld/trainweld/render/codes"
)

func (p *podChecker) isWindows() bool {
	return p.Spec.OS != nil && p.Spec.OS.Name == corev1.Windows
}

// The fields that a Windows Pod cannot set: in its spec, its security context, and its containers'
// security contexts.
var (
	linuxPodFields      = []string{"hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"}
	linuxSecurityFields = []string{"appArmorProfile", "seLinuxOptions", "seccompProfile",
		"fsGroup", "fsGroupChangePolicy", "sysctls", "runAsUser", "runAsGroup",
		"supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"}
	linuxContainerFields = []string{"appArmorProfile", "seLinuxOptions", "seccompProfile",
		"capabilities", "readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation",
		"procMount", "runAsUser", "runAsGroup"}
)

// checkOnWindows reports fields that a Windows Pod cannot set.
func (p *podChecker) checkOnWindows() {
	if !p.isWindows() {
		return
	}
	at := p.at.As(codes.SecurityContext)
	rejectSet(&p.Spec, linuxPodFields, at)
	if c := p.Spec.SecurityContext; c != nil {
		rejectSet(c, linuxSecurityFields, at.Field("securityContext"))
	}
	for _, c := range p.containers() {
		if c.SecurityContext != nil {
			rejectSet(c.SecurityContext, linuxContainerFields,
				c.at.As(codes.SecurityContext).Field("securityContext"))
		}
	}
}

// rejectSet reports each of the fields that the struct sets.
func rejectSet(value any, fields []string, at *At) {
	v := reflect.ValueOf(value).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if slices.Contains(fields, name) && !v.Field(i).IsZero() &&
			(v.Field(i).Kind() != reflect.Slice || v.Field(i).Len() > 0) {
			at.Field(name).Forbid("cannot be set for a windows pod",
				"remove the field, or set os.name to linux")
		}
	}
}

// The limits of Windows options.
const (
	longestCredentialSpec = 64 * 1024
	longestUserDomain     = 255
	longestUser           = 104
)

var (
	netBIOSName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$`)
	})
	dnsDomain = sync.OnceValue(func() *regexp.Regexp {
		const label = `[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?`
		return regexp.MustCompile(`^` + label + `(\.` + label + `)*$`)
	})
)

// checkWindows checks the Windows options of a Pod or of a container.
func (p *podChecker) checkWindows(w *corev1.WindowsSecurityContextOptions, at *At) {
	if w == nil {
		return
	}
	if os := p.Spec.OS; os != nil && os.Name == corev1.Linux {
		at.Forbid("windows options cannot be set for a linux pod", "remove it")
	}
	if name := w.GMSACredentialSpecName; name != nil {
		at.Field("gmsaCredentialSpecName").Subdomain(*name)
	}
	if spec := w.GMSACredentialSpec; spec != nil &&
		(*spec == "" || len(*spec) > longestCredentialSpec) {
		at.Field("gmsaCredentialSpec").Reject(
			fmt.Sprintf("must be 1 to %d bytes long", longestCredentialSpec),
			"set a credential spec, or remove the field")
	}
	if user := w.RunAsUserName; user != nil && !isWindowsUser(*user) {
		at.Field("runAsUserName").Invalid(*user, "must be a user, or a domain and a user",
			`use user or domain\user`)
	}
}

// isWindowsUser reports whether the string is a valid user name, with or without a domain.
func isWindowsUser(name string) bool {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return false
	}
	domain, user, hasDomain := strings.Cut(name, `\`)
	if !hasDomain {
		domain, user = "", name
	} else if len(domain) > longestUserDomain || !netBIOSName().MatchString(domain) &&
		!dnsDomain().MatchString(domain) {
		return false
	}
	return user != "" && len(user) <= longestUser && strings.Trim(user, ". ") != "" &&
		!strings.ContainsAny(user, `"/\:;|=,+*?<>@[]`)
}

// checkHostProcess requires that all containers of a Pod run on the host, or none.
func (p *podChecker) checkHostProcess() {
	onHostIn := func(w *corev1.WindowsSecurityContextOptions) *bool {
		return ptr.Deref(w, corev1.WindowsSecurityContextOptions{}).HostProcess
	}
	pod := onHostIn(ptr.Deref(p.Spec.SecurityContext, corev1.PodSecurityContext{}).WindowsOptions)
	onHost := 0
	for _, c := range p.containers() {
		own := onHostIn(ptr.Deref(c.SecurityContext, corev1.SecurityContext{}).WindowsOptions)
		if pod != nil && own != nil && *pod != *own {
			c.at.As(codes.SecurityContext).Field("securityContext", "windowsOptions",
				"hostProcess").Invalid(*own, fmt.Sprintf(
				"pod hostProcess value must be identical if both are specified, was %v", *pod),
				"set it in one of the two only")
		}
		if isSet(own) || own == nil && isSet(pod) {
			onHost++
		}
	}
	at := p.at.As(codes.SecurityContext)
	if onHost > 0 && onHost < len(p.containers()) {
		at.Invalid("", "If pod contains any hostProcess containers then all containers must be "+
			"HostProcess containers", "set hostProcess in all containers, or in none")
	}
	if onHost > 0 && !p.Spec.HostNetwork {
		at.Field("hostNetwork").Invalid(false,
			"hostNetwork must be true if pod contains any hostProcess containers",
			"set hostNetwork to true, or remove hostProcess")
	}
}
