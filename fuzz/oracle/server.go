package oracle

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

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
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
)

// Namespace is the namespace of requests for objects that name none.
const Namespace = "ns"

// Apply creates an object, or updates old, as an API server with the release's definitions and
// webhooks does. It is strict about unknown fields, as kubectl asks. It returns the object as
// stored, or the reasons for which it is rejected. It sends an object to the namespace that kubectl
// chooses: the new object's, or the old object's in an update.
func (o *Oracle) Apply(object, old Object) (stored Object, rejected []string, err error) {
	o.warnings = nil
	d, err := o.of(object)
	if err != nil {
		return nil, nil, err
	}
	requested := cmp.Or((&unstructured.Unstructured{Object: object}).GetNamespace(), Namespace)
	if old != nil {
		requested = (&unstructured.Unstructured{Object: old}).GetNamespace()
	}
	decoded, rejected, err := o.Decode(object, requested)
	if rejected != nil || err != nil {
		return nil, rejected, err
	}
	kind := object["kind"].(string)
	path, hooks := hooksOf(kind), o.hooksFor(kind)
	// JobSet's webhook mutates on creation only
	if hooks["/mutate"+path] != nil && (old == nil || kind != "JobSet") {
		mutated, denied, err := o.admit(hooks, "/mutate"+path, decoded, old)
		if denied != "" || err != nil {
			return nil, []string{denied}, err
		}
		// Unlike in a request, the server drops neither nulls nor unknown fields of an object that
		// a webhook made.
		defaulting.Default(mutated, d.schema)
		decoded = mutated
	}
	prepare(decoded)
	if u := (&unstructured.Unstructured{Object: decoded}); old == nil &&
		u.GetGenerateName() != "" && u.GetName() == "" {
		u.SetName(names.SimpleNameGenerator.GenerateName(u.GetGenerateName()))
	}
	if rejected, err = o.Validate(decoded, old); len(rejected) > 0 || err != nil {
		return nil, rejected, err
	}
	// From Trainer 2.3 on, the webhooks' configuration omits runtimes with a label.
	if isRuntime(kind) && o.trainer.SkipsLabeled() && unchecked(decoded) &&
		(old == nil || unchecked(old)) {
		return decoded, nil, nil
	}
	if _, denied, err := o.admit(hooks, "/validate"+path, decoded, old); denied != "" ||
		err != nil {
		return nil, []string{denied}, err
	}
	return decoded, nil, nil
}

func isRuntime(kind string) bool { return strings.HasSuffix(kind, "TrainingRuntime") }

func unchecked(object Object) bool {
	u := unstructured.Unstructured{Object: object}
	return u.GetLabels()["trainer.kubeflow.org/webhook-validation"] == "disabled"
}

// Form reports whether the API server rejects a new object for its form, before any webhook.
func (o *Oracle) Form(object Object) (rejected bool) {
	namespace, _, _ := unstructured.NestedString(object, "metadata", "namespace")
	decoded, errs, err := o.Decode(object, cmp.Or(namespace, Namespace))
	if len(errs) > 0 || err != nil {
		return true
	}
	prepare(decoded)
	errs, err = o.Validate(decoded, nil)
	return len(errs) > 0 || err != nil
}

// Decode reads the object of a request to a namespace. It rejects unknown fields, and fills in
// defaults.
func (o *Oracle) Decode(object Object,
	requested string) (decoded Object, rejected []string, err error) {
	d, err := o.of(object)
	if err != nil {
		return nil, nil, err
	}
	if decoded, err = Copy(object); err != nil {
		return nil, nil, err
	}
	metadata, _, unknown, err := objectmeta.GetObjectMetaWithOptions(
		decoded, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, []string{err.Error()}, nil
	}
	unknown = append(
		unknown, pruning.PruneWithOptions(decoded, d.schema, true,
			structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	if len(unknown) > 0 {
		return nil, []string{"unknown fields " + strings.Join(unknown, ", ")}, nil
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(decoded, d.schema)
	if err, _ := objectmeta.CoerceWithOptions(nil, decoded, d.schema, false,
		objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true}); err != nil {
		return nil, []string{err.Error()}, nil
	}
	if metadata != nil {
		if err := rest.EnsureObjectNamespaceMatchesRequestNamespace(
			rest.ExpectedNamespaceForScope(requested, d.namespaced), metadata); err != nil {
			return nil, []string{err.Error()}, nil
		}
		if err := objectmeta.SetObjectMeta(decoded, metadata); err != nil {
			return nil, []string{err.Error()}, nil
		}
	}
	defaulting.Default(decoded, d.schema)
	return decoded, nil, nil
}

// Schema returns the structural schema of a kind, or nil for a kind without a definition.
func (o *Oracle) Schema(kind string) *structural.Structural {
	if o.definitions[kind] == nil {
		return nil
	}
	return o.definitions[kind].schema
}

// prepare clears the fields that an API server does not take from the author of an object. They are
// the status, which is written separately, and the fields that the server writes.
func prepare(object Object) {
	delete(object, "status")
	metadata, _ := object["metadata"].(Object)
	delete(metadata, "managedFields")
	delete(metadata, "generation")
}

// Validate returns the reasons for which the API server does not store an object, apart from
// webhooks.
func (o *Oracle) Validate(object, old Object) (rejected []string, err error) {
	d, err := o.of(object)
	if err != nil {
		return nil, err
	}
	errs, err := d.validate(object, old)
	for _, err := range errs {
		rejected = append(rejected, err.Error())
	}
	return rejected, err
}

func (d *definition) validate(object, old Object) (field.ErrorList, error) {
	at := field.NewPath("metadata")
	var errs field.ErrorList
	var rules []cel.Option
	var before any
	if old == nil {
		if version, err := strconv.ParseUint(
			(&unstructured.Unstructured{Object: object}).GetResourceVersion(), 10,
			64); err == nil && version > 0 {
			return field.ErrorList{field.Forbidden(at.Child("resourceVersion"), "on create")}, nil
		}
		errs = apivalidation.ValidateObjectMetaAccessor(&unstructured.Unstructured{Object: object},
			d.namespaced, apivalidation.NameIsDNSSubdomain, at)
		errs = append(errs, validation.ValidateCustomResource(nil, object, d.validator)...)
	} else {
		before = old
		correlated := common.NewCorrelatedObject(
			object, old, &model.Structural{Structural: d.schema})
		rules = append(rules, cel.WithRatcheting(correlated))
		now, then, err := metadataOf(object, old)
		if err != nil {
			return nil, err
		}
		errs = apivalidation.ValidateObjectMetaAccessorUpdate(now, then, at)
		errs = append(
			errs, validation.ValidateCustomResourceUpdate(nil, object, old, d.validator,
				validation.WithRatcheting(correlated))...)
	}
	errs = append(errs, objectmeta.Validate(nil, object, d.schema, false)...)
	if old == nil || len(listtype.ValidateListSetsAndMaps(nil, d.schema, old)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, d.schema, object)...)
	}
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
			field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return errs, nil
		}
	}
	broken, _ := d.rules.Validate(context.Background(), nil, d.schema, object, before,
		celconfig.RuntimeCELCostBudget, rules...)
	return append(errs, broken...), nil
}

// metadataOf returns the metadata of both objects with the values that a server sets.
func metadataOf(object, old Object) (now, then *unstructured.Unstructured, err error) {
	now, then = &unstructured.Unstructured{}, &unstructured.Unstructured{}
	if now.Object, err = Copy(object); err != nil {
		return nil, nil, err
	}
	if then.Object, err = Copy(old); err != nil {
		return nil, nil, err
	}
	now.SetResourceVersion("1")
	then.SetResourceVersion("1")
	now.SetCreationTimestamp(then.GetCreationTimestamp()) // a server ignores changes to it
	return now, then, nil
}

func hooksOf(kind string) string {
	if kind == "JobSet" {
		return "-jobset-x-k8s-io-v1alpha2-jobset"
	}
	return fmt.Sprintf("-trainer-kubeflow-org-v1alpha1-%s", strings.ToLower(kind))
}
