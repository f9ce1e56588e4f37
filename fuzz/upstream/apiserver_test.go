package upstream_test

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fuzz/upstream"
)

// apiServer does with TrainJobs and runtimes what an API server does that has the Trainer's definitions, as
// the module ships them, and its webhooks, which run in process. It is asked to be strict about fields that
// it does not know, as kubectl asks.
type apiServer struct {
	t      *testing.T
	scheme *runtime.Scheme
	kinds  map[string]*storedKind
	hooks  map[string]*admission.Webhook
	held   client.Client
}

// storedKind is a custom resource definition, ready for use.
type storedKind struct {
	schema     *structural.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
	namespaced bool
}

// serverNamespace is where requests go for objects that name no namespace.
const serverNamespace = "ns"

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	s := &apiServer{t: t, scheme: runtime.NewScheme(), kinds: map[string]*storedKind{}}
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, trainer.AddToScheme, jobset.AddToScheme, schedulingv1.AddToScheme} {
		if err := add(s.scheme); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := module()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "manifests/base/crds/trainer.kubeflow.org_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions in %s: %v", dir, err)
	}
	for _, file := range files {
		s.define(file)
	}
	return s
}

// define reads a custom resource definition.
func (s *apiServer) define(file string) {
	s.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(data, crd); err != nil {
		s.t.Fatal(err)
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, internal, nil); err != nil {
		s.t.Fatal(err)
	}
	k := &storedKind{namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped}
	if k.schema, err = structural.NewStructural(internal); err != nil {
		s.t.Fatal(err)
	}
	if k.validator, _, err = validation.NewSchemaValidator(internal); err != nil {
		s.t.Fatal(err)
	}
	k.rules = cel.NewValidator(k.schema, true, celconfig.PerCallLimit)
	s.kinds[crd.Spec.Names.Kind] = k
}

// apply creates an object, or updates old; it returns what is stored, or why nothing is. As kubectl does, it sends
// a new object to the namespace that the object names, and an update to where the old one is.
func (s *apiServer) apply(object, old upstream.Object) (stored upstream.Object, refused []string) {
	kind, _ := object["kind"].(string)
	k := s.kinds[kind]
	requested := cmp.Or((&unstructured.Unstructured{Object: object}).GetNamespace(), serverNamespace)
	if old != nil {
		requested = (&unstructured.Unstructured{Object: old}).GetNamespace()
	}
	decoded, errs := s.decode(k, object, requested)
	if len(errs) > 0 {
		return nil, errs
	}
	group := "trainer-kubeflow-org-v1alpha1-"
	if kind == "JobSet" {
		group = "jobset-x-k8s-io-v1alpha2-"
	}
	if path := "/mutate-" + group + strings.ToLower(kind); s.hooks[path] != nil {
		mutated, err := s.hook(path, decoded, old)
		if err != "" {
			return nil, []string{err}
		}
		// Of what a webhook made the server drops neither nulls nor what it does not know, as it does of requests.
		defaulting.Default(mutated, k.schema)
		decoded = mutated
	}
	prepare(decoded)
	if u := (&unstructured.Unstructured{Object: decoded}); old == nil && u.GetGenerateName() != "" && u.GetName() == "" {
		u.SetName(names.SimpleNameGenerator.GenerateName(u.GetGenerateName()))
	}
	if errs := s.validate(k, decoded, old); len(errs) > 0 {
		for _, err := range errs {
			refused = append(refused, err.Error())
		}
		return nil, refused
	}
	// The webhooks' configuration leaves runtimes out that have a label.
	if kind != trainer.TrainJobKind && unchecked(decoded) && (old == nil || unchecked(old)) {
		return decoded, nil
	}
	if _, err := s.hook("/validate-"+group+strings.ToLower(kind), decoded, old); err != "" {
		return nil, []string{err}
	}
	return decoded, nil
}

func unchecked(object upstream.Object) bool {
	u := unstructured.Unstructured{Object: object}
	return u.GetLabels()["trainer.kubeflow.org/webhook-validation"] == "disabled"
}

// refusesForm reports whether the server refuses a new object for its form, before any webhook.
func (s *apiServer) refusesForm(object upstream.Object) bool {
	kind, _ := object["kind"].(string)
	k := s.kinds[kind]
	if k == nil {
		return true
	}
	namespace, _, _ := unstructured.NestedString(object, "metadata", "namespace")
	decoded, errs := s.decode(k, object, cmp.Or(namespace, serverNamespace))
	prepare(decoded)
	return len(errs) > 0 || len(s.validate(k, decoded, nil)) > 0
}

// decode reads the object of a request to a namespace: unknown fields are refused, defaults filled in.
func (s *apiServer) decode(k *storedKind, object upstream.Object, requested string) (upstream.Object, []string) {
	o := asJSON(s.t, object)
	metadata, _, unknown, err := objectmeta.GetObjectMetaWithOptions(o, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, []string{err.Error()}
	}
	unknown = append(unknown, pruning.PruneWithOptions(o, k.schema, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	if len(unknown) > 0 {
		return nil, []string{"unknown fields " + strings.Join(unknown, ", ")}
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(o, k.schema)
	if err, _ := objectmeta.CoerceWithOptions(nil, o, k.schema, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true}); err != nil {
		return nil, []string{err.Error()}
	}
	if metadata != nil {
		if err := rest.EnsureObjectNamespaceMatchesRequestNamespace(rest.ExpectedNamespaceForScope(requested, k.namespaced), metadata); err != nil {
			return nil, []string{err.Error()}
		}
		if err := objectmeta.SetObjectMeta(o, metadata); err != nil {
			return nil, []string{err.Error()}
		}
	}
	defaulting.Default(o, k.schema)
	return o, nil
}

// prepare clears what an API server does not take from the author of an object: the status, which is written apart, and what
// it writes itself.
func prepare(o upstream.Object) {
	delete(o, "status")
	metadata, _ := o["metadata"].(upstream.Object)
	delete(metadata, "managedFields")
	delete(metadata, "generation")
}

// validate is what the API server holds against an object before it stores it.
func (s *apiServer) validate(k *storedKind, o, old upstream.Object) field.ErrorList {
	at := field.NewPath("metadata")
	var errs field.ErrorList
	var rules []cel.Option
	var before any
	if old == nil {
		if version, err := strconv.ParseUint((&unstructured.Unstructured{Object: o}).GetResourceVersion(), 10, 64); err == nil && version > 0 {
			return field.ErrorList{field.Forbidden(at.Child("resourceVersion"), "on create")}
		}
		errs = apivalidation.ValidateObjectMetaAccessor(&unstructured.Unstructured{Object: o}, k.namespaced, apivalidation.NameIsDNSSubdomain, at)
		errs = append(errs, validation.ValidateCustomResource(nil, o, k.validator)...)
	} else {
		before = old
		correlated := common.NewCorrelatedObject(o, old, &model.Structural{Structural: k.schema})
		rules = append(rules, cel.WithRatcheting(correlated))
		a, b := &unstructured.Unstructured{Object: asJSON(s.t, o)}, &unstructured.Unstructured{Object: asJSON(s.t, old)}
		a.SetResourceVersion("1")
		b.SetResourceVersion("1")
		a.SetCreationTimestamp(b.GetCreationTimestamp()) // a server ignores changes to it
		errs = apivalidation.ValidateObjectMetaAccessorUpdate(a, b, at)
		errs = append(errs, validation.ValidateCustomResourceUpdate(nil, o, old, k.validator, validation.WithRatcheting(correlated))...)
	}
	errs = append(errs, objectmeta.Validate(nil, o, k.schema, false)...)
	if old == nil || len(listtype.ValidateListSetsAndMaps(nil, k.schema, old)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.schema, o)...)
	}
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return errs
		}
	}
	broken, _ := k.rules.Validate(context.Background(), nil, k.schema, o, before, celconfig.RuntimeCELCostBudget, rules...)
	return append(errs, broken...)
}

// asJSON is the object as an API server decodes it, sharing no memory with the argument.
func asJSON(t *testing.T, object upstream.Object) upstream.Object {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var out upstream.Object
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
