// Package definition stores an object as an API server does, by the CustomResourceDefinition of its kind.
//
// It is a module of its own, so that the oracle of each release of the Trainer links it with that release's API server.
package definition

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Object is an object as JSON.
type Object = map[string]any

// Set holds the schema of each kind.
type Set map[string]*structural.Structural

// Read reads the definitions in the directory of a Trainer module.
func Read(module string) (Set, error) {
	files, err := filepath.Glob(filepath.Join(module, "manifests", "base", "crds", "trainer.kubeflow.org_*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no CRDs in %s: is it the directory of the Trainer module?", module)
	}
	set := Set{}
	for _, file := range files {
		if err := set.add(file); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return set, nil
}

func (s Set) add(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &definition); err != nil {
		return err
	}
	var internal apiextensions.JSONSchemaProps
	v1 := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, &internal, nil); err != nil {
		return err
	}
	s[definition.Spec.Names.Kind], err = structural.NewStructural(&internal)
	return err
}

// Prune returns the object without the fields that its definition lacks. The API server does so for a client that is not
// strict. Prune does not change the object.
func (s Set) Prune(object Object) (Object, error) {
	kind, _ := object["kind"].(string)
	if s[kind] == nil {
		return nil, fmt.Errorf("no CRD of kind %q", kind)
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	out := Object{}
	if err := utiljson.Unmarshal(data, &out); err != nil {
		return nil, err
	}
	pruning.Prune(out, s[kind], true)
	return out, nil
}

// Default returns the object as the API server stores it: pruned, and with the definition's defaults. It does not change the
// object.
func (s Set) Default(object Object) (Object, error) {
	out, err := s.Prune(object)
	if err != nil {
		return nil, err
	}
	schema := s[out["kind"].(string)]
	defaulting.PruneNonNullableNullsWithoutDefaults(out, schema)
	defaulting.Default(out, schema)
	return out, nil
}
