package kubeapi

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release/minor"
)

// podChecker checks the Pod template of a Job as the Job API does. It assumes the default features.
// Fields that the API server fills in may be empty.
type podChecker struct {
	*corev1.PodTemplateSpec
	kubernetes string            // the minor version
	labels     map[string]string // of the Pods; nil judges a template alone
	at         *At               // the Pod's spec
	// volumes are the valid volumes by name, which containers can mount.
	volumes map[string]*corev1.Volume
	// invalidVolumes holds invalid volumes; their mounts are not reported.
	invalidVolumes map[string]bool
	// volumeSteps are the steps to the volumes; nil before the first use.
	volumeSteps []fieldpath.Step
	// listed are the containers; nil before the first use.
	listed []podContainer
}

// CheckTemplate checks the Pod template at the path by the rules of a minor version of Kubernetes.
// With the labels of the Pods that are made of it, it checks these: a template that has more is
// accepted, and its Pods are not.
func CheckTemplate(kubernetes string, labels map[string]string, template *corev1.PodTemplateSpec,
	at *At) {
	p := &podChecker{PodTemplateSpec: template, kubernetes: kubernetes, labels: labels,
		at: at.As(codes.PodSpec).Field("spec")}
	p.checkVolumes()
	if p.since("1.37") {
		p.checkVolumeImages()
	}
	p.checkContainers()
	p.checkNames()
	p.checkScheduling()
	p.checkSecurity()
	p.checkHost()
	p.checkDNS()
	p.checkPodResources()
	p.checkAnnotations(at.As(codes.BadLabel).Field("metadata", "annotations"))
}

// since reports whether the version has what came with another one.
func (p *podChecker) since(name string) bool { return minor.AtLeast(p.kubernetes, name) }

// isSet reports whether a switch is there and on.
func isSet(is *bool) bool { return is != nil && *is }

// checkNames checks the Pod's references by name, and some fields of its spec.
func (p *podChecker) checkNames() {
	spec, names := &p.Spec, p.at.As(codes.BadName)
	subdomain := func(field, name string) {
		if name != "" {
			names.Field(field).Subdomain(name)
		}
	}
	// The API server also accepts the field's former name.
	subdomain("serviceAccountName", cmp.Or(spec.ServiceAccountName, spec.DeprecatedServiceAccount))
	subdomain("nodeName", spec.NodeName)
	subdomain("priorityClassName", spec.PriorityClassName)
	if name := spec.RuntimeClassName; name != nil {
		names.Field("runtimeClassName").Subdomain(*name)
	}
	if spec.Hostname != "" {
		names.Field("hostname").Label(spec.Hostname)
	}
	if spec.Subdomain != "" {
		names.Field("subdomain").Label(spec.Subdomain)
	}
	if name := spec.HostnameOverride; name != nil {
		const longest = 64
		names.Field("hostnameOverride").Subdomain(*name)
		names.Field("hostnameOverride").TooLong(len(*name), longest, "shorten it")
	}
	NilOr(p.at.Field("preemptionPolicy"), spec.PreemptionPolicy, corev1.PreemptLowerPriority,
		corev1.PreemptNever)
	if n := spec.ActiveDeadlineSeconds; n != nil {
		p.at.Field("activeDeadlineSeconds").Between(*n, 1, math.MaxInt32)
	}
	for i, gate := range spec.ReadinessGates {
		p.at.Field("readinessGates").Index(i).Field("conditionType").Qualified(
			string(gate.ConditionType))
	}
	if os := spec.OS; os != nil {
		OneOf(p.at.Field("os", "name"), os.Name, corev1.Linux, corev1.Windows)
	}
	if len(spec.EphemeralContainers) > 0 {
		p.at.Field("ephemeralContainers").Forbid("cannot be set on create", "remove them")
	}
	p.checkResourceClaims()
}

// checkResourceClaims checks the Pod's claims of devices.
func (p *podChecker) checkResourceClaims() {
	claims := p.Spec.ResourceClaims
	steps := nameSteps(len(claims), func(i int) string { return claims[i].Name })
	for i, claim := range claims {
		at := p.at.Field("resourceClaims").Step(steps[i])
		at.Field("name").NamedBy(claim.Name)
		if repeats(claims, i, func(c *corev1.PodResourceClaim) string { return c.Name }) {
			at.Field("name").Duplicate(claim.Name, "rename one of the claims")
		}
		if (claim.ResourceClaimName == nil) == (claim.ResourceClaimTemplateName == nil) {
			detail := "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
			if claim.ResourceClaimName != nil {
				detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may " +
					"be specified"
			}
			at.InvalidObject(detail, "set either resourceClaimName or resourceClaimTemplateName")
		}
		if name := claim.ResourceClaimName; name != nil {
			at.Field("resourceClaimName").Subdomain(*name)
		}
		if name := claim.ResourceClaimTemplateName; name != nil {
			at.Field("resourceClaimTemplateName").Subdomain(*name)
		}
	}
}

// checkHost checks the Pod's use of its node's network, processes and users.
func (p *podChecker) checkHost() {
	spec := &p.Spec
	for _, c := range p.containers()[len(spec.InitContainers):] {
		for i, port := range c.Ports {
			if spec.HostNetwork && port.HostPort != 0 && port.HostPort != port.ContainerPort {
				c.at.As(codes.Port).Field("ports").Index(i).Field("hostPort").Invalid(port.HostPort,
					"must match `containerPort` when `hostNetwork` is true", "remove hostPort")
			}
		}
	}
	if override := p.at.Field("hostnameOverride"); spec.HostnameOverride != nil {
		if spec.HostNetwork {
			override.Both("may not be specified when hostNetwork is true")
		}
		if isSet(spec.SetHostnameAsFQDN) {
			override.Both("may not be specified when setHostnameAsFQDN is true")
		}
	}
	security := p.at.As(codes.SecurityContext)
	if spec.HostPID && isSet(spec.ShareProcessNamespace) {
		at := security
		if !p.since("1.37") {
			at = at.Field("securityContext")
		}
		at.Field("shareProcessNamespace").Invalid(true,
			"ShareProcessNamespace and HostPID cannot both be enabled", "remove one of the two")
	}
	if spec.HostUsers == nil || *spec.HostUsers {
		return
	}
	const noUsers = "when `hostUsers` is false"
	for _, shared := range []struct {
		field string
		set   bool
	}{{"hostNetwork", spec.HostNetwork}, {"hostPID", spec.HostPID}, {"hostIPC", spec.HostIPC}} {
		if shared.set {
			security.Field(shared.field).Both(noUsers)
		}
	}
	for _, c := range p.containers() {
		if len(c.VolumeDevices) > 0 {
			c.at.As(codes.SecurityContext).Field("volumeDevices").Both(noUsers)
		}
	}
}

// The limits of a Pod's resolver (Kubernetes v1.36.3 pkg/apis/core/validation).
const (
	mostNameservers = 3
	mostSearches    = 32
	longestSearches = 2048
)

func (p *podChecker) checkDNS() {
	spec, at := &p.Spec, p.at.Field("dnsConfig")
	EmptyOr(p.at.Field("dnsPolicy"), spec.DNSPolicy, corev1.DNSClusterFirst,
		corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault, corev1.DNSNone)
	servers, searches := at.Field("nameservers"), at.Field("searches")
	if spec.DNSPolicy == corev1.DNSNone &&
		(spec.DNSConfig == nil || len(spec.DNSConfig.Nameservers) == 0) {
		servers.Missing("must provide at least one DNS nameserver when `dnsPolicy` is None",
			"add a server, or use another policy")
	}
	for i, alias := range spec.HostAliases {
		at := p.at.Field("hostAliases").Index(i)
		at.Field("ip").ip(alias.IP)
		for j, name := range alias.Hostnames {
			at.Field("hostnames").Index(j).Subdomain(name)
		}
	}
	config := spec.DNSConfig
	if config == nil {
		return
	}
	const help = "remove some of them"
	if len(config.Nameservers) > mostNameservers {
		servers.Invalid(config.Nameservers,
			fmt.Sprintf("must not have more than %d nameservers", mostNameservers), help)
	}
	for i, server := range config.Nameservers {
		servers.Index(i).ip(server)
	}
	if len(config.Searches) > mostSearches {
		searches.InvalidObject(
			fmt.Sprintf("must not have more than %d search paths", mostSearches), help)
	} else if len(strings.Join(config.Searches, " ")) > longestSearches {
		searches.InvalidObject(fmt.Sprintf("must not have more than %d characters (including "+
			"spaces) in the search list", longestSearches), help)
	}
	isDomain := validation.IsDNS1123SubdomainWithUnderscore
	if !p.since("1.33") {
		isDomain = validation.IsDNS1123Subdomain
	}
	for i, search := range config.Searches {
		if search != "." || !p.since("1.33") {
			searches.Index(i).Valid(search, isDomain(strings.TrimSuffix(search, ".")),
				SubdomainHelp)
		}
	}
	for i, option := range config.Options {
		at.Field("options").Index(i).Required(option.Name)
	}
}

// ip reports an invalid IP address. It rejects leading zeros and IPv4 addresses mapped to IPv6, and
// accepts other spellings.
func (a *At) ip(ip string) {
	if errs := validation.IsValidIPForLegacyField(nil, ip, true, nil); len(errs) > 0 {
		a.Reject(errs[0].ErrorBody(), "use an address such as 10.1.2.3 or fd00::1")
	}
}

// checkAnnotations checks the annotations that the API server reads.
func (p *podChecker) checkAnnotations(at *At) {
	const cost = "controller.kubernetes.io/pod-deletion-cost"
	if value, set := p.Annotations[cost]; set && !isInt32(value) {
		at.Key(cost).Invalid(value, "must be a 32bit integer", "set a whole number")
	}
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror && p.Spec.NodeName == "" {
		at.Key(corev1.MirrorPodAnnotationKey).Invalid("",
			"must set spec.nodeName if mirror pod annotation is set", "remove the annotation")
	}
	p.checkProfileAnnotations(at)
}

// isInt32 reports whether the string is a 32-bit integer in the format of the annotation. A plus
// sign and leading zeros of positive numbers are invalid.
func isInt32(text string) bool {
	n, err := strconv.ParseInt(text, 10, 32)
	return err == nil && (strconv.FormatInt(n, 10) == text || strings.HasPrefix(text, "-"))
}
