package builtin

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trainweld/trainweld/render/release/minor"
	"github.com/trainweld/trainweld/schema"
)

// schemas holds how the kinds of each version of Kubernetes merge, without their descriptions. The
// program fuzz/minors/schemas writes it.
//
//go:embed schemas.json.gz
var schemas []byte

// SchemaOf returns how an apply merges the objects of a kind in a minor version of Kubernetes. It
// is nil for a kind that the version does not serve. Unlike TypeOf, it knows alpha and beta
// versions.
func SchemaOf(kubernetes, apiVersion, kind string) *schema.Type {
	t, err := schema.ParseOpenAPI(
		documentOf(kubernetes), runtimeschema.FromAPIVersionAndKind(apiVersion, kind))
	if err != nil {
		return nil // the document has no other mistake than to lack the kind
	}
	return t
}

// documentOf returns the OpenAPI document of a version.
func documentOf(kubernetes string) []byte {
	read, err := gzip.NewReader(bytes.NewReader(schemas))
	if err != nil {
		panic("builtin: " + err.Error()) // the file is not what the program writes
	}
	// The oldest version has all its schemas, and each later one those that it changes or, as null,
	// removes.
	var changes []struct {
		Minor   string
		Schemas map[string]json.RawMessage
	}
	if err := json.NewDecoder(read).Decode(&changes); err != nil {
		panic("builtin: " + err.Error())
	}
	all := map[string]json.RawMessage{}
	for i, change := range changes {
		if i > 0 && minor.Compare(change.Minor, kubernetes) > 0 {
			break
		}
		for name, text := range change.Schemas {
			if all[name] = text; string(text) == "null" {
				delete(all, name)
			}
		}
	}
	document, err := json.Marshal(map[string]any{
		"openapi": "3.0.0", "components": map[string]any{"schemas": all}})
	if err != nil {
		panic("builtin: " + err.Error())
	}
	return document
}
