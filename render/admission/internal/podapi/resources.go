package podapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	bounded "github.com/trainweld/trainweld/internal/quantity"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
)

// checkResources checks a container's requests, limits and claims.
func (p *podChecker) checkResources(c podContainer) {
	at := c.at.Append(fieldpath.Field("resources"))
	p.checkRequirements(&c.Resources, containerResource, at)
	seen := map[string]bool{}
	for i, claim := range c.Resources.Claims {
		item := at.Append(fieldpath.Field("claims"), fieldpath.Index(i))
		if !apirule.Required(p.report, finding.CodeResources, item.Append(fieldpath.Field("name")), claim.Name) {
			continue
		}
		if claim.Request != "" {
			apirule.DNSLabel(p.report, finding.CodeResources, item.Append(fieldpath.Field("request")), "a request", claim.Request)
		}
		for other := range seen {
			name, request, _ := strings.Cut(other, "/")
			if name == claim.Name && (request == claim.Request || request == "" || claim.Request == "") {
				p.report(finding.CodeResources, item, fmt.Sprintf("the claim %q is there already", claim.Name), "drop one of the two")
				break
			}
		}
		seen[claim.Name+"/"+claim.Request] = true
		if !slices.ContainsFunc(p.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool { return c.Name == claim.Name }) {
			p.report(finding.CodeResources, item, fmt.Sprintf("the Pod has no resource claim %q", claim.Name), "add it to the Pod's resourceClaims, or drop it here")
		}
	}
}

// resourceName returns the reason why a resource name is invalid, or the empty string.
type resourceName func(name corev1.ResourceName) string

const hugePages = "hugepages-"

// containerResource checks a resource name of containers.
func containerResource(name corev1.ResourceName) string {
	if problems := validation.IsQualifiedName(string(name)); len(problems) > 0 {
		return apirule.Brief(problems...)
	}
	if !strings.Contains(string(name), "/") {
		if isHugePages(name) || slices.Contains([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}, name) {
			return ""
		}
		return "containers have cpu, memory, ephemeral-storage and hugepages-<size>; any other resource has a domain before its name"
	}
	if !isNative(name) && !isExtended(name) {
		return "this domain is kept for other names"
	}
	return ""
}

// podResource checks a resource name of whole Pods.
func podResource(name corev1.ResourceName) string {
	if name == corev1.ResourceCPU || name == corev1.ResourceMemory || isHugePages(name) {
		return ""
	}
	return "a Pod as a whole has cpu, memory and hugepages-<size>"
}

func isHugePages(name corev1.ResourceName) bool { return strings.HasPrefix(string(name), hugePages) }

// isNative reports whether the resource has no domain, or the domain of Kubernetes.
func isNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// isExtended reports whether the resource comes from a device plugin.
func isExtended(name corev1.ResourceName) bool {
	return !isNative(name) && !strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) &&
		len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) == 0
}

// canOvercommit reports whether a request may be less than its limit, or have no limit.
func canOvercommit(name corev1.ResourceName) bool { return isNative(name) && !isHugePages(name) }

func (p *podChecker) checkRequirements(r *corev1.ResourceRequirements, problem resourceName, at fieldpath.Path) {
	limits, requests := at.Append(fieldpath.Field("limits")), at.Append(fieldpath.Field("requests"))
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		p.checkQuantity(name, r.Limits[name], problem, limits.Append(fieldpath.Key(string(name))))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request, path := r.Requests[name], requests.Append(fieldpath.Key(string(name)))
		p.checkQuantity(name, request, problem, path)
		limit, limited := r.Limits[name]
		switch {
		case !limited && !canOvercommit(name):
			p.report(finding.CodeResources, limits.Append(fieldpath.Key(string(name))),
				fmt.Sprintf("%s is requested, and needs a limit of the same number", name), fmt.Sprintf("set limits to %s: %s", name, request.String()))
		case limited && !canOvercommit(name) && request.Cmp(limit) != 0:
			p.report(finding.CodeResources, path, fmt.Sprintf("requests %s of %s, and its limit is %s: they must be equal", request.String(), name, limit.String()), "make them equal, or drop the request")
		case limited && request.Cmp(limit) > 0:
			p.report(finding.CodeResources, path, fmt.Sprintf("requests %s of %s, and its limit is %s", request.String(), name, limit.String()), "raise the limit, or lower the request")
		}
	}
	if huge := len(hugePagesOf(r.Limits))+len(hugePagesOf(r.Requests)) > 0; huge && !hasCPUOrMemory(r) {
		p.report(finding.CodeResources, at, "asks for huge pages, and for neither cpu nor memory", "ask for cpu or memory, too")
	}
}

func hugePagesOf(list corev1.ResourceList) []corev1.ResourceName {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(list)), func(name corev1.ResourceName) bool { return !isHugePages(name) })
}

func hasCPUOrMemory(r *corev1.ResourceRequirements) bool {
	for _, list := range []corev1.ResourceList{r.Limits, r.Requests} {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if _, set := list[name]; set {
				return true
			}
		}
	}
	return false
}

func (p *podChecker) checkQuantity(name corev1.ResourceName, q resource.Quantity, problem resourceName, path fieldpath.Path) {
	if why := problem(name); why != "" {
		p.report(finding.CodeResources, path, fmt.Sprintf("%q is not a resource: %s", name, why), "name a resource that there is")
	}
	if q.Sign() < 0 {
		p.report(finding.CodeResources, path, fmt.Sprintf("must not be negative, and is %s", q.String()), "write 0 or more")
	}
	if isExtended(name) && q.MilliValue()%1000 != 0 {
		p.report(finding.CodeResources, path, fmt.Sprintf("is %s, and %s comes in whole numbers only", q.String(), name), "write a whole number")
	}
	if !isHugePages(name) {
		return
	}
	size, err := bounded.Parse(strings.TrimPrefix(string(name), hugePages))
	if err != nil || size.Value() <= 0 || size.MilliValue()%1000 != 0 {
		p.report(finding.CodeResources, path, fmt.Sprintf("%q names no size of a page", name), "write hugepages-2Mi or hugepages-1Gi")
	} else if q.Value()%size.Value() != 0 {
		p.report(finding.CodeResources, path, fmt.Sprintf("is %s, and no multiple of the page's size", q.String()), "write a multiple of "+size.String())
	}
}

// checkResizePolicy checks the policies for resizing a running container.
func (p *podChecker) checkResizePolicy(c podContainer) {
	at := c.at.Append(fieldpath.Field("resizePolicy"))
	for i, policy := range c.ResizePolicy {
		item := at.Append(fieldpath.Index(i))
		apirule.OneOf(p.report, finding.CodeResources, item.Append(fieldpath.Field("resourceName")), policy.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory)
		apirule.OneOf(p.report, finding.CodeResources, item.Append(fieldpath.Field("restartPolicy")), policy.RestartPolicy, corev1.NotRequired, corev1.RestartContainer)
		if slices.ContainsFunc(c.ResizePolicy[:i], func(other corev1.ContainerResizePolicy) bool { return other.ResourceName == policy.ResourceName }) {
			p.report(finding.CodeResources, item, fmt.Sprintf("another policy is for %s, too", policy.ResourceName), "drop one of the two")
		}
		if policy.RestartPolicy == corev1.NotRequired {
			continue
		}
		if p.Spec.RestartPolicy == corev1.RestartPolicyNever || c.init && !c.sidecar() {
			p.report(finding.CodeResources, item.Append(fieldpath.Field("restartPolicy")), "the container does not restart", "write NotRequired")
		}
	}
}

// checkPodResources checks the resources of the whole Pod.
func (p *podChecker) checkPodResources() {
	overhead := corev1.ResourceRequirements{Limits: p.Spec.Overhead}
	p.checkRequirements(&overhead, containerResource, p.field("overhead"))
	r := p.Spec.Resources
	if r == nil {
		return
	}
	at := p.field("resources")
	if p.isWindows() {
		p.report(finding.CodeResources, at, "forbidden in a Windows Pod", "remove the field, or set os.name to linux")
		return
	}
	if len(r.Claims) > 0 {
		p.report(finding.CodeResources, at.Append(fieldpath.Field("claims")), "a Pod as a whole has no claims", "drop them")
	}
	p.checkRequirements(r, podResource, at)
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		whole, sum := r.Requests[name], p.requested(name)
		if sum.Cmp(whole) > 0 && whole.Sign() >= 0 {
			p.report(finding.CodeResources, at.Append(fieldpath.Field("requests"), fieldpath.Key(string(name))),
				fmt.Sprintf("is %s, and the containers request %s together", whole.String(), sum.String()), "raise it, or lower what the containers request")
		}
	}
	for _, c := range p.containers() {
		for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
			limit, whole := c.Resources.Limits[name], r.Limits[name]
			if _, set := r.Limits[name]; set && !c.init && limit.Cmp(whole) > 0 {
				p.report(finding.CodeResources, at.Append(fieldpath.Field("containers"), c.at[len(c.at)-1], fieldpath.Key(string(name)), fieldpath.Field("limits")),
					fmt.Sprintf("is %s, more than the %s of the whole Pod", limit.String(), whole.String()), "lower it, or raise the Pod's")
			}
		}
	}
}

// requested returns the requests of all containers of the Pod together. The sum covers containers and sidecars that
// run at the same time. The largest init container, with the sidecars that already run, counts if it needs more.
func (p *podChecker) requested(name corev1.ResourceName) resource.Quantity {
	var sum, sidecars, most resource.Quantity
	for _, c := range p.containers() {
		q := c.Resources.Requests[name]
		if _, set := c.Resources.Requests[name]; !set {
			q = c.Resources.Limits[name] // the API server fills in the limit
		}
		switch {
		case !c.init:
			sum.Add(q)
		case c.sidecar():
			sidecars.Add(q)
			if sidecars.Cmp(most) > 0 {
				most = sidecars.DeepCopy()
			}
		default:
			then := sidecars.DeepCopy()
			then.Add(q)
			if then.Cmp(most) > 0 {
				most = then
			}
		}
	}
	sum.Add(sidecars)
	if most.Cmp(sum) > 0 {
		return most
	}
	return sum
}
