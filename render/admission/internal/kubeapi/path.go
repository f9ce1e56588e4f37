package kubeapi

import (
	"slices"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// PrintedPath returns a field of a Job as the API server prints it (Kubernetes v1.36.3
// pkg/apis/core/validation). The server omits the metadata of labels and annotations of the Pod
// template, except reserved ones. It renames or omits some fields of volumes and affinities.
func PrintedPath(code finding.Code, path fieldpath.Path) fieldpath.Path {
	metadata := fieldpath.Fields("spec", "template", "metadata")
	if code == codes.BadLabel && len(path) > len(metadata) && path.HasPrefix(metadata) {
		return fieldpath.Fields("spec", "template").Append(path[len(metadata):]...)
	}
	printed := make(fieldpath.Path, 0, len(path))
	for i := 0; i < len(path); i++ {
		rest := path[i:]
		switch name, _ := path[i].Field(); {
		case code == codes.TwoSources && name == "downwardAPI" && len(rest) == 1:
			printed = append(printed, fieldpath.Field("downwarAPI"))
		case name == "downwardAPI" && len(rest) > 2 && rest[1] == fieldpath.Field("items"):
			printed = append(printed, path[i])
			i += 2 // the list and the position
		case name == "gcePersistentDisk" && len(rest) > 1:
			printed = append(printed, fieldpath.Field("persistentDisk"))
		case name == "serviceAccountToken" && len(rest) == 2 && rest[1] == fieldpath.Field("path"):
			// the list of sources and the position
			printed = slices.Delete(printed, len(printed)-2, len(printed))
		case name == "namespaces" && len(rest) == 2:
			return append(printed, fieldpath.Field("namespace"))
		default:
			printed = append(printed, path[i])
		}
	}
	return printed
}
