package fuzz_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdmerge "sigs.k8s.io/structured-merge-diff/v6/merge"
	smdtyped "sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/schema"
)

// This file applies patches as an API server does for server-side apply: by structured-merge-diff and
// the schema of JobSet's custom resource definition.

const jobSetVersion = fieldpath.APIVersion("jobset.x-k8s.io/v1alpha2")

// serverSide is the server's side of an apply.
type serverSide struct {
	smdmerge.Updater
	converter managedfields.TypeConverter
	schema    *spec.Schema
}

// newServerSide reads the definition that this module embeds; that it is the one which JobSet ships is
// tested where it is embedded.
var newServerSide = sync.OnceValues(func() (*serverSide, error) {
	file, err := os.Open("../render/admission/crds/jobsets.json.gz")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema spec.Schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := json.NewDecoder(unpacked).Decode(&crd); err != nil {
		return nil, err
	}
	root := &crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	// Under a definition the server knows the whole of metadata.
	labels := spec.MapProperty(spec.StringProperty())
	root.Properties["metadata"] = spec.Schema{SchemaProps: spec.SchemaProps{
		Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{"labels": *labels, "annotations": *labels},
	}}
	gvk := map[string]any{"group": "jobset.x-k8s.io", "version": "v1alpha2", "kind": "JobSet"}
	root.AddExtension("x-kubernetes-group-version-kind", []any{gvk})
	converter, err := managedfields.NewTypeConverter(map[string]*spec.Schema{"JobSet": root}, false)
	if err != nil {
		return nil, err
	}
	builder := smdmerge.UpdaterBuilder{Converter: oneVersion{}, ReturnInputOnNoop: true}
	return &serverSide{Updater: *builder.BuildUpdater(), converter: converter, schema: root}, nil
})

// oneVersion is the conversion between versions where there is only one.
type oneVersion struct{}

func (oneVersion) Convert(v *smdtyped.TypedValue, _ fieldpath.APIVersion) (*smdtyped.TypedValue, error) {
	return v, nil
}
func (oneVersion) IsMissingVersionError(error) bool { return false }

// errNotDeclared says that the definition lacks a field of the Go types, or bounds its values.
var errNotDeclared = errors.New("not declared by the definition")

// apply applies the template as the manager "runtime" and then each patch by force, and returns the live
// object as a template, with what each manager owns of it.
func (s *serverSide) apply(c *fuzz.Case) (*trainer.JobSetTemplateSpec, fieldpath.ManagedFields, error) {
	live, err := s.typed(nil, nil)
	if err != nil {
		return nil, nil, err
	}
	owners := fieldpath.ManagedFields{}
	step := func(manager string, metadata, spec any) error {
		config, err := s.typed(metadata, spec)
		if err != nil {
			return fmt.Errorf("%w: %w", errNotDeclared, err)
		}
		object, managers, err := s.Apply(live, config, jobSetVersion, owners, manager, true)
		if err != nil {
			return fmt.Errorf("%s: %w", manager, err)
		}
		if object != nil { // nil says that nothing has changed
			live = object
		}
		owners = managers
		return nil
	}
	metadata := map[string]any{"labels": c.Template.Labels, "annotations": c.Template.Annotations}
	// An API server stores no null in a runtime; that a Go value encodes a nil list as one says nothing.
	if err := step("runtime", metadata, withoutNulls(decode(encode(c.Template.Spec)))); err != nil {
		return nil, nil, err
	}
	for i := range c.Patches {
		metadata := map[string]any{}
		if m := metadataOf(&c.Patches[i]); m != nil {
			metadata["labels"], metadata["annotations"] = m.Labels, m.Annotations
		}
		var patch any
		if s := specOf(&c.Patches[i]); s != nil {
			patch = s
		}
		if err := step(c.Patches[i].Manager, metadata, patch); err != nil {
			return nil, nil, err
		}
	}
	merged := &trainer.JobSetTemplateSpec{}
	return merged, owners, json.Unmarshal(encode(live.AsValue().Unstructured()), merged)
}

// typed is what a manager applies: the encoding of its values, without the empty structs that Go
// encodes in any case, and so without the nulls of fields that nobody set.
func (s *serverSide) typed(metadata, patch any) (*smdtyped.TypedValue, error) {
	object := map[string]any{"apiVersion": string(jobSetVersion), "kind": "JobSet"}
	for name, m := range map[string]any{"metadata": metadata, "spec": patch} {
		if said, ok := decode(encode(m)).(map[string]any); ok {
			if name == "spec" {
				withoutEmpties(said, reflect.TypeFor[jobset.JobSetSpec]())
			}
			for key, value := range said {
				if entries, ok := value.(map[string]any); value == nil || name == "metadata" && ok && len(entries) == 0 {
					delete(said, key)
				}
			}
			if len(said) > 0 {
				object[name] = said
			}
		}
	}
	pruned(object, s.schema)
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(encode(object)); err != nil {
		return nil, err
	}
	return s.converter.ObjectToTyped(u)
}

// withoutEmpties drops the structs by value that say nothing, and the nulls of times.
func withoutEmpties(object map[string]any, t reflect.Type) {
	for name, value := range object {
		f := mustField(t, name)
		typ, byPointer := f.typ, f.typ.Kind() == reflect.Pointer
		if byPointer {
			typ = typ.Elem()
		}
		switch v := value.(type) {
		case nil:
			if encodesItself(typ) {
				delete(object, name)
			}
		case map[string]any:
			if typ.Kind() != reflect.Struct || encodesItself(typ) {
				continue
			}
			withoutEmpties(v, typ)
			if len(v) == 0 && !byPointer {
				delete(object, name)
			}
		case []any:
			for _, item := range v {
				if fields, ok := item.(map[string]any); ok && typ.Elem().Kind() == reflect.Struct {
					withoutEmpties(fields, typ.Elem())
				}
			}
		}
	}
}

// pruned drops what the definition does not know, as the server does.
func pruned(v any, at *spec.Schema) {
	switch v := v.(type) {
	case map[string]any:
		if at.AdditionalProperties != nil || len(at.Properties) == 0 {
			return
		}
		for name, value := range v {
			if property := crdOf(at, schema.Field(name)); property != nil {
				pruned(value, property)
			} else {
				delete(v, name)
			}
		}
	case []any:
		for _, item := range v {
			pruned(item, at.Items.Schema)
		}
	}
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if value == nil {
				delete(v, name)
			}
			withoutNulls(value)
		}
	case []any:
		for _, item := range v {
			withoutNulls(item)
		}
	}
	return v
}

// crdOf is the part of the definition that a step leads to, nil where the definition has none.
func crdOf(at *spec.Schema, step schema.Step) *spec.Schema {
	if at == nil {
		return nil
	}
	if name, ok := step.Field(); ok {
		if property, ok := at.Properties[name]; ok {
			return &property
		}
		return nil
	}
	if _, ok := step.Key(); ok {
		if at.AdditionalProperties != nil {
			return at.AdditionalProperties.Schema
		}
		return nil
	}
	if at.Items != nil {
		return at.Items.Schema
	}
	return nil
}

// isAtomicThere says whether server-side apply takes a value of the definition as one.
func isAtomicThere(at *spec.Schema) bool {
	if kind, _ := at.Extensions.GetString("x-kubernetes-map-type"); kind == "atomic" {
		return true
	}
	kind, _ := at.Extensions.GetString("x-kubernetes-list-type")
	return slices.Contains(at.Type, "array") && (kind == "" || kind == "atomic")
}

// keysThere are the keys of a list-map of the definition.
func keysThere(at *spec.Schema) []string {
	keys, _ := at.Extensions.GetStringSlice("x-kubernetes-list-map-keys")
	return keys
}
