package upstream21

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"sigs.k8s.io/yaml"
)

// crd is the schema of one kind.
type crd struct{ schema *structural.Structural }

func (o *Oracle) readCRDs(module string) error {
	files, err := filepath.Glob(filepath.Join(module, "manifests", "base", "crds", "trainer.kubeflow.org_*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no CRDs in %s: is it the directory of the Trainer module?", module)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &definition); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		var internal apiextensions.JSONSchemaProps
		v1 := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, &internal, nil); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		schema, err := structural.NewStructural(&internal)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		o.crds[definition.Spec.Names.Kind] = &crd{schema}
	}
	return nil
}

// Prune is the object without the fields that its CRD does not have, as the API server takes it from
// a client that is not strict. It does not change the object.
func (o *Oracle) Prune(object Object) (Object, error) {
	kind, _ := object["kind"].(string)
	crd := o.crds[kind]
	if crd == nil {
		return nil, fmt.Errorf("no CRD of kind %q", kind)
	}
	out, err := copyOf(object)
	if err != nil {
		return nil, err
	}
	pruning.Prune(out, crd.schema, true)
	return out, nil
}

// Default is the object as the API server stores it: pruned, and with the CRD's defaults. It does not
// change the object.
func (o *Oracle) Default(object Object) (Object, error) {
	out, err := o.Prune(object)
	if err != nil {
		return nil, err
	}
	schema := o.crds[out["kind"].(string)].schema
	defaulting.PruneNonNullableNullsWithoutDefaults(out, schema)
	defaulting.Default(out, schema)
	return out, nil
}

func copyOf(object Object) (Object, error) {
	out := Object{}
	return out, convert(object, &out)
}
