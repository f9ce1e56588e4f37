// Package serverside, which is not promised, performs server-side apply like an API server.
//
// It applies objects with structured-merge-diff, and records the fields of each manager. For
// JobSets it uses the schema of their custom resource definition. Package admission uses it for a
// second apply of a JobSet. Tests and benchmarks compare package merge with it.
//
//	server, err := serverside.New(definition)
//	live, err := server.Typed(map[string]any{"spec": spec})
//	live, owners, err := server.Apply(live, config, owners, "kueue")
package serverside

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdmerge "sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Version is the version of JobSets and of their managed fields.
const Version = fieldpath.APIVersion("jobset.x-k8s.io/v1alpha2")

// Server applies objects of one kind.
type Server struct {
	// Schema is the schema of JobSet's definition, or nil for other kinds. It is read-only.
	Schema *spec.Schema

	version   fieldpath.APIVersion
	kind      string
	updater   *smdmerge.Updater
	converter managedfields.TypeConverter
}

// New reads JobSet's definition as JSON, as package release holds it.
func New(definition []byte) (*Server, error) {
	schema, err := schemaIn(definition)
	if err != nil {
		return nil, fmt.Errorf("read the definition of JobSet: %w", err)
	}
	// Under a definition, the server knows all fields of metadata.
	labels := spec.MapProperty(spec.StringProperty())
	schema.Properties["metadata"] = spec.Schema{SchemaProps: spec.SchemaProps{
		Type:       spec.StringOrArray{"object"},
		Properties: map[string]spec.Schema{"labels": *labels, "annotations": *labels},
	}}
	gvk := map[string]any{"group": "jobset.x-k8s.io", "version": "v1alpha2", "kind": "JobSet"}
	schema.AddExtension("x-kubernetes-group-version-kind", []any{gvk})
	converter, err := managedfields.NewTypeConverter(map[string]*spec.Schema{"JobSet": schema},
		false)
	if err != nil {
		return nil, fmt.Errorf("read the definition of JobSet: %w", err)
	}
	s := Of(Version, "JobSet", converter)
	s.Schema = schema
	return s, nil
}

// Of returns the server of a kind in a converter's schemas.
func Of(version fieldpath.APIVersion, kind string, converter managedfields.TypeConverter) *Server {
	builder := smdmerge.UpdaterBuilder{Converter: oneVersion{}, ReturnInputOnNoop: true}
	return &Server{version: version, kind: kind, updater: builder.BuildUpdater(),
		converter: converter}
}

func schemaIn(definition []byte) (*spec.Schema, error) {
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema spec.Schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(definition, &crd); err != nil {
		return nil, err
	}
	if n := len(crd.Spec.Versions); n != 1 {
		return nil, fmt.Errorf("the definition has %d versions, want one", n)
	}
	return &crd.Spec.Versions[0].Schema.OpenAPIV3Schema, nil
}

// Typed returns an object with the given fields, by their JSON encoding, as a manager applies it.
// It returns an error for fields that the schema does not declare.
func (s *Server) Typed(fields map[string]any,
	options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	object := maps.Clone(fields)
	object["apiVersion"], object["kind"] = string(s.version), s.kind
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	return s.converter.ObjectToTyped(u, options...)
}

// Apply applies a manager's config to the live object by force. It returns the new object and the
// fields of each manager. It may modify owners, so do not use them afterwards.
func (s *Server) Apply(live, config *typed.TypedValue, owners fieldpath.ManagedFields,
	manager string) (*typed.TypedValue, fieldpath.ManagedFields, error) {
	return s.updater.Apply(live, config, s.version, owners, manager, true)
}

// Reapply returns the live object after its manager replaces the config before by the config now,
// by force. It assumes no other managers.
func (s *Server) Reapply(live, before, now map[string]any) (map[string]any, error) {
	object, err := s.Typed(live, typed.AllowDuplicates)
	if err != nil {
		return nil, fmt.Errorf("read the live object: %w", err)
	}
	previous, err := s.Typed(before)
	if err != nil {
		return nil, fmt.Errorf("read the config applied before: %w", err)
	}
	config, err := s.Typed(now)
	if err != nil {
		return nil, fmt.Errorf("read the config: %w", err)
	}
	set, err := previous.ToFieldSet()
	if err != nil {
		return nil, fmt.Errorf("read the fields applied before: %w", err)
	}
	const manager = "applier"
	owners := fieldpath.ManagedFields{manager: fieldpath.NewVersionedSet(set, s.version, true)}
	applied, _, err := s.Apply(object, config, owners, manager)
	if err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	fields, _ := applied.AsValue().Unstructured().(map[string]any)
	return fields, nil
}

// Owners returns the fields of each manager of a live object, as its metadata.managedFields has
// them. It omits the status, and metadata that the schema lacks. applier is the key of the manager
// that applies.
func Owners(entries []metav1.ManagedFieldsEntry, applier string) (fieldpath.ManagedFields, error) {
	owners := fieldpath.ManagedFields{}
	for i, entry := range entries {
		if entry.FieldsV1 == nil || entry.Subresource != "" {
			continue
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			return nil, err
		}
		maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool {
			return name != "f:spec" && name != "f:metadata"
		})
		if raw, ok := fields["f:metadata"]; ok {
			var metadata map[string]json.RawMessage
			if err := json.Unmarshal(raw, &metadata); err != nil {
				return nil, err
			}
			maps.DeleteFunc(metadata, func(name string, _ json.RawMessage) bool {
				return name != "f:labels" && name != "f:annotations"
			})
			var err error
			if fields["f:metadata"], err = json.Marshal(metadata); err != nil {
				return nil, err
			}
		}
		kept, err := json.Marshal(fields)
		if err != nil {
			return nil, err
		}
		set := fieldpath.NewSet()
		if err := set.FromJSON(bytes.NewReader(kept)); err != nil {
			return nil, err
		}
		isApply := entry.Operation == metav1.ManagedFieldsOperationApply
		name := fmt.Sprintf("%s %s %d", entry.Manager, entry.Operation, i)
		if isApply && entry.Manager == applier {
			name = applier
		}
		owners[name] = fieldpath.NewVersionedSet(set, fieldpath.APIVersion(entry.APIVersion),
			isApply)
	}
	return owners, nil
}

// oneVersion converts between versions of a kind with a single version.
type oneVersion struct{}

func (oneVersion) Convert(v *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return v, nil
}
func (oneVersion) IsMissingVersionError(error) bool { return false }
