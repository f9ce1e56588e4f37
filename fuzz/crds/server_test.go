// Package crds_test compares the merge of objects with an API server's merge. The server's own
// field manager runs over a type converter that is made of the same definition.
package crds_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	internalextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/release"
	"github.com/trainweld/trainweld/schema"
)

// definition is a custom resource definition, compiled by both sides.
type definition struct {
	name      string
	kind      runtimeschema.GroupVersionKind
	typ       *schema.Type
	nullable  *schema.Type // typ, if all fields took null
	converter managedfields.TypeConverter
	served    []byte // the OpenAPI document of the definition's version
	types     validation.SchemaValidator
	schema    *structural.Structural
	reason    string // why the types were refused last
	refused   int    // inputs of which only the types are refused
}

// ofType matches the message on a value of a wrong type, and none on its format.
var ofType = regexp.MustCompile(
	`must be of type (array|boolean|integer|number|object|string)(,[a-z]+)*:`)

// ofNull ends the message on a null.
const ofNull = `: "null"`

// refuses reports whether the API server's validation refuses the type of a value in an input. The
// server judges nulls in results.
func (d *definition) refuses(object merge.Object) bool { return d.refusesBy(object, false) }

// refusesBy is refuses, also of a number by its format.
func (d *definition) refusesBy(object merge.Object, formats bool) bool {
	if d.types == nil {
		return false // an OpenAPI document, of whose types the API server's decoder judges
	}
	for _, err := range validation.ValidateCustomResource(nil, deepCopy(object), d.types) {
		isOfTypes := err.Type == field.ErrorTypeTypeInvalid &&
			(formats || ofType.MatchString(err.Detail)) ||
			formats && strings.Contains(err.Detail, "Checked value must be of type")
		if isOfTypes && err.BadValue != nil && err.BadValue != "null" &&
			!strings.HasPrefix(err.Field, "metadata") && !strings.HasSuffix(err.Detail, ofNull) {
			d.reason = err.Error()
			return true
		}
	}
	return false
}

// typesOf returns the validator of a version's schema, and the schema.
func typesOf(version *apiextensions.CustomResourceDefinitionVersion) (validation.SchemaValidator,
	*structural.Structural, error) {
	internal := &internalextensions.JSONSchemaProps{}
	if err := apiextensions.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		version.Schema.OpenAPIV3Schema, internal, nil); err != nil {
		return nil, nil, err
	}
	s, err := structural.NewStructural(internal)
	if err != nil {
		return nil, nil, err
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	return validator, s, err
}

// files returns the definitions of testdata and of all releases.
func files(t testing.TB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	names, err := filepath.Glob("testdata/*.json.gz")
	if err != nil || len(names) == 0 {
		t.Fatalf("%v, %d files", err, len(names))
	}
	for _, name := range names {
		packed, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		if all[strings.TrimSuffix(filepath.Base(name), ".json.gz")], err = io.ReadAll(
			r); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range release.Known() {
		for _, kind := range []string{"TrainJob", "TrainingRuntime", "ClusterTrainingRuntime",
			"JobSet"} {
			if all[kind+"-"+r.Name], err = r.Definition(kind); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// compile reads a definition as both sides do.
func compile(name string, data []byte) (*definition, error) {
	crd := &apiextensions.CustomResourceDefinition{}
	if err := json.Unmarshal(data, crd); err != nil {
		return nil, err
	}
	version := crd.Spec.Versions[0].Name
	d := &definition{
		name: name, kind: runtimeschema.GroupVersionKind{Group: crd.Spec.Group, Version: version,
			Kind: crd.Spec.Names.Kind}}
	var err error
	if d.typ, err = schema.ParseOpenAPI(data); err != nil {
		return nil, err
	}
	if d.nullable, err = nullable(data); err != nil {
		return nil, err
	}
	if d.types, d.schema, err = typesOf(&crd.Spec.Versions[0]); err != nil {
		return nil, err
	}
	openAPI, err := builder.BuildOpenAPIV3(crd, version, builder.Options{})
	if err != nil {
		return nil, err
	}
	if d.served, err = json.Marshal(openAPI); err != nil {
		return nil, err
	}
	d.converter, err = managedfields.NewTypeConverter(openAPI.Components.Schemas,
		crd.Spec.PreserveUnknownFields)
	return d, err
}

// outcome is the result of patches: an object and each manager's fields, or the number of the
// rejected patch.
type outcome struct {
	object   string
	fields   map[string]*fieldpath.Set
	rejected int
	err      error
}

// pair is a base and patches, each by a manager of its own.
type pair struct {
	base    merge.Object
	patches []merge.Object
	// updated says that the base was not applied, and may name an item twice.
	updated bool
}

func manager(i int) string { return fmt.Sprintf("manager-%d", i) }

// upstream applies the base and then each patch with force.
func (d *definition) upstream(p pair) outcome {
	m := managedfieldstest.NewTestFieldManager(d.converter, d.kind)
	apply := func(object merge.Object, name string, update bool) error {
		object = deepCopy(object)
		object["apiVersion"], object["kind"] = d.kind.GroupVersion().String(), d.kind.Kind
		if update {
			return m.Update(&unstructured.Unstructured{Object: object}, name)
		}
		return m.Apply(&unstructured.Unstructured{Object: object}, name, true)
	}
	if err := apply(p.base, "base", p.updated); err != nil {
		return outcome{rejected: -1, err: err}
	}
	for i, patch := range p.patches {
		if err := apply(patch, manager(i), false); err != nil {
			return outcome{rejected: i, err: err}
		}
	}
	live := m.Live().(*unstructured.Unstructured)
	out := outcome{fields: map[string]*fieldpath.Set{}}
	for _, entry := range live.GetManagedFields() {
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.Raw)); err != nil {
			return outcome{rejected: -2, err: err}
		}
		out.fields[entry.Manager] = set
	}
	live.SetManagedFields(nil)
	out.object = canonical(live.Object)
	return out
}

// ours returns the engine's result of the patches.
func (d *definition) ours(t testing.TB, p pair) (outcome, *merge.Result[merge.Object]) {
	base := deepCopy(p.base)
	base["apiVersion"], base["kind"] = d.kind.GroupVersion().String(), d.kind.Kind
	var layers []merge.Patch
	for i := range p.patches {
		patch := deepCopy(p.patches[i])
		layers = append(layers, merge.Patch{Manager: manager(i), Value: &patch})
	}
	result, err := d.merge(t, base, layers)
	if err != nil {
		var rejected *merge.PatchError
		if !errors.As(err, &rejected) {
			return outcome{rejected: -2, err: err}, nil
		}
		for i := range layers {
			if merge.Manager(layers[i].Manager) == rejected.Owner {
				return outcome{rejected: i, err: err}, nil
			}
		}
		return outcome{rejected: -1, err: err}, nil
	}
	out := outcome{object: canonical(result.Value), fields: map[string]*fieldpath.Set{}}
	for layer, text := range result.History.FieldsV1(nil) {
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(text)); err != nil {
			return outcome{rejected: -2, err: fmt.Errorf("%s: %w in %s", layer, err, text)}, nil
		}
		name, ok := layer.Manager()
		if !ok {
			name = string(layer)
		}
		if !set.Empty() {
			out.fields[name] = set
		}
	}
	return out, result
}

// compare says how two outcomes differ, "" for not at all.
func compare(want, got outcome, updated bool) string {
	if (want.err == nil) != (got.err == nil) || want.rejected != got.rejected {
		return fmt.Sprintf("upstream refuses %d: %v\nwe refuse %d: %v", want.rejected, want.err,
			got.rejected, got.err)
	}
	if want.err != nil {
		return ""
	}
	if want.object != got.object {
		return fmt.Sprintf("upstream's object\n%s\nours\n%s", want.object, got.object)
	}
	names := map[string]bool{}
	for _, fields := range []map[string]*fieldpath.Set{want.fields, got.fields} {
		for name := range fields {
			names[name] = true
		}
	}
	// The field manager gives an object without owners one for what it held.
	delete(names, "before-first-apply")
	if updated {
		delete(names, "base") // an update owns also the fields that contain what it set
	}
	for name := range names {
		w, g := want.fields[name], got.fields[name]
		if w == nil {
			w = fieldpath.NewSet()
		}
		if g == nil {
			g = fieldpath.NewSet()
		}
		if !w.Equals(g) {
			return fmt.Sprintf("%s owns upstream, and not with us:\n%s\nand with us alone:\n%s",
				name, w.Difference(g), g.Difference(w))
		}
	}
	return ""
}

func canonical(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return b.String()
}

func deepCopy(o merge.Object) merge.Object { return fuzz.Copy(o).(map[string]any) }
