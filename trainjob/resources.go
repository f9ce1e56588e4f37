package trainjob

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/quantity"
)

// ResourcesPerNode are the resources of every training node, by name: resources_per_node of the SDK's
// trainers. Each is requested, and is the limit.
//
// The SDK's rules (Kubeflow SDK, kubeflow/trainer/backends/kubernetes/utils.py): cpu, memory, gpu,
// storage, ephemeral-storage and names that begin with mig- are taken in any case; gpu is
// nvidia.com/gpu, storage is ephemeral-storage, and mig-1g.5gb is nvidia.com/mig-1g.5gb; two MIG
// profiles, or one beside GPUs, are refused. Beyond them, a name or a quantity that Kubernetes does not
// take is refused, and so are two names of one resource.
type ResourcesPerNode map[string]string

const (
	gpu       = "nvidia.com/gpu"
	mig       = "mig-"
	migPrefix = "nvidia.com/mig-"
	hugePages = "hugepages-"
)

func (o ResourcesPerNode) apply(b *builder) { b.given = maps.Clone(o) }

// plainResources are the names without a domain that the SDK takes in any case.
func plainResources() []string {
	return []string{"cpu", "memory", "gpu", "storage", "ephemeral-storage"}
}

// resourceName is the name in the API of what the SDK takes.
func resourceName(given string) string {
	lower := strings.ToLower(given)
	switch {
	case lower == "gpu":
		return gpu
	case lower == "storage":
		return "ephemeral-storage"
	case slices.Contains(plainResources(), lower):
		return lower
	case strings.HasPrefix(lower, mig):
		return migPrefix + strings.TrimPrefix(lower, mig)
	default:
		return given
	}
}

// resources writes the resources that were given.
func (b *builder) resources() {
	if len(b.given) == 0 {
		return
	}
	at := fieldpath.Fields("spec", "trainer", "resourcesPerNode", "limits")
	list, from := corev1.ResourceList{}, map[string]string{}
	var profiles []string
	for _, given := range slices.Sorted(maps.Keys(b.given)) {
		name := resourceName(given)
		path := at.Append(fieldpath.Key(name))
		if first, twice := from[name]; twice {
			b.refuse(finding.CodeResources, path, "give it once", "%q and %q are one resource, %s", first, given, name)
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
		b.refuse(finding.CodeResources, at, "leave one of them", "several MIG profiles at once are not taken: %s", strings.Join(profiles, ", "))
	}
	if _, gpus := from[gpu]; gpus && len(profiles) > 0 {
		b.refuse(finding.CodeResources, at, "leave one of the two out", "whole GPUs, %s, and parts of one, %s, cannot be had together", gpu, profiles[0])
	}
	b.trainer().ResourcesPerNode = &corev1.ResourceRequirements{Limits: list, Requests: list.DeepCopy()}
}

// quantity reads how much is asked of a resource.
func (b *builder) quantity(path fieldpath.Path, given, name string) (resource.Quantity, bool) {
	extended := strings.Contains(name, "/")
	if !extended && !slices.Contains(plainResources(), name) && !strings.HasPrefix(name, hugePages) {
		help := "name another one by its domain, such as " + gpu
		if near := finding.Nearest(given, plainResources()); near != "" {
			help = "did you mean " + near + "?"
		}
		b.refuse(finding.CodeResources, path, help, "there is no resource %q", given)
		return resource.Quantity{}, false
	}
	for _, problem := range validation.IsQualifiedName(name) {
		b.refuse(finding.CodeResources, path, "name a resource that nodes have, such as "+gpu, "%q is no name of a resource: %s", given, problem)
	}
	q, err := quantity.Parse(b.given[given])
	switch {
	case err != nil:
		b.refuse(finding.CodeResources, path, "write it as 4, 500m, 16Gi or 1G", "%q is no quantity of %s", b.given[given], given)
	case q.Sign() < 0:
		b.refuse(finding.CodeResources, path, "give 0 or more", "%q of %s is less than nothing", b.given[given], given)
	case extended && q.MilliValue()%1000 != 0:
		b.refuse(finding.CodeResources, path, "give a whole number", "%q of %s cannot be had: it comes whole", b.given[given], given)
	default:
		return q, true
	}
	return q, false
}
