package trainjob

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge/quantity"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/nearest"
)

// ResourcesPerNode are the resources of every training node by name, resources_per_node of the
// SDK's trainers. Each value is both the request and the limit.
//
// These are the SDK's rules (Kubeflow SDK, kubeflow/trainer/backends/kubernetes/utils.py). Names
// ignore case for cpu, memory, gpu, storage, ephemeral-storage and the prefix mig-. The name gpu
// becomes nvidia.com/gpu, storage becomes ephemeral-storage, and mig-1g.5gb becomes
// nvidia.com/mig-1g.5gb. Two MIG profiles, or one with GPUs, are an error. A name or a quantity
// that Kubernetes rejects is also an error, as are two names of one resource.
type ResourcesPerNode map[string]string

const (
	gpu       = "nvidia.com/gpu"
	mig       = "mig-"
	migPrefix = "nvidia.com/mig-"
	hugePages = "hugepages-"
)

func (o ResourcesPerNode) apply(b *builder) { b.given = maps.Clone(o) }

// caseInsensitiveResources returns the names without a domain for which the SDK ignores case.
func caseInsensitiveResources() []string {
	return []string{"cpu", "memory", "gpu", "storage", "ephemeral-storage"}
}

// apiResourceName returns the API's name of a resource of the SDK.
func apiResourceName(given string) string {
	lower := strings.ToLower(given)
	switch {
	case lower == "gpu":
		return gpu
	case lower == "storage":
		return "ephemeral-storage"
	case slices.Contains(caseInsensitiveResources(), lower):
		return lower
	case strings.HasPrefix(lower, mig):
		return migPrefix + strings.TrimPrefix(lower, mig)
	default:
		return given
	}
}

// resources sets the given resources.
func (b *builder) resources() {
	if len(b.given) == 0 {
		return
	}
	at := fieldpath.Fields("spec", "trainer", "resourcesPerNode", "limits")
	list, from := corev1.ResourceList{}, map[string]string{}
	var profiles []string
	for _, given := range slices.Sorted(maps.Keys(b.given)) {
		name := apiResourceName(given)
		path := at.Append(fieldpath.Key(name))
		if first, isDuplicate := from[name]; isDuplicate {
			b.reject(codes.Resources, path, "set it once", "%q and %q are one resource, %s", first,
				given, name)
			continue
		}
		from[name] = given
		if strings.HasPrefix(name, migPrefix) {
			profiles = append(profiles, name)
		}
		if q, ok := b.quantity(path, given, name); ok {
			list[corev1.ResourceName(name)] = q
		}
	}
	if len(profiles) > 1 {
		b.reject(codes.Resources, at, "keep one of them",
			"several MIG profiles exclude each other: %s", strings.Join(profiles, ", "))
	}
	if _, gpus := from[gpu]; gpus && len(profiles) > 0 {
		b.reject(codes.Resources, at, "remove one of the two",
			"whole GPUs, %s, and parts of one, %s, exclude each other", gpu, profiles[0])
	}
	b.trainer().ResourcesPerNode = &corev1.ResourceRequirements{
		Limits: list, Requests: list.DeepCopy()}
}

// quantity parses the quantity of a resource.
func (b *builder) quantity(path fieldpath.Path, given, name string) (resource.Quantity, bool) {
	extended := strings.Contains(name, "/")
	if !extended && !slices.Contains(caseInsensitiveResources(), name) &&
		!strings.HasPrefix(name, hugePages) {
		help := "name another one by its domain, such as " + gpu
		if near := nearest.To(given, caseInsensitiveResources()); near != "" {
			help = "did you mean " + near + "?"
		}
		b.reject(codes.Resources, path, help, "unknown resource %q", given)
		return resource.Quantity{}, false
	}
	for _, problem := range validation.IsQualifiedName(name) {
		b.reject(codes.Resources, path, "name a resource that nodes have, such as "+gpu,
			"invalid resource name %q: %s", given, problem)
	}
	q, err := quantity.Parse(b.given[given])
	switch {
	case err != nil:
		b.reject(codes.Resources, path, "use a quantity such as 4, 500m, 16Gi or 1G",
			"invalid value %q of %s", b.given[given], given)
	case q.Sign() < 0:
		b.reject(codes.Resources, path, "use 0 or more",
			"invalid value %q of %s: must be at least 0", b.given[given], given)
	case extended && q.MilliValue()%1000 != 0:
		b.reject(codes.Resources, path, "use a whole number",
			"invalid value %q of %s: must be a whole number", b.given[given], given)
	default:
		return q, true
	}
	return q, false
}
