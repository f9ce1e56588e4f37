package fuzz

import (
	"reflect"
	"strings"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// node is one field of a document by its path, such as spec.runtimePatches[].manager.
type node struct {
	path     string
	name     string       // the name in JSON; "" for an item of a list and a value of a map
	key      string       // the field by its Go type, whatever its path: Container.image
	rejected string       // why no accepted document has the field
	owner    string       // the Go type that has the field: Container, v1alpha2.Network
	typ      reflect.Type // without pointers
	optional bool         // whether the Go type omits it when it is empty
	fields   []*node      // the fields of a struct
	item     *node        // the items of a list, the values of a map
	up       *node
}

// within reports whether the path leads through the other field.
func (n *node) within(other *node) bool {
	for ; n != nil; n = n.up {
		if n == other {
			return true
		}
	}
	return false
}

// forest holds the fields of both documents.
type forest struct {
	runtime, trainJob *node
	// all lists the named fields, parents first.
	all []*node
}

// fieldsOfTypes walks the Go types of a runtime and a TrainJob.
var fieldsOfTypes = sync.OnceValue(func() *forest {
	f := &forest{}
	f.runtime = f.grow(&node{typ: reflect.TypeFor[trainer.ClusterTrainingRuntime]()}, "runtime:")
	f.trainJob = f.grow(&node{typ: reflect.TypeFor[trainer.TrainJob]()}, "trainJob:")
	return f
})

func (f *forest) grow(n *node, path string) *node {
	for n.typ.Kind() == reflect.Pointer {
		n.typ = n.typ.Elem()
	}
	n.path, n.key = path, n.owner+"."+n.name
	n.rejected = rejectedReason(n, strings.HasPrefix(path, "trainJob:"))
	if n.name != "" {
		f.all = append(f.all, n)
	}
	switch kind := n.typ.Kind(); {
	case isScalar(n.typ):
	case kind == reflect.Slice:
		n.item = f.grow(&node{owner: n.owner, typ: n.typ.Elem(), up: n}, path+"[]")
	case kind == reflect.Map:
		n.item = f.grow(&node{owner: n.owner, typ: n.typ.Elem(), up: n}, path+"{}")
	case kind == reflect.Struct:
		f.growFields(n, n.typ)
	}
	return n
}

func (f *forest) growFields(n *node, t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported() || name == "-":
		case name == "" && field.Anonymous:
			f.growFields(n, field.Type)
		default:
			path := n.path + "." + name
			if n.up == nil {
				path = n.path + name
			}
			n.fields = append(n.fields, f.grow(&node{
				name: name, owner: typeName(n.typ), typ: field.Type, up: n,
				optional: strings.Contains(options, "omitempty"),
			}, path))
		}
	}
}

// isScalar reports whether JSON encodes the type neither as an object nor as a list.
func isScalar(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[resource.Quantity](), reflect.TypeFor[metav1.Time](),
		reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[metav1.FieldsV1]():
		return true
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice:
		return false
	}
	return true
}

// typeName returns the type's name. JobSet's types keep their package's name, because Kubernetes
// has types of the same name.
func typeName(t reflect.Type) string {
	return strings.TrimPrefix(strings.TrimPrefix(t.String(), "v1."), "v1alpha1.")
}

// child returns the field with that name.
func (n *node) child(name string) *node {
	for _, f := range n.fields {
		if f.name == name {
			return f
		}
	}
	return nil
}

// Fields lists the fields of the Go types that a runtime and a TrainJob reach, such as
// trainJob:spec.trainer.image.
func Fields() (paths []string) {
	for _, n := range fieldsOfTypes().all {
		paths = append(paths, n.path)
	}
	return paths
}

// Set lists the fields that the documents set.
func (d *Documents) Set() []string {
	seen := map[*node]bool{}
	f := fieldsOfTypes()
	walk(f.runtime, d.Runtime, seen)
	walk(f.trainJob, d.TrainJob, seen)
	var paths []string
	for _, n := range f.all {
		if seen[n] {
			paths = append(paths, n.path)
		}
	}
	return paths
}

func walk(n *node, v any, seen map[*node]bool) {
	seen[n] = true
	switch v := v.(type) {
	case object:
		for _, f := range n.fields {
			if field, ok := v[f.name]; ok {
				walk(f, field, seen)
			}
		}
	case []any:
		for _, item := range v {
			if n.item != nil {
				walk(n.item, item, seen)
			}
		}
	}
}
