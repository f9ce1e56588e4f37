package merge

import (
	"errors"
	"reflect"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// This file keeps what makes a value an object of the API. Upstream's merge lets a patch remove it, and the API server then refuses
// the result: apiserver v0.36.3 pkg/endpoints/handlers/patch.go decodes it by its kind, and compares its name with the request's.

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

// identityIn returns the identity of a Go value of a type of objects.
func identityIn(t *schema.Type, value reflect.Value) identity {
	text := func(t *schema.Type, in reflect.Value, name string) string {
		f := t.Field(name)
		if f == nil {
			return ""
		}
		if v, ok := f.Template.Of(in); ok && v.Kind() == reflect.String {
			return v.String()
		}
		return ""
	}
	is := identity{apiVersion: text(t, value, "apiVersion"), kind: text(t, value, "kind")}
	metadata := t.Field("metadata")
	if in, ok := metadata.Template.Of(value); ok {
		if in = pointee(in); in.IsValid() {
			is.name = text(metadata.Type, in, "name")
		}
	}
	return is
}

// taken returns the field of the identity that a patch took from its object, or nil.
func (is identity) taken(after identity) fieldpath.Path {
	switch {
	case is.apiVersion != "" && after.apiVersion == "":
		return fieldpath.Fields("apiVersion")
	case is.kind != "" && after.kind == "":
		return fieldpath.Fields("kind")
	case is.name != "" && after.name == "":
		return fieldpath.Fields("metadata", "name")
	}
	return nil
}

// checkIdentity returns the error of a patch that takes a part of the identity from its object, or deletes the object.
func checkIdentity(layer Layer, index int, before, after identity) error {
	if path := before.taken(after); path != nil {
		return &PatchError{Layer: layer, Index: index, Path: path, Err: errTaken}
	}
	return nil
}

var (
	errTaken   = errors.New("required: a patch cannot remove it from its object")
	errDeleted = errors.New("$patch: delete at the root is forbidden: a patch cannot delete its object")
)
