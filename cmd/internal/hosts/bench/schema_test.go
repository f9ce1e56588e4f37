//go:build unix

package bench

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/release"
)

// newValidator returns kubeconform for the kinds of the latest release. It rejects unknown fields,
// and reads schemas from files only.
func newValidator(tb testing.TB) validator.Validator {
	tb.Helper()
	dir := tb.TempDir()
	for file, kind := range map[string]string{
		"trainjob.json": "TrainJob", "clustertrainingruntime.json": "ClusterTrainingRuntime"} {
		testenv.WriteIn(tb, dir, file, schemaOf(tb, kind))
	}
	v, err := validator.New([]string{filepath.Join(dir, "{{ .ResourceKind }}.json")},
		validator.Opts{Strict: true})
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// schemaOf returns the JSON Schema of a definition, as users of kubeconform make it. Objects allow
// no unknown fields. A value that is an integer or a string gets both types.
func schemaOf(tb testing.TB, kind string) string {
	tb.Helper()
	data, err := release.Latest().Definition(kind)
	if err != nil {
		tb.Fatal(err)
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	if err := json.Unmarshal(data, &definition); err != nil {
		tb.Fatal(err)
	}
	schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	closeObjects(schema)
	text, err := json.Marshal(schema)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// closeObjects changes a schema and all below it.
func closeObjects(schema map[string]any) {
	if properties, ok := schema["properties"].(map[string]any); ok {
		if _, set := schema["additionalProperties"]; !set &&
			schema["x-kubernetes-preserve-unknown-fields"] != true {
			schema["additionalProperties"] = false
		}
		for _, property := range properties {
			closeObjects(property.(map[string]any))
		}
	}
	for _, field := range []string{"items", "additionalProperties"} {
		if below, ok := schema[field].(map[string]any); ok {
			closeObjects(below)
		}
	}
	if schema["x-kubernetes-int-or-string"] == true {
		schema["type"] = []string{"integer", "string"}
	}
}
