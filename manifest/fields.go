package manifest

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/legacy"
)

// field is one field of a struct as encoding/json sees it, fields of inlined structs among them.
type field struct {
	name                string
	index               []int
	typ                 reflect.Type
	omitEmpty, omitZero bool
	reference           bool   // the name of a LocalObjectReference
	mergeKey            string // of a list-map
}

// structs holds the fields of the struct types that one call met. It is no package variable, so that
// nothing is shared between calls.
type structs map[reflect.Type][]field

// of are the fields of a struct type, sorted by name.
func (s structs) of(t reflect.Type) []field {
	if fields, ok := s[t]; ok {
		return fields
	}
	fields := fieldsOf(t)
	s[t] = fields
	return fields
}

// field finds a field by its exact name.
func (s structs) field(t reflect.Type, name string) (field, bool) {
	fields := s.of(t)
	i, ok := slices.BinarySearchFunc(fields, name, func(f field, name string) int { return strings.Compare(f.name, name) })
	if !ok {
		return field{}, false
	}
	return fields[i], true
}

func (s structs) names(t reflect.Type) []string {
	var names []string
	for _, f := range s.of(t) {
		names = append(names, f.name)
	}
	return names
}

func fieldsOf(t reflect.Type) []field {
	fields := make([]field, 0, t.NumField())
	var inlined []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" && options == "":
			continue
		case f.Anonymous && name == "" && concrete(f.Type).Kind() == reflect.Struct:
			inlined = append(inlined, f)
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		field := field{name: name, index: f.Index, typ: f.Type, reference: t == reflect.TypeFor[corev1.LocalObjectReference]() && name == "name"}
		for option := range strings.SplitSeq(options, ",") {
			field.omitEmpty = field.omitEmpty || option == "omitempty"
			field.omitZero = field.omitZero || option == "omitzero"
		}
		if f.Type.Kind() == reflect.Slice {
			if field.mergeKey = f.Tag.Get("patchMergeKey"); field.mergeKey == "" {
				field.mergeKey = patchMergeKey(f.Type.Elem())
			}
		}
		fields = append(fields, field)
	}
	// A field of the struct itself hides one of the same name in a struct that it inlines.
	for _, outer := range inlined {
		for _, f := range fieldsOf(concrete(outer.Type)) {
			if !slices.ContainsFunc(fields, func(g field) bool { return g.name == f.name }) {
				f.index = append(slices.Clone(outer.Index), f.index...)
				fields = append(fields, f)
			}
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return fields
}

// patchMergeKey is the merge key of the Trainer's own list-maps, whose Go types have no such tag
// (Trainer v2.3.0 pkg/apis/trainer/v1alpha1, +listMapKey), and which merge as the lists that they mirror.
func patchMergeKey(item reflect.Type) string {
	switch item {
	case reflect.TypeFor[trainer.RuntimePatch]():
		return "manager"
	case reflect.TypeFor[trainer.ReplicatedJobPatch](), reflect.TypeFor[trainer.ContainerPatch](), reflect.TypeFor[trainer.JobStatus](),
		reflect.TypeFor[legacy.ContainerOverride]():
		return "name"
	}
	switch item.PkgPath() + "." + item.Name() {
	case "k8s.io/api/core/v1.VolumeMount":
		return "mountPath"
	case "k8s.io/api/core/v1.EnvVar", "k8s.io/api/core/v1.Volume", "k8s.io/api/core/v1.PodSchedulingGate",
		"k8s.io/api/core/v1.LocalObjectReference":
		return "name"
	case "k8s.io/apimachinery/pkg/apis/meta/v1.Condition":
		return "type"
	}
	return ""
}

// concrete is the type without its pointers.
func concrete(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// decodesItself says whether values of the type bring their own decoder, as quantities and times do.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
