package manifest

import (
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// identity identifies an object by the strings in its file.
type identity struct {
	apiVersion, kind, namespace, name string
}

func (id identity) object() fieldpath.Object {
	return fieldpath.Object{Kind: id.kind, Namespace: id.namespace, Name: id.name}
}

// group returns the parts of the apiVersion. The core group is empty.
func (id identity) group() (group, version string) {
	if group, version, ok := strings.Cut(id.apiVersion, "/"); ok {
		return group, version
	}
	return "", id.apiVersion
}

// inList completes the identity of an item from its typed List.
func (id identity) inList(of identity) identity {
	if id.apiVersion == "" && id.kind == "" {
		id.apiVersion, id.kind = of.apiVersion, of.kind
	}
	if of.name != "" && id.name == "" {
		id.namespace, id.name = of.namespace, of.name
	}
	return id
}

// trial returns the identity of a trial of an OptimizationJob at a node. The template lacks it: a
// controller gives each trial a name.
func (id identity) trial(r *source.Reading, n *yaml.Node) identity {
	name := id.name
	if _, metadata := r.Lookup(n, "metadata"); name == "" && metadata != nil {
		_, prefix := r.Lookup(source.Target(metadata), "generateName")
		name = strings.TrimSuffix(r.Word(prefix), "-")
	}
	if name != "" {
		name += "-trial"
	}
	return identity{apiVersion: id.apiVersion, kind: trainer.TrainJobKind,
		namespace: id.namespace, name: name}
}

// item returns the default identity of a List's items. It is empty for the general v1 List.
func (id identity) item() identity {
	kind := strings.TrimSuffix(id.kind, "List")
	if kind == "" {
		return identity{}
	}
	return identity{apiVersion: id.apiVersion, kind: kind}
}

// neighbors are kinds of other projects that stand beside TrainJobs. Commands read some of them.
func neighbors() []readable {
	return []readable{
		{group: claimGroup, version: "v1", kind: "ResourceClaim"},
		{group: claimGroup, version: "v1", kind: "ResourceClaimTemplate"},
		{group: queueGroup, version: "v1beta2", kind: "LocalQueue"},
		{group: queueGroup, version: "v1beta2", kind: "ResourceFlavor"},
		{group: queueGroup, version: "v1beta2", kind: "Workload"},
	}
}

// isClaim reports whether the object claims devices.
func (id identity) isClaim() bool {
	group, _ := id.group()
	return group == claimGroup && (id.kind == "ResourceClaim" || id.kind == "ResourceClaimTemplate")
}

const (
	trainerGroup = "trainer.kubeflow.org"
	jobsetGroup  = "jobset.x-k8s.io"
	claimGroup   = "resource.k8s.io"
	queueGroup   = "kueue.x-k8s.io"
	// oldVersion was never released, but published guides contain it by mistake.
	oldVersion = "v2alpha1"
)

// readable is a kind that this package decodes.
type readable struct {
	group, version, kind string
	make                 func() any
}

func (r *readable) apiVersion() string { return strings.TrimPrefix(r.group+"/"+r.version, "/") }

// name sets apiVersion and kind. They differ in an object of another version, and are missing in
// items of a typed List.
func (r *readable) name(object any) {
	if o, ok := object.(runtime.Object); ok {
		o.GetObjectKind().SetGroupVersionKind(
			gvk.GroupVersionKind{Group: r.group, Version: r.version, Kind: r.kind})
	}
}

// Kind is a further kind for DecodeKinds.
type Kind struct {
	Group, Version, Kind string
	// New returns an empty object, a pointer to a struct.
	New func() any
	// Others maps the versions of this kind that another project defines to the remedy for their
	// objects.
	Others map[string]string
}

// patchKind is the kind of a RuntimePatch, which has none in the API.
const patchKind = "RuntimePatch"

// unread are the kinds of the Trainer's group that this package skips, except for the TrainJob in
// them. No released controller reads them.
var unread = []string{"OptimizationJob"}
