package casefile

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

// Table reads the rows of a test from a YAML file: a list with the fields of T. It fails the test
// if there is none, or a row has a field that T lacks.
func Table[T any](t testing.TB, file string) []T {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []T
	if err := yaml.UnmarshalStrict(text, &rows); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no rows", file)
	}
	return rows
}
