package strategic_test

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	mpi "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	ray "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta1"
	lws "sigs.k8s.io/lws/api/leaderworkerset/v1"

	"github.com/trainweld/trainweld/cmd/internal/builtin"
)

// kinds are all types of k8s.io/api that an object can have, and types of other APIs that people patch.
var kinds = sync.OnceValue(func() []reflect.Type {
	seen := map[reflect.Type]bool{}
	for _, t := range scheme.Scheme.AllKnownTypes() {
		seen[t] = t.Kind() == reflect.Struct
	}
	for _, t := range []reflect.Type{
		reflect.TypeFor[jobset.JobSet](),
		reflect.TypeFor[lws.LeaderWorkerSet](),
		reflect.TypeFor[mpi.MPIJob](),
		reflect.TypeFor[ray.RayCluster](),
		reflect.TypeFor[kueue.Workload](),
		edgesType,
		reflect.TypeFor[apiextensions.CustomResourceDefinition](), // which holds a type that contains itself
	} {
		seen[t] = true
	}
	var all []reflect.Type
	for t, ok := range seen {
		if ok {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b reflect.Type) int {
		return strings.Compare(a.PkgPath()+a.Name(), b.PkgPath()+b.Name())
	})
	return all
})

var edgesType = reflect.TypeFor[edges]()

// edges has the fields that few types have. They are values with their own JSON that a patch replaces, and merge keys that are
// numbers or strings. They are also values of any type, and merge keys or lists that the encoding may omit.
type edges struct {
	Raw     runtime.RawExtension  `json:"raw,omitzero" patchStrategy:"replace"`
	Pointer *runtime.RawExtension `json:"pointer,omitempty" patchStrategy:"replace"`
	Merged  *runtime.RawExtension `json:"merged,omitempty"`
	Ranks   map[int]string        `json:"ranks,omitempty" patchStrategy:"replace"`
	Amount  *resource.Quantity    `json:"amount,omitempty" patchStrategy:"replace"`
	Target  *intstr.IntOrString   `json:"target,omitempty" patchStrategy:"replace"`
	Any     any                   `json:"any,omitempty"`
	Anys    []any                 `json:"anys,omitempty"`
	Frees   map[string]any        `json:"frees,omitempty"`
	Data    []byte                `json:"data,omitempty"`
	Rows    []edgeRow             `json:"rows,omitempty"`
	Tables  []edgeTable           `json:"tables,omitempty"`
	Ports   []edgePort            `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	Zeros   []edgePort            `json:"zeros,omitzero" patchStrategy:"merge" patchMergeKey:"port"`
	Names   []edgeName            `json:"names,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Numbers []edgeNumber          `json:"numbers,omitempty" patchStrategy:"merge" patchMergeKey:"port"`
	Tags    []string              `json:"tags,omitempty" patchStrategy:"merge"`
	Ends    []string              `json:"ends,omitzero" patchStrategy:"merge"`
	Args    []string              `json:"args,omitzero"`
	Labels  map[string]string     `json:"labels,omitzero"`
	Always  []string              `json:"always" patchStrategy:"merge"`
	Inner   *edges                `json:"inner,omitempty"`
}

type edgeRow struct {
	Name   string                `json:"name,omitempty"`
	Raw    *runtime.RawExtension `json:"raw,omitempty"`
	Labels map[string]string     `json:"labels,omitempty"`
	Any    any                   `json:"any,omitempty"`
	Rows   []edgeRow             `json:"rows,omitempty"`
}

type edgeTable struct {
	Cells map[string]*edgeRow `json:"cells,omitempty"`
}

type edgePort struct {
	Port intstr.IntOrString `json:"port"`
	Note string             `json:"note,omitempty"`
	Rows []edgeRow          `json:"rows,omitempty"`
}

type edgeName struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

type edgeNumber struct {
	Port int32  `json:"port,omitempty"`
	Note string `json:"note,omitempty"`
}

// TestBuiltin takes the kinds from the scheme, so that the table misses none that an API server stores. A version is left out if all
// its kinds are removed, if it is alpha, or if its kinds are requests.
func TestBuiltin(t *testing.T) {
	stored := map[schema.GroupVersion]bool{}
	known := scheme.Scheme.AllKnownTypes()
	for gvk := range known {
		object, err := scheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		if _, isObject := object.(metav1.Object); isObject && isStored(gvk, object) {
			stored[gvk.GroupVersion()] = true
		}
	}
	objects := 0
	for gvk, want := range known {
		object, _ := scheme.Scheme.New(gvk)
		apiVersion, kind := gvk.ToAPIVersionAndKind()
		got, ok := builtin.TypeOf(apiVersion, kind)
		_, isObject := object.(metav1.Object)
		isObject = isObject && stored[gvk.GroupVersion()]
		if ok != isObject || ok && got != want {
			t.Errorf("TypeOf(%q, %q) = %v, %v, want %v, %v", apiVersion, kind, got, ok, want, isObject)
		}
		internal := gvk.Version == runtime.APIVersionInternal // of the scheme, not of a server
		if lacks := !stored[gvk.GroupVersion()]; builtin.Lacks(apiVersion) != lacks && !internal {
			t.Errorf("Lacks(%q) = %v", apiVersion, !lacks)
		}
		if isObject {
			objects++
		}
	}
	if objects < 80 {
		t.Errorf("the scheme has %d kinds of objects that a server stores: too few", objects)
	}
	for _, other := range []string{"v1", "apps/v1", "example.com/v1", "jobset.x-k8s.io/v1alpha2", "a/b/c"} {
		if builtin.Lacks(other) {
			t.Errorf("Lacks(%q)", other)
		}
	}
}

// isStored reports whether a server of this release can store objects of a kind.
func isStored(gvk schema.GroupVersionKind, object runtime.Object) bool {
	if strings.Contains(gvk.Version, "alpha") || gvk.Group == "authentication.k8s.io" || gvk.Group == "authorization.k8s.io" {
		return false
	}
	if !strings.Contains(gvk.Version, "beta") {
		return true
	}
	removed, ok := object.(interface{ APILifecycleRemoved() (major, minor int) })
	if !ok {
		return false
	}
	const release = 36 // of k8s.io/api in go.mod
	_, minor := removed.APILifecycleRemoved()
	return minor > release
}
