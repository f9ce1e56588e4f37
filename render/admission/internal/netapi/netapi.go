// Package netapi checks the names, ports, keys and unions of Services, Ingresses and
// NetworkPolicies.
//
// The rules are those of Kubernetes v1.36.3 (pkg/apis/core/validation,
// pkg/apis/networking/validation). A field that chooses the member of a union, such as a Service's
// type, belongs to its union. Other rules of these kinds, such as those of addresses and the types
// of paths, are not checked.
package netapi

import (
	"cmp"
	"fmt"
	"net"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
)

// checker reports the mistakes of one object. Its paths are relative to the object's spec.
type checker struct{ report apirule.Reporter }

func newChecker(report apirule.Reporter) checker {
	return checker{apirule.Within(fieldpath.Fields("spec"), report)}
}

func (c checker) port(path fieldpath.Path, message, help string) {
	c.report(codes.Port, path, message, help)
}

func (c checker) union(path fieldpath.Path, message, help string) {
	c.report(codes.TwoSources, path, message, help)
}

func (c checker) protocol(path fieldpath.Path, protocol corev1.Protocol) {
	if protocol != "" {
		apirule.OneOf(c.report, codes.Port, path, protocol, corev1.ProtocolTCP, corev1.ProtocolUDP,
			corev1.ProtocolSCTP)
	}
}

const portHelp = "use lower-case letters, digits and dashes, at least one letter, 15 at most"

// numberOrName checks a port that is a number or a name.
func (c checker) numberOrName(path fieldpath.Path, port intstr.IntOrString) {
	if port.Type == intstr.Int {
		apirule.PortNumber(c.report, codes.Port, path, port.IntVal)
		return
	}
	apirule.Valid(c.report, codes.Port, path, port.StrVal, validation.IsValidPortName(port.StrVal),
		portHelp)
}

// CheckService checks a Service.
func CheckService(service *corev1.Service, report apirule.Reporter) {
	c, spec := newChecker(report), &service.Spec
	kind := cmp.Or(spec.Type, corev1.ServiceTypeClusterIP)
	apirule.OneOf(c.report, codes.TwoSources, fieldpath.Fields("type"), kind,
		corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName,
		corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)
	apirule.OneOf(c.report, codes.TwoSources, fieldpath.Fields("sessionAffinity"),
		cmp.Or(spec.SessionAffinity, corev1.ServiceAffinityNone),
		corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)
	c.servicePorts(spec, kind)
	for _, problem := range metav1validation.ValidateLabels(spec.Selector, nil) {
		c.report(codes.BadLabel, fieldpath.Fields("selector"), problem.ErrorBody(),
			"use a valid label")
	}
	headless := spec.ClusterIP == corev1.ClusterIPNone ||
		len(spec.ClusterIPs) > 0 && spec.ClusterIPs[0] == corev1.ClusterIPNone
	const remove = "remove the field, or change the type of the Service"
	balanced, outside := kind == corev1.ServiceTypeLoadBalancer, len(spec.ExternalIPs) > 0 &&
		kind != corev1.ServiceTypeExternalName
	outside = outside || balanced || kind == corev1.ServiceTypeNodePort
	if headless && (balanced || kind == corev1.ServiceTypeNodePort) {
		c.union(fieldpath.Fields("clusterIP"),
			apirule.Invalid(corev1.ClusterIPNone,
				fmt.Sprintf("may not be set to 'None' for %s services", kind)), remove)
	}
	if kind == corev1.ServiceTypeExternalName {
		for _, f := range []struct {
			name string
			set  bool
		}{
			{"clusterIPs", spec.ClusterIP != "" || len(spec.ClusterIPs) > 0},
			{"ipFamilies", len(spec.IPFamilies) > 0},
			{"ipFamilyPolicy", spec.IPFamilyPolicy != nil},
		} {
			if f.set {
				c.union(fieldpath.Fields(f.name),
					apirule.Forbidden("may not be set for ExternalName services"), remove)
			}
		}
		name := strings.TrimSuffix(spec.ExternalName, ".")
		if apirule.Required(c.report, codes.BadName, fieldpath.Fields("externalName"), name) {
			apirule.DNSSubdomain(c.report, codes.BadName, fieldpath.Fields("externalName"), name)
		}
	} else {
		c.addresses(spec)
	}
	for _, f := range []struct {
		name      string
		set       bool
		condition string
	}{
		{"loadBalancerSourceRanges", !balanced && len(spec.LoadBalancerSourceRanges) > 0,
			"may only be used when `type` is 'LoadBalancer'"},
		{"allocateLoadBalancerNodePorts", !balanced && spec.AllocateLoadBalancerNodePorts != nil,
			"may only be used when `type` is 'LoadBalancer'"},
		{"loadBalancerClass", !balanced && spec.LoadBalancerClass != nil,
			"may only be used when `type` is 'LoadBalancer'"},
		{"externalTrafficPolicy", !outside && spec.ExternalTrafficPolicy != "",
			"may only be set for externally-accessible services"},
		{"healthCheckNodePort", spec.HealthCheckNodePort != 0 &&
			!(balanced && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal),
			"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"},
	} {
		if f.set {
			c.union(fieldpath.Fields(f.name), apirule.Forbidden(f.condition), remove)
		}
	}
	if n := spec.HealthCheckNodePort; n != 0 {
		apirule.PortNumber(c.report, codes.Port, fieldpath.Fields("healthCheckNodePort"), n)
	}
}

// servicePorts checks the ports of a Service.
func (c checker) servicePorts(spec *corev1.ServiceSpec, kind corev1.ServiceType) {
	type number struct {
		protocol corev1.Protocol
		port     int32
	}
	names, ports, nodePorts := map[string]bool{}, map[number]bool{}, map[number]bool{}
	headless := spec.ClusterIP == corev1.ClusterIPNone ||
		len(spec.ClusterIPs) > 0 && spec.ClusterIPs[0] == corev1.ClusterIPNone
	if len(spec.Ports) == 0 && !headless && kind != corev1.ServiceTypeExternalName {
		c.port(fieldpath.Fields("ports"), apirule.Missing(""), "add a port")
	}
	for i := range spec.Ports {
		port := &spec.Ports[i]
		at := fieldpath.Fields("ports").Append(fieldpath.Index(i))
		name := at.Append(fieldpath.Field("name"))
		switch {
		case port.Name == "" && len(spec.Ports) > 1:
			c.port(name, apirule.Missing(""), "name each port of a Service with several")
		case port.Name != "":
			apirule.DNSLabel(c.report, codes.Port, name, port.Name)
			if names[port.Name] {
				c.port(name, apirule.Duplicate(port.Name), "rename one of the ports")
			}
			names[port.Name] = true
		}
		apirule.PortNumber(c.report, codes.Port, at.Append(fieldpath.Field("port")), port.Port)
		c.protocol(at.Append(fieldpath.Field("protocol")), port.Protocol)
		if target := port.TargetPort; target != (intstr.IntOrString{}) &&
			target != intstr.FromString("") {
			c.numberOrName(at.Append(fieldpath.Field("targetPort")), target)
		}
		if port.AppProtocol != nil {
			apirule.QualifiedName(c.report, codes.Port, at.Append(fieldpath.Field("appProtocol")),
				*port.AppProtocol)
		}
		protocol := cmp.Or(port.Protocol, corev1.ProtocolTCP)
		if key := (number{protocol, port.Port}); ports[key] {
			c.port(at, apirule.Duplicate(fmt.Sprintf("%s/%d", protocol, port.Port)),
				"change one of the two, or remove it")
		} else {
			ports[key] = true
		}
		if port.NodePort == 0 {
			continue
		}
		path := at.Append(fieldpath.Field("nodePort"))
		if kind == corev1.ServiceTypeClusterIP {
			c.port(path, apirule.Forbidden("may not be used when `type` is 'ClusterIP'"),
				"remove nodePort, or set type to NodePort")
		}
		if key := (number{protocol, port.NodePort}); nodePorts[key] {
			c.port(path, apirule.Duplicate(port.NodePort), "use another port, or remove nodePort")
		} else {
			nodePorts[key] = true
		}
	}
}

// addresses checks the two forms of a Service's addresses against each other, and duplicates.
func (c checker) addresses(spec *corev1.ServiceSpec) {
	ips := fieldpath.Fields("clusterIPs")
	switch {
	case len(spec.ClusterIPs) == 0:
	case spec.ClusterIP == "":
		c.union(ips, apirule.InvalidObject("must be empty when `clusterIP` is not specified"),
			"set clusterIP to the first of clusterIPs")
	case spec.ClusterIPs[0] != spec.ClusterIP:
		c.union(ips, apirule.InvalidObject("first value must match `clusterIP`"),
			"set clusterIP to the first of clusterIPs")
	}
	if len(spec.ClusterIPs) > 1 && spec.ClusterIPs[0] == corev1.ClusterIPNone {
		c.union(ips, apirule.InvalidObject("'None' must be the first and only value"),
			"keep one of the two")
	}
	seen := map[corev1.IPFamily]bool{}
	for i, family := range spec.IPFamilies {
		if seen[family] {
			c.union(fieldpath.Fields("ipFamilies").Append(fieldpath.Index(i)),
				apirule.Duplicate(family), "remove one of the two")
		}
		seen[family] = true
	}
}

// CheckIngress checks an Ingress.
func CheckIngress(ingress *networkingv1.Ingress, report apirule.Reporter) {
	c, spec := newChecker(report), &ingress.Spec
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		c.union(nil, apirule.InvalidObject("either `defaultBackend` or `rules` must be specified"),
			"add a rule, or a default backend")
	}
	if spec.DefaultBackend != nil {
		c.backend(fieldpath.Fields("defaultBackend"), spec.DefaultBackend)
	}
	if spec.IngressClassName != nil {
		apirule.DNSSubdomain(c.report, codes.BadName, fieldpath.Fields("ingressClassName"),
			*spec.IngressClassName)
	}
	for i, tls := range spec.TLS {
		at := fieldpath.Fields("tls").Append(fieldpath.Index(i))
		if tls.SecretName != "" {
			apirule.DNSSubdomain(c.report, codes.BadName, at.Append(fieldpath.Field("secretName")),
				tls.SecretName)
		}
		for j, host := range tls.Hosts {
			c.host(at.Append(fieldpath.Field("hosts"), fieldpath.Index(j)), host)
		}
	}
	for i, rule := range spec.Rules {
		at := fieldpath.Fields("rules").Append(fieldpath.Index(i))
		if rule.Host != "" {
			if net.ParseIP(rule.Host) != nil {
				c.report(codes.BadName, at.Append(fieldpath.Field("host")),
					apirule.Invalid(rule.Host, "must be a DNS name, not an IP address"),
					"use a DNS name")
			}
			c.host(at.Append(fieldpath.Field("host")), rule.Host)
		}
		if rule.HTTP == nil {
			continue
		}
		paths := at.Append(fieldpath.Fields("http", "paths")...)
		for j := range rule.HTTP.Paths {
			if path := &rule.HTTP.Paths[j]; path.PathType != nil {
				c.backend(paths.Append(fieldpath.Index(j), fieldpath.Field("backend")),
					&path.Backend)
			}
		}
	}
}

// host checks the DNS name of a host, which may begin with a wildcard.
func (c checker) host(at fieldpath.Path, host string) {
	problems := validation.IsDNS1123Subdomain(host)
	if strings.Contains(host, "*") {
		problems = validation.IsWildcardDNS1123Subdomain(host)
	}
	apirule.Valid(c.report, codes.BadName, at, host, problems, "use a DNS name in lower case")
}

func (c checker) backend(at fieldpath.Path, backend *networkingv1.IngressBackend) {
	service := backend.Service
	switch {
	case backend.Resource != nil && service != nil:
		c.union(at, apirule.Invalid("", "cannot set both resource and service backends"),
			"keep one of the two")
	case backend.Resource != nil:
		at, resource := at.Append(fieldpath.Field("resource")), backend.Resource
		if group := resource.APIGroup; group != nil {
			apirule.DNSSubdomain(c.report, codes.BadName, at.Append(fieldpath.Field("apiGroup")),
				*group)
		}
		for _, name := range []struct{ field, value string }{
			{"kind", resource.Kind}, {"name", resource.Name}} {
			path := at.Append(fieldpath.Field(name.field))
			if apirule.Required(c.report, codes.BadName, path, name.value) {
				apirule.Valid(c.report, codes.BadName, path, name.value,
					content.IsPathSegmentName(name.value), "use a name without / and %")
			}
		}
	case service == nil:
		c.union(at, apirule.Invalid("", "resource or service backend is required"), "set service")
	default:
		name, port := at.Append(fieldpath.Fields("service", "name")...),
			at.Append(fieldpath.Fields("service", "port")...)
		if apirule.Required(c.report, codes.BadName, name, service.Name) {
			problems := validation.IsDNS1035Label(service.Name)
			apirule.Valid(c.report, codes.BadName, name, service.Name, problems,
				"use lower-case letters, digits and dashes, beginning with a letter, 63 at most")
		}
		switch p := service.Port; {
		case p.Name != "" && p.Number != 0:
			c.union(at, apirule.Invalid("", "cannot set both port name & port number"),
				"keep one of the two")
		case p.Name != "":
			c.numberOrName(port.Append(fieldpath.Field("name")), intstr.FromString(p.Name))
		case p.Number != 0:
			c.numberOrName(port.Append(fieldpath.Field("number")), intstr.FromInt32(p.Number))
		default:
			c.port(at, apirule.Missing("port name or number is required"), "set service.port")
		}
	}
}

// CheckNetworkPolicy checks a NetworkPolicy.
func CheckNetworkPolicy(policy *networkingv1.NetworkPolicy, report apirule.Reporter) {
	c := newChecker(report)
	c.selector(fieldpath.Fields("podSelector"), &policy.Spec.PodSelector)
	for i := range policy.Spec.Ingress {
		rule := &policy.Spec.Ingress[i]
		at := fieldpath.Fields("ingress").Append(fieldpath.Index(i))
		c.peers(at.Append(fieldpath.Field("from")), rule.From)
		c.policyPorts(at.Append(fieldpath.Field("ports")), rule.Ports)
	}
	for i := range policy.Spec.Egress {
		rule := &policy.Spec.Egress[i]
		at := fieldpath.Fields("egress").Append(fieldpath.Index(i))
		c.peers(at.Append(fieldpath.Field("to")), rule.To)
		c.policyPorts(at.Append(fieldpath.Field("ports")), rule.Ports)
	}
}

func (c checker) selector(at fieldpath.Path, selector *metav1.LabelSelector) {
	if selector != nil {
		apirule.LabelSelector(selector, at, codes.BadLabel, c.report)
	}
}

func (c checker) peers(list fieldpath.Path, peers []networkingv1.NetworkPolicyPeer) {
	for i, peer := range peers {
		at := list.Append(fieldpath.Index(i))
		c.selector(at.Append(fieldpath.Field("podSelector")), peer.PodSelector)
		c.selector(at.Append(fieldpath.Field("namespaceSelector")), peer.NamespaceSelector)
		switch selects := peer.PodSelector != nil || peer.NamespaceSelector != nil; {
		case peer.IPBlock == nil && !selects:
			c.union(at, apirule.Missing("must specify a peer"),
				"set podSelector, namespaceSelector or ipBlock")
		case peer.IPBlock != nil && selects:
			c.union(at, apirule.Forbidden("may not specify both ipBlock and another peer"),
				"make them two peers")
		}
	}
}

func (c checker) policyPorts(list fieldpath.Path, ports []networkingv1.NetworkPolicyPort) {
	for i, port := range ports {
		at := list.Append(fieldpath.Index(i))
		if port.Protocol != nil {
			apirule.OneOf(c.report, codes.Port, at.Append(fieldpath.Field("protocol")),
				*port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
		}
		if port.Port != nil {
			c.numberOrName(at.Append(fieldpath.Field("port")), *port.Port)
		}
		if port.EndPort == nil {
			continue
		}
		end := at.Append(fieldpath.Field("endPort"))
		switch {
		case port.Port == nil:
			c.port(end, apirule.Invalid(*port.EndPort,
				"may not be specified when `port` is not specified"), "set port")
		case port.Port.Type == intstr.String:
			c.port(end, apirule.Invalid(*port.EndPort,
				"may not be specified when `port` is non-numeric"), "use the number of the port")
		default:
			if *port.EndPort < port.Port.IntVal {
				c.port(end, apirule.Invalid(port.Port.IntVal,
					"must be greater than or equal to `port`"), "raise it")
			}
			apirule.PortNumber(c.report, codes.Port, end, *port.EndPort)
		}
	}
}
