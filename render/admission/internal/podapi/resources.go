package podapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apimachinery "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	bounded "github.com/trainweld/trainweld/merge/quantity"
	"github.com/trainweld/trainweld/render/admission/internal/apirule"
	"github.com/trainweld/trainweld/render/codes"
)

// checkResources checks a container's requests, limits and claims.
func (p *podChecker) checkResources(c podContainer) {
	at := c.at.Append(fieldpath.Field("resources"))
	p.checkRequirements(&c.Resources, containerResource, at)
	seen := map[string]bool{}
	for i, claim := range c.Resources.Claims {
		item := at.Append(fieldpath.Field("claims"), fieldpath.Index(i))
		if !apirule.Required(p.report, codes.Resources, item.Append(fieldpath.Field("name")),
			claim.Name) {
			continue
		}
		if claim.Request != "" {
			apirule.DNSLabel(p.report, codes.Resources, item.Append(fieldpath.Field("request")),
				claim.Request)
		}
		for other := range seen {
			name, request, _ := strings.Cut(other, "/")
			if name == claim.Name &&
				(request == claim.Request || request == "" || claim.Request == "") {
				p.report(codes.Resources, item, apirule.Duplicate(claim.Name),
					"remove one of the two")
				break
			}
		}
		seen[claim.Name+"/"+claim.Request] = true
		if !slices.ContainsFunc(p.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool {
			return c.Name == claim.Name
		}) {
			p.report(codes.Resources, item, apirule.NotFound(claim.Name),
				"add it to the Pod's resourceClaims, or remove it here")
		}
	}
}

// resourceName returns the reason why a resource name is invalid, or the empty string.
type resourceName func(name corev1.ResourceName) string

const hugePages = "hugepages-"

// containerResource checks a resource name of containers.
func containerResource(name corev1.ResourceName) string {
	if problems := validation.IsQualifiedName(string(name)); len(problems) > 0 {
		return apirule.Invalid(string(name), strings.Join(problems, "; "))
	}
	if !strings.Contains(string(name), "/") {
		if isHugePages(name) ||
			slices.Contains(
				[]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory,
					corev1.ResourceEphemeralStorage}, name) {
			return ""
		}
		return apirule.Invalid(string(name), "must be a standard resource for containers")
	}
	if !isNative(name) && !isExtended(name) {
		return apirule.Invalid(string(name), "doesn't follow extended resource name standard")
	}
	return ""
}

// podResource checks a resource name of whole Pods.
func podResource(name corev1.ResourceName) string {
	if name == corev1.ResourceCPU || name == corev1.ResourceMemory || isHugePages(name) {
		return ""
	}
	return apirule.Unsupported(name, corev1.ResourceCPU, corev1.ResourceMemory, hugePages+"*")
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), hugePages)
}

// isNative reports whether the resource has no domain, or the domain of Kubernetes.
func isNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") ||
		strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// isExtended reports whether the resource comes from a device plugin.
func isExtended(name corev1.ResourceName) bool {
	return !isNative(name) &&
		!strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) &&
		len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) == 0
}

// canOvercommit reports whether a request may be less than its limit, or have no limit.
func canOvercommit(name corev1.ResourceName) bool { return isNative(name) && !isHugePages(name) }

func (p *podChecker) checkRequirements(r *corev1.ResourceRequirements, problem resourceName,
	at fieldpath.Path) {
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		p.checkQuantity(name, r.Limits[name], problem,
			at.Append(fieldpath.Field("limits"), fieldpath.Key(string(name))))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request, path := r.Requests[name],
			at.Append(fieldpath.Field("requests"), fieldpath.Key(string(name)))
		p.checkQuantity(name, request, problem, path)
		limit, limited := r.Limits[name]
		switch {
		case !limited && !canOvercommit(name):
			p.report(codes.Resources,
				at.Append(fieldpath.Field("limits"), fieldpath.Key(string(name))),
				apirule.Missing("Limit must be set for non overcommitable resources"),
				fmt.Sprintf("set limits to %s: %s", name, request.String()))
		case limited && !canOvercommit(name) && request.Cmp(limit) != 0:
			p.report(codes.Resources, path,
				apirule.Invalid(request.String(),
					fmt.Sprintf("must be equal to %s limit of %s", name, limit.String())),
				"make them equal, or remove the request")
		case limited && request.Cmp(limit) > 0:
			p.report(codes.Resources, path,
				apirule.Invalid(request.String(),
					fmt.Sprintf("must be less than or equal to %s limit of %s", name,
						limit.String())), "raise the limit, or lower the request")
		}
	}
	if (hasHugePages(r.Limits) || hasHugePages(r.Requests)) && !hasCPUOrMemory(r) {
		p.report(codes.Resources, at, apirule.Forbidden("HugePages require cpu or memory"),
			"request cpu or memory")
	}
}

func hasHugePages(list corev1.ResourceList) bool {
	for name := range list {
		if isHugePages(name) {
			return true
		}
	}
	return false
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

func (p *podChecker) checkQuantity(name corev1.ResourceName, q resource.Quantity,
	problem resourceName, path fieldpath.Path) {
	if why := problem(name); why != "" {
		p.report(codes.Resources, path, why,
			"use cpu, memory, ephemeral-storage, hugepages-<size> or a name with a domain")
	}
	if q.Sign() < 0 {
		p.report(codes.Resources, path,
			apirule.Invalid(q.String(), apimachinery.IsNegativeErrorMsg), "set 0 or more")
	}
	if isExtended(name) && q.MilliValue()%1000 != 0 {
		p.report(codes.Resources, path, apirule.Invalid(q.String(), "must be an integer"),
			"set a whole number")
	}
	if !isHugePages(name) {
		return
	}
	size, err := bounded.Parse(strings.TrimPrefix(string(name), hugePages))
	if err != nil || size.Value() <= 0 || size.MilliValue()%1000 != 0 {
		p.report(codes.Resources, path,
			apirule.Invalid(string(name), "must name the size of a page"),
			"use hugepages-2Mi or hugepages-1Gi")
	} else if q.Value()%size.Value() != 0 {
		p.report(codes.Resources, path,
			apirule.Invalid(
				q.String(), fmt.Sprintf("%s is not positive integer multiple of %s", q.String(),
					name)), "set a multiple of "+size.String())
	}
}

// checkResizePolicy checks the policies for resizing a running container.
func (p *podChecker) checkResizePolicy(c podContainer) {
	at := c.at.Append(fieldpath.Field("resizePolicy"))
	for i, policy := range c.ResizePolicy {
		item := at.Append(fieldpath.Index(i))
		apirule.OneOf(p.report, codes.Resources, item.Append(fieldpath.Field("resourceName")),
			policy.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory)
		apirule.OneOf(p.report, codes.Resources, item.Append(fieldpath.Field("restartPolicy")),
			policy.RestartPolicy, corev1.NotRequired, corev1.RestartContainer)
		if slices.ContainsFunc(c.ResizePolicy[:i], func(other corev1.ContainerResizePolicy) bool {
			return other.ResourceName == policy.ResourceName
		}) {
			p.report(codes.Resources, item, apirule.Duplicate(string(policy.ResourceName)),
				"remove one of the two")
		}
		if policy.RestartPolicy == corev1.NotRequired {
			continue
		}
		detail := "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
		if p.Spec.RestartPolicy != corev1.RestartPolicyNever {
			detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
		}
		if p.Spec.RestartPolicy == corev1.RestartPolicyNever ||
			c.init && !c.sidecar() && p.since("1.36") {
			p.report(codes.Resources, item.Append(fieldpath.Field("restartPolicy")),
				apirule.Invalid(string(policy.RestartPolicy), detail), "use NotRequired")
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
		p.report(codes.Resources, at, apirule.Forbidden("may not be set for a windows pod"),
			"remove the field, or set os.name to linux")
		return
	}
	if len(r.Claims) > 0 {
		p.report(codes.Resources, at.Append(fieldpath.Field("claims")),
			apirule.Forbidden("claims may not be set for Resources at pod-level"), "remove them")
	}
	p.checkRequirements(r, podResource, at)
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		whole, sum := r.Requests[name], p.requested(name)
		if sum.Cmp(whole) > 0 && whole.Sign() >= 0 {
			p.report(codes.Resources,
				at.Append(fieldpath.Field("requests"), fieldpath.Key(string(name))),
				apirule.Invalid(whole.String(),
					fmt.Sprintf("must be greater than or equal to aggregate container requests "+
						"of %s", sum.String())), "raise it, or lower the containers' requests")
		}
	}
	for _, c := range p.containers() {
		for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
			limit, whole := c.Resources.Limits[name], r.Limits[name]
			if _, set := r.Limits[name]; set && !c.init && limit.Cmp(whole) > 0 {
				p.report(codes.Resources,
					at.Append(fieldpath.Field("containers"), c.at[len(c.at)-1],
						fieldpath.Key(string(name)), fieldpath.Field("limits")),
					apirule.Invalid(limit.String(),
						fmt.Sprintf("must be less than or equal to pod limits of %s",
							whole.String())), "lower it, or raise the Pod's")
			}
		}
	}
}

// requested returns the requests of all containers of the Pod together. The sum covers containers
// and sidecars that run at the same time. The largest init container, with the sidecars that
// already run, counts if it needs more.
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
