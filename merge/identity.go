package merge

import (
	"errors"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file keeps what makes a value an object of the API. Upstream's merge lets a patch remove it,
// and the API server then refuses the result: apiserver v0.36.3 pkg/endpoints/handlers/patch.go
// decodes it by its kind, and compares its name with the request's.

// identity is what tells an object from all others.
type identity struct{ apiVersion, kind, name string }

// identityOf returns the identity of an object.
func identityOf(object Object) (is identity) {
	is.apiVersion, _ = object["apiVersion"].(string)
	is.kind, _ = object["kind"].(string)
	metadata, _ := object["metadata"].(Object)
	is.name, _ = metadata["name"].(string)
	return is
}

// isOfObjects reports whether a type is that of whole objects.
func isOfObjects(t *schema.Type) bool {
	return t.Field("apiVersion") != nil && t.Field("kind") != nil && t.Field("metadata") != nil
}

// keptBy returns an error for a patch that took the identity from its object.
func (is identity) keptBy(object Object) error {
	after, taken := identityOf(object), ""
	switch {
	case is.apiVersion != "" && after.apiVersion == "":
		taken = "apiVersion"
	case is.kind != "" && after.kind == "":
		taken = "kind"
	case is.name != "" && after.name == "":
		return inside(fieldpath.Field("metadata"), inside(fieldpath.Field("name"), errTaken))
	default:
		return nil
	}
	return inside(fieldpath.Field(taken), errTaken)
}

var (
	errTaken   = errors.New("required: a patch cannot remove it from its object")
	errDeleted = errors.New(
		"$patch: delete at the root is forbidden: a patch cannot delete its object")
)
