// Package serverside answers: what would an API server make of these JobSets by server-side apply?
//
// It applies them by structured-merge-diff and the schema of JobSet's custom resource definition, and records
// what each manager owns. Tests and benchmarks hold package merge beside it; the program links none of it.
//
//	server, err := serverside.New("render/admission/crds/jobsets.json.gz")
//	live, err := server.Typed(map[string]any{"spec": spec})
//	live, owners, err := server.Apply(live, config, owners, "kueue")
package serverside

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdmerge "sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Version is that of every object and of every manager's fields.
const Version = fieldpath.APIVersion("jobset.x-k8s.io/v1alpha2")

// Server is the server's side of an apply.
type Server struct {
	// Schema is that of the definition. It is only read.
	Schema *spec.Schema

	updater   *smdmerge.Updater
	converter managedfields.TypeConverter
}

// New reads JobSet's definition from a file, as package admission embeds it: packed JSON. That it is the one which
// JobSet ships is tested there.
func New(file string) (*Server, error) {
	schema, err := schemaIn(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	// Under a definition the server knows the whole of metadata.
	labels := spec.MapProperty(spec.StringProperty())
	schema.Properties["metadata"] = spec.Schema{SchemaProps: spec.SchemaProps{
		Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{"labels": *labels, "annotations": *labels},
	}}
	gvk := map[string]any{"group": "jobset.x-k8s.io", "version": "v1alpha2", "kind": "JobSet"}
	schema.AddExtension("x-kubernetes-group-version-kind", []any{gvk})
	converter, err := managedfields.NewTypeConverter(map[string]*spec.Schema{"JobSet": schema}, false)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	builder := smdmerge.UpdaterBuilder{Converter: oneVersion{}, ReturnInputOnNoop: true}
	return &Server{Schema: schema, updater: builder.BuildUpdater(), converter: converter}, nil
}

func schemaIn(file string) (*spec.Schema, error) {
	packed, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema spec.Schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := json.NewDecoder(unpacked).Decode(&definition); err != nil {
		return nil, err
	}
	if n := len(definition.Spec.Versions); n != 1 {
		return nil, fmt.Errorf("the definition has %d versions, want one", n)
	}
	return &definition.Spec.Versions[0].Schema.OpenAPIV3Schema, nil
}

// Typed is a JobSet of these fields, by their encoding, as a manager applies it. It refuses what the definition
// does not declare.
func (s *Server) Typed(fields map[string]any) (*typed.TypedValue, error) {
	object := maps.Clone(fields)
	object["apiVersion"], object["kind"] = string(Version), "JobSet"
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	return s.converter.ObjectToTyped(u)
}

// Apply applies by force what a manager says of the live object, and returns the object that becomes of it, with
// what each manager owns. The owners that it was given count no longer: it may have written into them.
func (s *Server) Apply(live, config *typed.TypedValue, owners fieldpath.ManagedFields, manager string) (*typed.TypedValue, fieldpath.ManagedFields, error) {
	return s.updater.Apply(live, config, Version, owners, manager, true)
}

// oneVersion is the conversion between versions where there is only one.
type oneVersion struct{}

func (oneVersion) Convert(v *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return v, nil
}
func (oneVersion) IsMissingVersionError(error) bool { return false }
