// Package jsonschema checks output for programs against the JSON Schemas in docs. Only tests import it.
//
//	jsonschema.Check(t, "../../docs/findings.schema.json", output)
package jsonschema

import (
	"encoding/json"
	"os"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Check reports as test errors all violations of a file's schema in a JSON text.
func Check(t testing.TB, file string, text []byte) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var schema spec.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Errorf("the output is not JSON: %v\n%s", err, text)
		return
	}
	if err := validate.AgainstSchema(&schema, value, strfmt.Default); err != nil {
		t.Errorf("the output is not as %s says: %v\n%s", file, err, text)
	}
}
