package fuzz_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/kube-openapi/pkg/validation/spec"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	smdpath "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdtyped "sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/render/admission/serverside"
	"github.com/trainweld/trainweld/render/release"
)

// This file applies patches as an API server does for server-side apply.

// newServerSide reads the definition that this module embeds.
var newServerSide = sync.OnceValues(func() (*serverSide, error) {
	definition, err := release.Latest().Definition("JobSet")
	if err != nil {
		return nil, err
	}
	server, err := serverside.New(definition)
	return &serverSide{server}, err
})

// serverSide applies whole cases.
type serverSide struct{ *serverside.Server }

// errNotDeclared says that the definition lacks a field of the Go types, or bounds its values.
var errNotDeclared = errors.New("not declared by the definition")

// apply applies the template as the manager "runtime" and then each patch by force. It returns the
// live object as a template, with the fields that each manager owns.
func (s *serverSide) apply(c *fuzz.Case) (*trainer.JobSetTemplateSpec, smdpath.ManagedFields,
	error) {
	live, err := s.typed(nil, nil)
	if err != nil {
		return nil, nil, err
	}
	owners := smdpath.ManagedFields{}
	step := func(manager string, metadata, spec any) error {
		config, err := s.typed(metadata, spec)
		if err != nil {
			return fmt.Errorf("%w: %w", errNotDeclared, err)
		}
		if live, owners, err = s.Apply(live, config, owners, manager); err != nil {
			return fmt.Errorf("%s: %w", manager, err)
		}
		return nil
	}
	metadata := map[string]any{"labels": c.Template.Labels, "annotations": c.Template.Annotations}
	// An API server stores no null in a runtime. That a Go value encodes a nil list as one says
	// nothing.
	template := decode(encode(c.Template.Spec))
	dropNulls(template)
	if err := step("runtime", metadata, template); err != nil {
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

// typed returns the encoding of the values that a manager applies. It drops the empty structs that
// Go always encodes, and so the nulls of unset fields.
func (s *serverSide) typed(metadata, patch any) (*smdtyped.TypedValue, error) {
	object := map[string]any{}
	for name, m := range map[string]any{"metadata": metadata, "spec": patch} {
		if said, ok := decode(encode(m)).(map[string]any); ok {
			if name == "spec" {
				withoutEmpties(said, reflect.TypeFor[jobset.JobSetSpec]())
			}
			for key, value := range said {
				if entries, ok := value.(map[string]any); value == nil ||
					name == "metadata" && ok && len(entries) == 0 {
					delete(said, key)
				}
			}
			if len(said) > 0 {
				object[name] = said
			}
		}
	}
	pruned(object, s.Schema)
	return s.Typed(object)
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

// pruned drops the fields that the definition lacks, as the server does.
func pruned(v any, at *spec.Schema) {
	switch v := v.(type) {
	case map[string]any:
		if at.AdditionalProperties != nil || len(at.Properties) == 0 {
			return
		}
		for name, value := range v {
			if property := crdOf(at, fieldpath.Field(name)); property != nil {
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

// crdOf is the part of the definition that a step leads to, nil where the definition has none.
func crdOf(at *spec.Schema, step fieldpath.Step) *spec.Schema {
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
