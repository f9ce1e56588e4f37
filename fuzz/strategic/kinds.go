package strategic

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	mpi "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	ray "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta1"
	lws "sigs.k8s.io/lws/api/leaderworkerset/v1"
)

// kinds are all types of k8s.io/api that an object can have, and types of other APIs that people
// patch.
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
		// which holds a type that contains itself
		reflect.TypeFor[apiextensions.CustomResourceDefinition](),
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

// edges has the fields that few types have. They are values with their own JSON that a patch
// replaces, and merge keys that are numbers or strings. They are also values of any type, and merge
// keys or lists that the encoding may omit.
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
