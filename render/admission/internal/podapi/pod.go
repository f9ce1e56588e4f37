package podapi

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release/minor"
)

// podChecker checks the Pod template of a Job as the Job API does (Kubernetes v1.36.3
// pkg/apis/core/validation). It assumes the default features. Fields that the API server fills in
// may be empty.
type podChecker struct {
	*corev1.PodTemplateSpec
	kubernetes string         // the minor version
	at         fieldpath.Path // of the Pod's spec, in what report reports
	report     apirule.Reporter
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
func CheckTemplate(kubernetes string, template *corev1.PodTemplateSpec, at fieldpath.Path,
	report apirule.Reporter) {
	p := &podChecker{PodTemplateSpec: template, kubernetes: kubernetes, at: fieldpath.Fields("spec"),
		report: apirule.Within(at, report)}
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
	p.checkAnnotations(fieldpath.Fields("metadata", "annotations"))
}

// since reports whether the version has what came with another one.
func (p *podChecker) since(name string) bool { return minor.AtLeast(p.kubernetes, name) }

func (p *podChecker) field(names ...string) fieldpath.Path {
	return p.at.Append(fieldpath.Fields(names...)...)
}

// checkNames checks the Pod's references by name, and some fields of its spec.
func (p *podChecker) checkNames() {
	spec := &p.Spec
	// The API server also accepts the field's former name.
	if name := cmp.Or(spec.ServiceAccountName, spec.DeprecatedServiceAccount); name != "" {
		apirule.DNSSubdomain(p.report, codes.BadName, p.field("serviceAccountName"), name)
	}
	if spec.NodeName != "" {
		apirule.DNSSubdomain(p.report, codes.BadName, p.field("nodeName"), spec.NodeName)
	}
	if spec.PriorityClassName != "" {
		apirule.DNSSubdomain(p.report, codes.BadName, p.field("priorityClassName"),
			spec.PriorityClassName)
	}
	if name := spec.RuntimeClassName; name != nil {
		apirule.DNSSubdomain(p.report, codes.BadName, p.field("runtimeClassName"), *name)
	}
	if spec.Hostname != "" {
		apirule.DNSLabel(p.report, codes.BadName, p.field("hostname"), spec.Hostname)
	}
	if spec.Subdomain != "" {
		apirule.DNSLabel(p.report, codes.BadName, p.field("subdomain"), spec.Subdomain)
	}
	if name := spec.HostnameOverride; name != nil {
		apirule.DNSSubdomain(p.report, codes.BadName, p.field("hostnameOverride"), *name)
		const longest = 64
		if len(*name) > longest {
			p.report(codes.BadName, p.field("hostnameOverride"), apirule.TooLong(longest),
				"shorten it")
		}
	}
	if policy := spec.PreemptionPolicy; policy != nil {
		apirule.OneOf(p.report, codes.PodSpec, p.field("preemptionPolicy"), *policy,
			corev1.PreemptLowerPriority, corev1.PreemptNever)
	}
	if n := spec.ActiveDeadlineSeconds; n != nil {
		apirule.Between(p.report, codes.PodSpec, p.field("activeDeadlineSeconds"), *n, 1,
			math.MaxInt32)
	}
	for i, gate := range spec.ReadinessGates {
		apirule.QualifiedName(p.report, codes.PodSpec,
			p.field("readinessGates").Append(fieldpath.Index(i), fieldpath.Field("conditionType")),
			string(gate.ConditionType))
	}
	if os := spec.OS; os != nil {
		apirule.OneOf(p.report, codes.PodSpec, p.field("os", "name"), os.Name, corev1.Linux,
			corev1.Windows)
	}
	if len(spec.EphemeralContainers) > 0 {
		p.report(codes.PodSpec, p.field("ephemeralContainers"),
			apirule.Forbidden("cannot be set on create"), "remove them")
	}
	p.checkResourceClaims()
}

// checkResourceClaims checks the Pod's claims of devices.
func (p *podChecker) checkResourceClaims() {
	for i, claim := range p.Spec.ResourceClaims {
		at := p.field("resourceClaims").Append(fieldpath.Index(i))
		if apirule.Required(p.report, codes.PodSpec, at.Append(fieldpath.Field("name")),
			claim.Name) {
			apirule.DNSLabel(p.report, codes.PodSpec, at.Append(fieldpath.Field("name")),
				claim.Name)
		}
		if slices.ContainsFunc(p.Spec.ResourceClaims[:i], func(other corev1.PodResourceClaim) bool {
			return other.Name == claim.Name
		}) {
			p.report(codes.PodSpec, at.Append(fieldpath.Field("name")),
				apirule.Duplicate(claim.Name), "rename one of the claims")
		}
		if (claim.ResourceClaimName == nil) == (claim.ResourceClaimTemplateName == nil) {
			detail := "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
			if claim.ResourceClaimName != nil {
				detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may " +
					"be specified"
			}
			p.report(codes.PodSpec, at, apirule.InvalidObject(detail),
				"set either resourceClaimName or resourceClaimTemplateName")
		}
		for field, name := range map[string]*string{"resourceClaimName": claim.ResourceClaimName,
			"resourceClaimTemplateName": claim.ResourceClaimTemplateName} {
			if name != nil {
				apirule.DNSSubdomain(p.report, codes.PodSpec, at.Append(fieldpath.Field(field)),
					*name)
			}
		}
	}
}

// checkHost checks the Pod's use of its node's network, processes and users.
func (p *podChecker) checkHost() {
	spec := &p.Spec
	if spec.HostNetwork {
		for _, c := range p.containers() {
			if c.init {
				continue
			}
			for i, port := range c.Ports {
				if port.HostPort != 0 && port.HostPort != port.ContainerPort {
					p.report(codes.Port,
						c.at.Append(fieldpath.Field("ports"), fieldpath.Index(i),
							fieldpath.Field("hostPort")),
						apirule.Invalid(port.HostPort,
							"must match `containerPort` when `hostNetwork` is true"),
						"remove hostPort")
				}
			}
		}
		if spec.HostnameOverride != nil {
			p.report(codes.PodSpec, p.field("hostnameOverride"),
				apirule.Forbidden("may not be specified when hostNetwork is true"),
				"remove one of the two")
		}
	}
	if spec.HostnameOverride != nil && spec.SetHostnameAsFQDN != nil && *spec.SetHostnameAsFQDN {
		p.report(codes.PodSpec, p.field("hostnameOverride"),
			apirule.Forbidden("may not be specified when setHostnameAsFQDN is true"),
			"remove one of the two")
	}
	if spec.HostPID && spec.ShareProcessNamespace != nil && *spec.ShareProcessNamespace {
		at := p.field("securityContext", "shareProcessNamespace")
		if p.since("1.37") {
			at = p.field("shareProcessNamespace")
		}
		p.report(codes.SecurityContext, at,
			apirule.Invalid(true, "ShareProcessNamespace and HostPID cannot both be enabled"),
			"remove one of the two")
	}
	if spec.HostUsers == nil || *spec.HostUsers {
		return
	}
	for _, shared := range []struct {
		field string
		set   bool
	}{{"hostNetwork", spec.HostNetwork}, {"hostPID", spec.HostPID}, {"hostIPC", spec.HostIPC}} {
		if shared.set {
			p.report(codes.SecurityContext, p.field(shared.field),
				apirule.Forbidden("when `hostUsers` is false"), "remove one of the two")
		}
	}
	for _, c := range p.containers() {
		if len(c.VolumeDevices) > 0 {
			p.report(codes.SecurityContext, c.at.Append(fieldpath.Field("volumeDevices")),
				apirule.Forbidden("when `hostUsers` is false"), "remove one of the two")
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
	spec := &p.Spec
	if spec.DNSPolicy != "" {
		apirule.OneOf(p.report, codes.PodSpec, p.field("dnsPolicy"), spec.DNSPolicy,
			corev1.DNSClusterFirst, corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault,
			corev1.DNSNone)
	}
	if spec.DNSPolicy == corev1.DNSNone &&
		(spec.DNSConfig == nil || len(spec.DNSConfig.Nameservers) == 0) {
		p.report(codes.PodSpec, p.field("dnsConfig", "nameservers"),
			apirule.Missing("must provide at least one DNS nameserver when `dnsPolicy` is None"),
			"add a server, or use another policy")
	}
	for i, alias := range spec.HostAliases {
		at := p.field("hostAliases").Append(fieldpath.Index(i))
		p.checkIP(at.Append(fieldpath.Field("ip")), alias.IP)
		for j, name := range alias.Hostnames {
			apirule.DNSSubdomain(p.report, codes.PodSpec,
				at.Append(fieldpath.Field("hostnames"), fieldpath.Index(j)), name)
		}
	}
	config := spec.DNSConfig
	if config == nil {
		return
	}
	if n := len(config.Nameservers); n > mostNameservers {
		p.report(codes.PodSpec, p.field("dnsConfig", "nameservers"),
			apirule.Invalid(config.Nameservers,
				fmt.Sprintf("must not have more than %d nameservers", mostNameservers)),
			"remove some of them")
	}
	for i, server := range config.Nameservers {
		p.checkIP(p.field("dnsConfig", "nameservers").Append(fieldpath.Index(i)), server)
	}
	searches := p.field("dnsConfig", "searches")
	if len(config.Searches) > mostSearches {
		p.report(codes.PodSpec, searches,
			apirule.InvalidObject(
				fmt.Sprintf("must not have more than %d search paths", mostSearches)),
			"remove some of them")
	} else if len(strings.Join(config.Searches, " ")) > longestSearches {
		p.report(codes.PodSpec, searches,
			apirule.InvalidObject(
				fmt.Sprintf("must not have more than %d characters (including spaces) in the "+
					"search list", longestSearches)), "remove some of them")
	}
	for i, search := range config.Searches {
		if search == "." {
			continue
		}
		apirule.Valid(p.report, codes.PodSpec, searches.Append(fieldpath.Index(i)), search,
			validation.IsDNS1123SubdomainWithUnderscore(strings.TrimSuffix(search, ".")),
			apirule.SubdomainHelp)
	}
	for i, option := range config.Options {
		apirule.Required(p.report, codes.PodSpec,
			p.field("dnsConfig", "options").Append(fieldpath.Index(i)), option.Name)
	}
}

// checkIP reports an invalid IP address. It rejects leading zeros and IPv4 addresses mapped to
// IPv6, and accepts other spellings.
func (p *podChecker) checkIP(path fieldpath.Path, ip string) {
	if errs := validation.IsValidIPForLegacyField(nil, ip, true, nil); len(errs) > 0 {
		p.report(codes.PodSpec, path, errs[0].ErrorBody(),
			"use an address such as 10.1.2.3 or fd00::1")
	}
}

// checkAnnotations checks the annotations that the API server reads.
func (p *podChecker) checkAnnotations(at fieldpath.Path) {
	const cost = "controller.kubernetes.io/pod-deletion-cost"
	if value, set := p.Annotations[cost]; set && !isInt32(value) {
		p.report(codes.BadLabel, at.Append(fieldpath.Key(cost)),
			apirule.Invalid(value, "must be a 32bit integer"), "set a whole number")
	}
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror && p.Spec.NodeName == "" {
		p.report(codes.BadLabel, at.Append(fieldpath.Key(corev1.MirrorPodAnnotationKey)),
			apirule.Invalid("", "must set spec.nodeName if mirror pod annotation is set"),
			"remove the annotation")
	}
	p.checkProfileAnnotations(at)
}

// isInt32 reports whether the string is a 32-bit integer in the format of the annotation. A plus
// sign and leading zeros of positive numbers are invalid.
func isInt32(text string) bool {
	n, err := strconv.ParseInt(text, 10, 32)
	return err == nil && (strconv.FormatInt(n, 10) == text || strings.HasPrefix(text, "-"))
}
