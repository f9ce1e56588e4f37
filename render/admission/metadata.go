package admission

import (
	"slices"

	structuralobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/codes"
)

// plainMetadata has the fields of metadata that are stored as they are written.
type plainMetadata struct {
	Name            string                  `json:"name"`
	GenerateName    string                  `json:"generateName"`
	Namespace       string                  `json:"namespace"`
	Labels          map[string]string       `json:"labels"`
	Annotations     map[string]string       `json:"annotations"`
	OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
}

// storedMetadata returns the metadata that the API server stores, without the fields that it
// maintains itself, and the paths of unknown fields. It returns nil for an object without metadata.
func (o *object) storedMetadata() (metadata map[string]any, unknown []string, err error) {
	given, exists := o.fields["metadata"]
	if !exists {
		return nil, nil, nil
	}
	if isPlain(given) {
		metadata = withoutEmpty(given.(map[string]any))
	} else {
		decoded := new(metav1.ObjectMeta)
		if !tree.Decode(given, decoded) {
			decoded, _, unknown, err = structuralobjectmeta.GetObjectMetaWithOptions(
				o.fields, structuralobjectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
		}
		if err == nil {
			metadata, err = runtime.DefaultUnstructuredConverter.ToUnstructured(decoded)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	for _, name := range []string{"generation", "managedFields", "deletionTimestamp",
		"deletionGracePeriodSeconds", "namespace"} {
		delete(metadata, name)
	}
	if o.id.Namespace != "" { // of the request; a cluster-scoped kind has none
		metadata["namespace"] = o.id.Namespace
	}
	return metadata, unknown, nil
}

// isPlain reports whether the Go type of all metadata would encode a value as it is, except for
// empty fields.
func isPlain(metadata any) bool {
	if hasNull(metadata) || !tree.Fits(metadata, new(plainMetadata)) {
		return false
	}
	owners, _ := metadata.(map[string]any)["ownerReferences"].([]any)
	for _, owner := range owners {
		for _, required := range []string{"apiVersion", "kind", "name", "uid"} {
			if _, isSet := owner.(map[string]any)[required]; !isSet {
				return false
			}
		}
	}
	return true
}

// hasNull reports whether a decoded JSON value has a null.
func hasNull(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, field := range v {
			if hasNull(field) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasNull)
	}
	return value == nil
}

// withoutEmpty returns metadata without empty texts, maps and lists.
func withoutEmpty(metadata map[string]any) map[string]any {
	kept := make(map[string]any, len(metadata)+1) // one for the namespace
	for name, value := range metadata {
		isEmpty := false
		switch value := value.(type) {
		case string:
			isEmpty = value == ""
		case map[string]any:
			isEmpty = len(value) == 0
		case []any:
			isEmpty = len(value) == 0
		}
		if !isEmpty {
			kept[name] = value
		}
	}
	return kept
}

// generateName sets a name like the one that the API server generates, and reports it.
func (o *object) generateName(metadata map[string]any, found *findings) {
	prefix, _ := metadata["generateName"].(string)
	if prefix == "" || metadata["name"] != nil {
		return
	}
	metadata["name"] = generatedName(prefix)
	found.Add(finding.Finding{
		Code: codes.NoName, Severity: finding.Error, Object: o.id,
		Path: fieldpath.Fields("metadata", "name"),
		Message: "metadata.generateName gives a different name on every create; " +
			"dependent objects cannot be rendered",
		Remedy: finding.Remedy{Do: finding.SetValue, Text: "set metadata.name"},
	})
}

// generatedName returns a name like the names that an API server generates before all other checks
// (apiserver v0.36.3 pkg/storage/names).
func generatedName(prefix string) string {
	const longest, suffix = 63, "xxxxx"
	return prefix[:min(len(prefix), longest-len(suffix))] + suffix
}
