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

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission/serverside"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// definition is a custom resource definition of a release.
type definition struct {
	*compiled
	release release.Release
	// asked is true if the caller named the release.
	asked bool
}

// compiled is a definition as an API server keeps it.
type compiled struct {
	apiVersion, kind string
	namespaced       bool
	schema           *structuralschema.Structural
	validator        validation.SchemaValidator
	enums            *enums // what validator lacks
	fast             *fastSchema
	rules            *cel.Validator
	onCreate         *cel.Validator // the rules that an object without an old one can break
	// server applies objects of the kind. Its methods only read it, since concurrent checks share
	// it.
	server func() *serverside.Server
}

const (
	jobSetKind   = "JobSet"
	podGroupKind = "PodGroup"
)

// definitions are the compiled definitions by their origin. Each compiles on first use: that takes
// a tenth of a second, and most runs need two of them.
var definitions sync.Map // from origin to func() *compiled

// origin identifies a definition. Releases with the same schema share it.
type origin struct{ schema, kind string }

// definition returns the definition of TrainJob, TrainingRuntime, ClusterTrainingRuntime or JobSet
// in a release. It reports a release without definitions, and returns nil for it.
func (fs *findings) definition(r *release.Release, kind string) *definition {
	d := &definition{release: *r.Or(), asked: r != nil}
	var err error
	if d.compiled, err = compiledOf(&d.release, kind); err != nil {
		fs.Add(finding.Finding{
			Code: codes.UnknownVersion, Severity: finding.Error,
			Object:  fieldpath.Object{Kind: kind},
			Message: err.Error(), Remedy: finding.Remedy{Text: "use a release of package release"},
		})
		return nil
	}
	return d
}

func compiledOf(r *release.Release, kind string) (*compiled, error) {
	from := origin{r.Schema, kind}
	if kind == jobSetKind {
		from.schema = r.JobSetSchema
	}
	if c, ok := definitions.Load(from); ok {
		return c.(func() *compiled)(), nil
	}
	text, err := r.Definition(kind)
	if err != nil {
		return nil, err
	}
	return compiledOnce(from, text), nil
}

func compiledOnce(from origin, text []byte) *compiled {
	c, _ := definitions.LoadOrStore(from, sync.OnceValue(func() *compiled {
		return load(from.kind, text)
	}))
	return c.(func() *compiled)()
}

// podGroupOf returns the definition of the PodGroup of an API group, or nil for a group without
// one.
func podGroupOf(r *release.Release, group string) *definition {
	text, err := release.PodGroup(group)
	if err != nil {
		return nil
	}
	return &definition{compiled: compiledOnce(origin{group, podGroupKind}, text), release: *r.Or()}
}

// has reports whether the release has a rule.
func (d *definition) has(rule release.Rule) bool { return d.release.Rules.Has(rule) }

// resting returns the message of a rule. If the source of the release was not read, it says what
// the rule rests on.
func (d *definition) resting(rule release.Rule, message string) string {
	if mark := release.MarkOf(d.release.Name, string(rule)); mark != "" {
		message += " (" + mark.Text() + "; not verified in its source)"
	}
	return message
}

// load compiles an embedded definition as an API server does on its creation
// (apiextensions-apiserver v0.36.3 pkg/apiserver). A test covers all embedded definitions, so a
// failure means a broken build and panics.
func load(kind string, text []byte) *compiled {
	d, err := compile(text)
	if err != nil {
		panic(fmt.Sprintf("admission: the embedded definition of %s: %v", kind, err))
	}
	d.onCreate = rulesOnCreate(d.rules, d.schema)
	d.server = sync.OnceValue(func() *serverside.Server {
		server, err := serverside.New(text)
		if err != nil {
			panic(fmt.Sprintf("admission: the embedded definition of %s: %v", kind, err))
		}
		return server
	})
	return d
}

func compile(text []byte) (*compiled, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(text, crd); err != nil {
		return nil, err
	}
	return compileVersion(crd, &crd.Spec.Versions[0])
}

// compileVersion compiles one version of a definition. It accepts the schema that an API server
// accepts.
func compileVersion(crd *apiextensionsv1.CustomResourceDefinition,
	version *apiextensionsv1.CustomResourceDefinitionVersion) (*compiled, error) {
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return nil, fmt.Errorf("version %s has no schema", version.Name)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		version.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	if err := structuraldefaulting.PruneDefaults(structural); err != nil {
		return nil, err
	}
	enums := cutEnums(&internal)
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, err
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	return &compiled{
		apiVersion: crd.Spec.Group + "/" + version.Name,
		kind:       crd.Spec.Names.Kind,
		namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		schema:     structural,
		validator:  validator,
		enums:      enums,
		fast:       compileFast(structural),
		rules:      rules,
		onCreate:   rules,
	}, nil
}

// object is one custom resource during its admission.
type object struct {
	*definition
	id     fieldpath.Object
	fields map[string]any
	// undecodable means that the object cannot be decoded, since its metadata has a wrong type.
	undecodable bool
	names       itemNames
}

// itemNames counts the items of lists by their keys. The first item identifies a list.
type itemNames map[*any]map[string]int
