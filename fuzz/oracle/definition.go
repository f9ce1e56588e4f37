package oracle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Object is an object as JSON.
type Object = map[string]any

// definition is a CustomResourceDefinition, ready for use.
type definition struct {
	schema     *structural.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
	namespaced bool
}

// definitions holds the definition of each kind.
type definitions map[string]*definition

// readDefinitions reads the definitions that both modules ship.
func readDefinitions(m Modules) (definitions, error) {
	all := definitions{}
	for folder, pattern := range map[string]string{
		m.Trainer: filepath.Join("manifests", "base", "crds", "trainer.kubeflow.org_*.yaml"),
		m.JobSet: filepath.Join("config", "components", "crd", "bases",
			"jobset.x-k8s.io_jobsets.yaml"),
	} {
		if folder == "" {
			continue
		}
		pattern = filepath.Join(folder, pattern)
		files, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("no definitions match %s: is it the directory of the module?",
				pattern)
		}
		for _, file := range files {
			if err := all.read(file); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return all, nil
}

func (all definitions) read(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return all.Define(data)
}

// Define adds the first version of a definition.
func (all definitions) Define(data []byte) error {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, crd); err != nil {
		return err
	}
	internal := &apiextensions.JSONSchemaProps{}
	v1 := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		v1, internal, nil); err != nil {
		return err
	}
	d := &definition{namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped}
	var err error
	if d.schema, err = structural.NewStructural(internal); err != nil {
		return err
	}
	if d.validator, _, err = validation.NewSchemaValidator(internal); err != nil {
		return err
	}
	d.rules = cel.NewValidator(d.schema, true, celconfig.PerCallLimit)
	all[crd.Spec.Names.Kind] = d
	return nil
}

// of returns the definition of an object's kind.
func (all definitions) of(object Object) (*definition, error) {
	kind, _ := object["kind"].(string)
	if all[kind] == nil {
		return nil, fmt.Errorf("no definition of kind %q", kind)
	}
	return all[kind], nil
}

// Prune returns the object without the fields that its definition lacks. The API server does so for
// a client that is not strict. Prune does not change the object.
func (all definitions) Prune(object Object) (Object, error) {
	d, err := all.of(object)
	if err != nil {
		return nil, err
	}
	out, err := Copy(object)
	if err != nil {
		return nil, err
	}
	pruning.Prune(out, d.schema, true)
	return out, nil
}

// Default returns the object as the API server stores it: pruned, and with the definition's
// defaults. It does not change the object.
func (all definitions) Default(object Object) (Object, error) {
	out, err := all.Prune(object)
	if err != nil {
		return nil, err
	}
	schema := all[out["kind"].(string)].schema
	defaulting.PruneNonNullableNullsWithoutDefaults(out, schema)
	defaulting.Default(out, schema)
	return out, nil
}

// Copy returns the object as an API server decodes it. The copy shares no memory with the object.
func Copy(object Object) (Object, error) {
	var out Object
	return out, Convert(object, &out)
}

// Convert converts a Go value to another through JSON, as Kubernetes decodes it. Integers stay
// integers, and names are case-sensitive.
func Convert(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("encode %T: %w", from, err)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, to); err != nil {
		return fmt.Errorf("decode %T: %w", to, err)
	}
	return nil
}
