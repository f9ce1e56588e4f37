package admission

import (
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/trainweld/trainweld/release"
)

// definition is a compiled custom resource definition.
type definition struct {
	apiVersion, kind string
	namespaced       bool
	schema           *structuralschema.Structural
	validator        validation.SchemaValidator
	rules            *cel.Validator
}

// Each definition compiles on first use. That takes a tenth of a second, and most runs need two of the four.
var (
	trainJobs               = sync.OnceValue(func() *definition { return load("TrainJob") })
	trainingRuntimes        = sync.OnceValue(func() *definition { return load("TrainingRuntime") })
	clusterTrainingRuntimes = sync.OnceValue(func() *definition { return load("ClusterTrainingRuntime") })
	jobSets                 = sync.OnceValue(func() *definition { return load("JobSet") })
)

// load compiles an embedded definition as an API server does on its creation (apiextensions-apiserver v0.36.3
// pkg/apiserver). A test covers all embedded definitions, so a failure means a broken build and panics.
func load(kind string) *definition {
	d, err := compile(kind)
	if err != nil {
		panic(fmt.Sprintf("admission: the embedded definition of %s: %v", kind, err))
	}
	return d
}

func compile(kind string) (*definition, error) {
	text, err := release.Latest().Definition(kind)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(text, crd); err != nil {
		return nil, err
	}
	version := crd.Spec.Versions[0]
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	if err := structuraldefaulting.PruneDefaults(structural); err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, err
	}
	return &definition{
		apiVersion: crd.Spec.Group + "/" + version.Name,
		kind:       crd.Spec.Names.Kind,
		namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		schema:     structural,
		validator:  validator,
		rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
}

// definitionOf returns the definition of a kind of this package, or nil for other kinds.
func definitionOf(kind string) *definition {
	switch kind {
	case "TrainJob":
		return trainJobs()
	case "TrainingRuntime":
		return trainingRuntimes()
	case "ClusterTrainingRuntime":
		return clusterTrainingRuntimes()
	case "JobSet":
		return jobSets()
	default:
		return nil
	}
}
