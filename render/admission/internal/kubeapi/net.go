package kubeapi

import (
	"cmp"
	"fmt"
	"net"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release/minor"
)

// The rules of Services, Ingresses and NetworkPolicies here are those of names, ports, keys and
// unions. A field that chooses the member of a union, such as a Service's type, belongs to its
// union. Other rules of these kinds, such as those of addresses and the types of paths, are not
// checked.

// CheckService checks a Service.
func CheckService(service *corev1.Service, object *At) {
	spec, at := &service.Spec, object.As(codes.TwoSources).Field("spec")
	names := at.As(codes.BadName)
	kind := cmp.Or(spec.Type, corev1.ServiceTypeClusterIP)
	OneOf(at.Field("type"), kind, corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName,
		corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)
	EmptyOr(at.Field("sessionAffinity"), spec.SessionAffinity, corev1.ServiceAffinityClientIP,
		corev1.ServiceAffinityNone)
	checkServicePorts(spec, kind, at.As(codes.Port))
	for _, problem := range metav1validation.ValidateLabels(spec.Selector, nil) {
		at.As(codes.BadLabel).Field("selector").Reject(problem.ErrorBody(), "use a valid label")
	}
	const remove = "remove the field, or change the type of the Service"
	external := kind == corev1.ServiceTypeExternalName
	balanced := kind == corev1.ServiceTypeLoadBalancer
	outside := balanced || kind == corev1.ServiceTypeNodePort
	if isHeadless(spec) && outside {
		at.Field("clusterIP").Invalid(corev1.ClusterIPNone,
			fmt.Sprintf("may not be set to 'None' for %s services", kind), remove)
	}
	outside = outside || len(spec.ExternalIPs) > 0 && !external
	const ofExternal = "may not be set for ExternalName services"
	const ofBalanced = "may only be used when `type` is 'LoadBalancer'"
	forbid := func(field string, set bool, condition string) {
		if set {
			at.Field(field).Forbid(condition, remove)
		}
	}
	if external {
		forbid("clusterIPs", spec.ClusterIP != "" || len(spec.ClusterIPs) > 0, ofExternal)
		forbid("ipFamilies", len(spec.IPFamilies) > 0, ofExternal)
		forbid("ipFamilyPolicy", spec.IPFamilyPolicy != nil, ofExternal)
		name := strings.TrimSuffix(spec.ExternalName, ".")
		if names.Field("externalName").Required(name) {
			names.Field("externalName").Subdomain(name)
		}
	} else {
		checkAddresses(spec, at)
	}
	forbid("loadBalancerSourceRanges", !balanced && len(spec.LoadBalancerSourceRanges) > 0,
		ofBalanced)
	forbid("allocateLoadBalancerNodePorts",
		!balanced && spec.AllocateLoadBalancerNodePorts != nil, ofBalanced)
	forbid("loadBalancerClass", !balanced && spec.LoadBalancerClass != nil, ofBalanced)
	forbid("externalTrafficPolicy", !outside && spec.ExternalTrafficPolicy != "",
		"may only be set for externally-accessible services")
	local := spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	forbid("healthCheckNodePort", spec.HealthCheckNodePort != 0 && !(balanced && local),
		"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")
	if n := spec.HealthCheckNodePort; n != 0 {
		at.As(codes.Port).Field("healthCheckNodePort").Port(n)
	}
}

// isHeadless reports whether a Service has no address.
func isHeadless(spec *corev1.ServiceSpec) bool {
	return spec.ClusterIP == corev1.ClusterIPNone ||
		len(spec.ClusterIPs) > 0 && spec.ClusterIPs[0] == corev1.ClusterIPNone
}

// checkServicePorts checks the ports of a Service.
func checkServicePorts(spec *corev1.ServiceSpec, kind corev1.ServiceType, service *At) {
	list, seen := service.Field("ports"), map[string]bool{}
	isTwin := func(of string, protocol corev1.Protocol, port int32) bool {
		key := fmt.Sprintf("%s %s/%d", of, protocol, port)
		is := seen[key]
		seen[key] = true
		return is
	}
	if len(spec.Ports) == 0 && !isHeadless(spec) && kind != corev1.ServiceTypeExternalName {
		list.Missing("", "add a port")
	}
	for i := range spec.Ports {
		port, at := &spec.Ports[i], list.Index(i)
		switch {
		case port.Name == "" && len(spec.Ports) > 1:
			at.Field("name").Missing("", "name each port of a Service with several")
		case port.Name != "":
			at.Field("name").Label(port.Name)
			if repeats(spec.Ports, i, func(p *corev1.ServicePort) string { return p.Name }) {
				at.Field("name").Duplicate(port.Name, "rename one of the ports")
			}
		}
		at.Field("port").Port(port.Port)
		checkProtocol(at, port.Protocol)
		if target := port.TargetPort; target != (intstr.IntOrString{}) &&
			target != intstr.FromString("") {
			at.Field("targetPort").NumberOrName(target, portHelp)
		}
		if port.AppProtocol != nil {
			at.Field("appProtocol").Qualified(*port.AppProtocol)
		}
		protocol := cmp.Or(port.Protocol, corev1.ProtocolTCP)
		if isTwin("port", protocol, port.Port) {
			at.Duplicate(fmt.Sprintf("%s/%d", protocol, port.Port),
				"change one of the two, or remove it")
		}
		if port.NodePort == 0 {
			continue
		}
		if kind == corev1.ServiceTypeClusterIP {
			at.Field("nodePort").Forbid("may not be used when `type` is 'ClusterIP'",
				"remove nodePort, or set type to NodePort")
		}
		if isTwin("node", protocol, port.NodePort) {
			at.Field("nodePort").Duplicate(port.NodePort, "use another port, or remove nodePort")
		}
	}
}

// checkAddresses checks the two forms of a Service's addresses against each other, and duplicates.
func checkAddresses(spec *corev1.ServiceSpec, at *At) {
	ips := at.Field("clusterIPs")
	const help = "set clusterIP to the first of clusterIPs"
	switch {
	case len(spec.ClusterIPs) == 0:
	case spec.ClusterIP == "":
		ips.InvalidObject("must be empty when `clusterIP` is not specified", help)
	case spec.ClusterIPs[0] != spec.ClusterIP:
		ips.InvalidObject("first value must match `clusterIP`", help)
	}
	if len(spec.ClusterIPs) > 1 && spec.ClusterIPs[0] == corev1.ClusterIPNone {
		ips.InvalidObject("'None' must be the first and only value", "keep one of the two")
	}
	for i, family := range spec.IPFamilies {
		if repeats(spec.IPFamilies, i, func(f *corev1.IPFamily) corev1.IPFamily { return *f }) {
			at.Field("ipFamilies").Index(i).Duplicate(family, "remove one of the two")
		}
	}
}

// CheckIngress checks an Ingress by the rules of a minor version of Kubernetes.
func CheckIngress(kubernetes string, ingress *networkingv1.Ingress, object *At) {
	spec, at := &ingress.Spec, object.As(codes.TwoSources).Field("spec")
	names := at.As(codes.BadName)
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		at.InvalidObject("either `defaultBackend` or `rules` must be specified",
			"add a rule, or a default backend")
	}
	if spec.DefaultBackend != nil {
		checkBackend(kubernetes, spec.DefaultBackend, at.Field("defaultBackend"))
	}
	if spec.IngressClassName != nil {
		names.Field("ingressClassName").Subdomain(*spec.IngressClassName)
	}
	for i, tls := range spec.TLS {
		if tls.SecretName != "" {
			names.Field("tls").Index(i).Field("secretName").Subdomain(tls.SecretName)
		}
		for j, host := range tls.Hosts {
			names.Field("tls").Index(i).Field("hosts").Index(j).host(host)
		}
	}
	for i, rule := range spec.Rules {
		host := names.Field("rules").Index(i).Field("host")
		if net.ParseIP(rule.Host) != nil {
			host.Invalid(rule.Host, "must be a DNS name, not an IP address", "use a DNS name")
		}
		if rule.Host != "" {
			host.host(rule.Host)
		}
		if rule.HTTP == nil {
			continue
		}
		paths := at.Field("rules").Index(i).Field("http", "paths")
		for j := range rule.HTTP.Paths {
			if path := &rule.HTTP.Paths[j]; path.PathType != nil {
				checkBackend(kubernetes, &path.Backend, paths.Index(j).Field("backend"))
			}
		}
	}
}

// host checks the DNS name of a host, which may begin with a wildcard.
func (a *At) host(host string) {
	problems := validation.IsDNS1123Subdomain(host)
	if strings.Contains(host, "*") {
		problems = validation.IsWildcardDNS1123Subdomain(host)
	}
	a.Valid(host, problems, "use a DNS name in lower case")
}

// checkBackend checks the backend of a path. The name of a Service may begin with a digit since
// 1.36 (gate RelaxedServiceNameValidation).
func checkBackend(kubernetes string, backend *networkingv1.IngressBackend, at *At) {
	service, names := backend.Service, at.As(codes.BadName)
	switch {
	case backend.Resource != nil && service != nil:
		at.Invalid("", "cannot set both resource and service backends", "keep one of the two")
	case backend.Resource != nil:
		names, resource := names.Field("resource"), backend.Resource
		if group := resource.APIGroup; group != nil {
			names.Field("apiGroup").Subdomain(*group)
		}
		for _, name := range []struct{ field, value string }{
			{"kind", resource.Kind}, {"name", resource.Name}} {
			if at := names.Field(name.field); at.Required(name.value) {
				at.Valid(name.value, content.IsPathSegmentName(name.value),
					"use a name without / and %")
			}
		}
	case service == nil:
		at.Invalid("", "resource or service backend is required", "set service")
	default:
		name := names.Field("service", "name")
		switch {
		case !name.Required(service.Name):
		case minor.AtLeast(kubernetes, "1.36"):
			name.Label(service.Name)
		default:
			name.Valid(service.Name, validation.IsDNS1035Label(service.Name),
				"use lower-case letters, digits and dashes, beginning with a letter, 63 at most")
		}
		ports := at.As(codes.Port)
		port := ports.Field("service", "port")
		switch p := service.Port; {
		case p.Name != "" && p.Number != 0:
			at.Invalid("", "cannot set both port name & port number", "keep one of the two")
		case p.Name != "":
			port.Field("name").NumberOrName(intstr.FromString(p.Name), portHelp)
		case p.Number != 0:
			port.Field("number").Port(p.Number)
		default:
			ports.Missing("port name or number is required", "set service.port")
		}
	}
}

// CheckNetworkPolicy checks a NetworkPolicy.
func CheckNetworkPolicy(policy *networkingv1.NetworkPolicy, object *At) {
	at := object.As(codes.BadLabel).Field("spec")
	at.Field("podSelector").Selector(&policy.Spec.PodSelector)
	for i, rule := range policy.Spec.Ingress {
		checkPeers(rule.From, at.Field("ingress").Index(i).Field("from"))
		checkPolicyPorts(rule.Ports, at.Field("ingress").Index(i).Field("ports"))
	}
	for i, rule := range policy.Spec.Egress {
		checkPeers(rule.To, at.Field("egress").Index(i).Field("to"))
		checkPolicyPorts(rule.Ports, at.Field("egress").Index(i).Field("ports"))
	}
}

func checkPeers(peers []networkingv1.NetworkPolicyPeer, list *At) {
	for i, peer := range peers {
		at := list.Index(i)
		if peer.PodSelector != nil {
			at.Field("podSelector").Selector(peer.PodSelector)
		}
		if peer.NamespaceSelector != nil {
			at.Field("namespaceSelector").Selector(peer.NamespaceSelector)
		}
		at = at.As(codes.TwoSources)
		switch selects := peer.PodSelector != nil || peer.NamespaceSelector != nil; {
		case peer.IPBlock == nil && !selects:
			at.Missing("must specify a peer", "set podSelector, namespaceSelector or ipBlock")
		case peer.IPBlock != nil && selects:
			at.Forbid("may not specify both ipBlock and another peer", "make them two peers")
		}
	}
}

func checkPolicyPorts(ports []networkingv1.NetworkPolicyPort, list *At) {
	for i, port := range ports {
		at := list.As(codes.Port).Index(i)
		NilOr(at.Field("protocol"), port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP,
			corev1.ProtocolSCTP)
		if port.Port != nil {
			at.Field("port").NumberOrName(*port.Port, portHelp)
		}
		if port.EndPort == nil {
			continue
		}
		end := at.Field("endPort")
		switch {
		case port.Port == nil:
			end.Invalid(*port.EndPort, "may not be specified when `port` is not specified",
				"set port")
		case port.Port.Type == intstr.String:
			end.Invalid(*port.EndPort, "may not be specified when `port` is non-numeric",
				"use the number of the port")
		default:
			if *port.EndPort < port.Port.IntVal {
				end.Invalid(port.Port.IntVal, "must be greater than or equal to `port`", "raise it")
			}
			end.Port(*port.EndPort)
		}
	}
}
