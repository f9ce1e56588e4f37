package kubeapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apimachinery "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/codes"
)

// checkResources checks a container's requests, limits and claims.
func (p *podChecker) checkResources(c podContainer) {
	at := c.at.As(codes.Resources).Field("resources")
	checkRequirements(&c.Resources, containerResource, at)
	seen := map[corev1.ResourceClaim]bool{}
	for i, claim := range c.Resources.Claims {
		item := at.Field("claims").Index(i)
		if !item.Field("name").Required(claim.Name) {
			continue
		}
		if claim.Request != "" {
			item.Field("request").Label(claim.Request)
		}
		for other := range seen {
			if other.Name == claim.Name && (other.Request == claim.Request ||
				other.Request == "" || claim.Request == "") {
				item.Duplicate(claim.Name, "remove one of the two")
				break
			}
		}
		seen[claim] = true
		if !slices.ContainsFunc(p.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool {
			return c.Name == claim.Name
		}) {
			item.Reject(notFound(claim.Name),
				"add it to the Pod's resourceClaims, or remove it here")
		}
	}
}

// resourceName returns the reason why a resource name is invalid, or the empty string.
type resourceName func(name corev1.ResourceName) string

const hugePages = "hugepages-"

// containerResource checks a resource name of containers.
func containerResource(name corev1.ResourceName) string {
	problems := validation.IsQualifiedName(string(name))
	switch hasDomain := strings.Contains(string(name), "/"); {
	case len(problems) > 0:
		return Invalid(string(name), strings.Join(problems, "; "))
	case !hasDomain && podResource(name) != "" && name != corev1.ResourceEphemeralStorage:
		return Invalid(string(name), "must be a standard resource for containers")
	case hasDomain && !isNative(name) && !isExtended(name):
		return Invalid(string(name), "doesn't follow extended resource name standard")
	}
	return ""
}

// podResource checks a resource name of whole Pods.
func podResource(name corev1.ResourceName) string {
	if name == corev1.ResourceCPU || name == corev1.ResourceMemory || isHugePages(name) {
		return ""
	}
	return Unsupported(name, corev1.ResourceCPU, corev1.ResourceMemory, hugePages+"*")
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

func checkRequirements(r *corev1.ResourceRequirements, problem resourceName, at *At) {
	huge, others := false, false
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		checkQuantity(name, r.Limits[name], problem, at.Field("limits").Key(string(name)))
		huge = huge || isHugePages(name)
		others = others || name == corev1.ResourceCPU || name == corev1.ResourceMemory
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request, item := r.Requests[name], at.Field("requests").Key(string(name))
		checkQuantity(name, request, problem, item)
		huge = huge || isHugePages(name)
		others = others || name == corev1.ResourceCPU || name == corev1.ResourceMemory
		limit, limited := r.Limits[name]
		switch {
		case !limited && !canOvercommit(name):
			at.Field("limits").Key(string(name)).Missing(
				"Limit must be set for non overcommitable resources",
				fmt.Sprintf("set the limit of %s to the request", name))
		case limited && !canOvercommit(name) && request.Cmp(limit) != 0:
			item.Invalid(request.String(),
				fmt.Sprintf("must be equal to %s limit of %s", name, limit.String()),
				"make them equal, or remove the request")
		case limited && request.Cmp(limit) > 0:
			item.Invalid(request.String(),
				fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String()),
				"raise the limit, or lower the request")
		}
	}
	if huge && !others {
		at.Forbid("HugePages require cpu or memory", "request cpu or memory")
	}
}

func checkQuantity(name corev1.ResourceName, q resource.Quantity, problem resourceName, at *At) {
	if why := problem(name); why != "" {
		at.Reject(why,
			"use cpu, memory, ephemeral-storage, hugepages-<size> or a name with a domain")
	}
	if q.Sign() < 0 {
		at.Invalid(q.String(), apimachinery.IsNegativeErrorMsg, "set 0 or more")
	}
	if isExtended(name) && q.MilliValue()%1000 != 0 {
		at.Invalid(q.String(), "must be an integer", "set a whole number")
	}
	if !isHugePages(name) {
		return
	}
	size, err := tree.ParseQuantity(strings.TrimPrefix(string(name), hugePages))
	if err != nil || size.Value() <= 0 || size.MilliValue()%1000 != 0 {
		at.Invalid(string(name), "must name the size of a page",
			"use hugepages-2Mi or hugepages-1Gi")
	} else if q.Value()%size.Value() != 0 {
		at.Invalid(q.String(),
			fmt.Sprintf("%s is not positive integer multiple of %s", q.String(), name),
			"set a multiple of "+size.String())
	}
}

// checkResizePolicy checks the policies for resizing a running container.
func (p *podChecker) checkResizePolicy(c podContainer) {
	for i, policy := range c.ResizePolicy {
		at := c.at.As(codes.Resources).Field("resizePolicy").Index(i)
		OneOf(at.Field("resourceName"), policy.ResourceName, corev1.ResourceCPU,
			corev1.ResourceMemory)
		OneOf(at.Field("restartPolicy"), policy.RestartPolicy, corev1.NotRequired,
			corev1.RestartContainer)
		if repeats(c.ResizePolicy, i, func(r *corev1.ContainerResizePolicy) corev1.ResourceName {
			return r.ResourceName
		}) {
			at.Duplicate(string(policy.ResourceName), "remove one of the two")
		}
		detail := ""
		switch {
		case policy.RestartPolicy == corev1.NotRequired:
		case p.Spec.RestartPolicy == corev1.RestartPolicyNever:
			detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
		case c.init && !c.sidecar() && p.since("1.36"):
			detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
		}
		if detail != "" {
			at.Field("restartPolicy").Invalid(string(policy.RestartPolicy), detail,
				"use NotRequired")
		}
	}
}

// checkPodResources checks the resources of the whole Pod.
func (p *podChecker) checkPodResources() {
	overhead := corev1.ResourceRequirements{Limits: p.Spec.Overhead}
	of := p.at.As(codes.Resources)
	checkRequirements(&overhead, containerResource, of.Field("overhead"))
	r, at := p.Spec.Resources, of.Field("resources")
	if r == nil {
		return
	}
	if p.isWindows() {
		at.Forbid("may not be set for a windows pod",
			"remove the field, or set os.name to linux")
		return
	}
	if len(r.Claims) > 0 {
		at.Field("claims").Forbid("claims may not be set for Resources at pod-level",
			"remove them")
	}
	checkRequirements(r, podResource, at)
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		whole, sum := r.Requests[name], p.requested(name)
		if sum.Cmp(whole) > 0 && whole.Sign() >= 0 {
			at.Field("requests").Key(string(name)).Invalid(whole.String(),
				"must be greater than or equal to aggregate container requests of "+sum.String(),
				"raise it, or lower the containers' requests")
		}
	}
	for _, c := range p.containers()[len(p.Spec.InitContainers):] {
		for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
			limit, whole := c.Resources.Limits[name], r.Limits[name]
			if _, set := r.Limits[name]; set && limit.Cmp(whole) > 0 {
				at.Field("containers").Step(c.at.step).Key(string(name)).Field("limits").Invalid(
					limit.String(), "must be less than or equal to pod limits of "+whole.String(),
					"lower it, or raise the Pod's")
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
		q, set := c.Resources.Requests[name]
		if !set {
			q = c.Resources.Limits[name] // the API server fills in the limit
		}
		then := sidecars.DeepCopy()
		then.Add(q)
		if !c.init {
			sum.Add(q)
		} else if then.Cmp(most) > 0 {
			most = then.DeepCopy()
		}
		if c.sidecar() {
			sidecars = then
		}
	}
	sum.Add(sidecars)
	if most.Cmp(sum) > 0 {
		return most
	}
	return sum
}
