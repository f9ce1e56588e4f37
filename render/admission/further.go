package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/nearest"
	"github.com/trainweld/trainweld/render/release"
)

// Kind is a version of a kind that a CustomResourceDefinition defines. It is safe for concurrent
// use.
type Kind struct {
	Group, Version, Kind string
	// Namespaced reports whether the objects of the kind have namespaces.
	Namespaced bool

	compiled func() (*compiled, error)
}

// Kinds returns the served versions of the kind that a CustomResourceDefinition of
// apiextensions.k8s.io/v1 defines. The fields are as decoded from JSON or YAML. It returns an error
// for a definition that cannot be decoded. Admit returns the errors in a schema, since most kinds
// of a repository have no objects in it.
func Kinds(fields map[string]any) ([]*Kind, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(text, crd); err != nil {
		return nil, errors.New(unmarshalProblem(err))
	}
	var kinds []*Kind
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		if !version.Served {
			continue
		}
		kinds = append(kinds, &Kind{
			Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind,
			Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
			compiled: sync.OnceValues(func() (*compiled, error) {
				return compileStructural(crd, i)
			}),
		})
	}
	return kinds, nil
}

// compileStructural compiles one version of a definition, if an API server accepts the structure of
// its schema. It returns all problems, joined.
func compileStructural(crd *apiextensionsv1.CustomResourceDefinition, i int) (*compiled, error) {
	c, err := compileVersion(crd, &crd.Spec.Versions[i])
	if err != nil {
		return nil, err
	}
	at := field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")
	var errs []error
	for _, err := range append(structuralschema.ValidateStructural(at, c.schema),
		listKeys(at, c.schema)...) {
		errs = append(errs, err)
	}
	return c, errors.Join(errs...)
}

// listKeys returns the errors for lists whose items cannot have their merge keys, as
// apiextensions-apiserver v0.36.3 pkg/apis/apiextensions/validation does. That package would add 6
// MB to a program.
func listKeys(at *field.Path, s *structuralschema.Structural) (errs field.ErrorList) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		errs = append(errs, listKeys(at.Child("properties").Key(name), &property)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		errs = append(
			errs, listKeys(at.Child("additionalProperties"), s.AdditionalProperties.Structural)...)
	}
	if s.Items == nil {
		return errs
	}
	errs = append(errs, listKeys(at.Child("items"), s.Items)...)
	if s.XListType == nil || *s.XListType != "map" {
		return errs
	}
	if at = at.Child("x-kubernetes-list-map-keys"); len(s.XListMapKeys) == 0 {
		return append(
			errs, field.Required(at, "must not be empty if x-kubernetes-list-type is map"))
	}
	for _, key := range s.XListMapKeys {
		property, isProperty := s.Items.Properties[key]
		required := s.Items.ValueValidation != nil &&
			slices.Contains(s.Items.ValueValidation.Required, key)
		switch {
		case !isProperty:
			errs = append(
				errs, field.Invalid(at, s.XListMapKeys,
					"entries must all be names of item properties"))
		case property.Type == "object" || property.Type == "array":
			errs = append(errs, field.Invalid(at, s.XListMapKeys, "must be a scalar type"))
		case !required && property.Default.Object == nil:
			errs = append(
				errs, field.Required(
					at, fmt.Sprintf("the items must require %s, or have a default for it", key)))
		}
	}
	return errs
}

// Admit sends an object through admission on creation, as AdmitRuntime does. It runs no webhook. It
// returns an error for an invalid definition.
func (k *Kind) Admit(ctx context.Context, fields map[string]any,
	namespace string) (finding.List, error) {
	if k == nil || k.compiled == nil {
		return nil, errors.New("the kind has no definition")
	}
	c, err := k.compiled()
	if err != nil {
		return nil, err
	}
	found := &findings{}
	d := &definition{compiled: c, release: *release.Latest()}
	o := d.decode(fields, namespace, found)
	o.validate(ctx, nil, found)
	known := map[string]nearest.Names{}
	all := found.List()
	for i := range all {
		o.suggest(&all[i], known)
	}
	return all, nil
}

// suggest names the field of the definition that an unknown field probably means. The map known
// holds the fields of the definition by their path.
func (o *object) suggest(f *finding.Finding, known map[string]nearest.Names) {
	last := len(f.Path) - 1
	if f.Code != codes.UnknownField || last < 0 {
		return
	}
	name, _ := f.Path[last].Field()
	parent := f.Path[:last].String()
	names, isKnown := known[parent]
	if !isKnown {
		names = nearest.NewNames(o.fieldsAt(f.Path[:last]))
		known[parent] = names
	}
	if near := nearest.To(name, names.Around(name)); near != "" {
		f.Remedy = finding.Remedy{Do: finding.Rename, Options: []string{near},
			Text: fmt.Sprintf("did you mean %q?", near)}
	}
}

// fieldsAt returns the names of the fields that the definition has at a path.
func (o *object) fieldsAt(path fieldpath.Path) []string {
	at := o.schema
	for _, step := range path {
		next := at.Items
		if name, isField := step.Field(); isField {
			next = structuralField(at, name)
		} else if _, isKey := step.Key(); isKey {
			next = valuesOf(at)
		}
		if at = next; at == nil {
			return nil
		}
	}
	var names []string
	for name := range at.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
