package policy

import (
	"bytes"
	"flag"
	"os"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/render/compose"
	"github.com/trainweld/trainweld/render/jsonschema"
)

var update = flag.Bool("update", false, "write render/codes/policy.schema.json")

const schemaFile = "../codes/policy.schema.json"

// TestSchema compares the JSON Schema in docs with the types that Parse decodes.
func TestSchema(t *testing.T) {
	root := jsonschema.Of(reflect.TypeFor[file](), map[reflect.Type]jsonschema.Schema{
		reflect.TypeFor[version]():          {"type": []string{"string", "number"}},
		reflect.TypeFor[composeKind]():      {"enum": namesOf(compose.Kinds())},
		reflect.TypeFor[secondsKind]():      {"enum": namesOf(secondsKinds[:])},
		reflect.TypeFor[map[string]level](): {"type": "object", "additionalProperties": false, "patternProperties": map[string]any{"^TW[0-9]{3}$": map[string]any{"enum": []any{"off", false, "note", "warning", "error"}}}},
		reflect.TypeFor[int]():              {"enum": []int{latest}},
	})
	notEmpty(root)
	root["minProperties"], root["title"] = 1, "A policy file of trainweld"
	jsonschema.Golden(t, schemaFile, root, *update)
}

// notEmpty demands a value of each text, list and object.
func notEmpty(s jsonschema.Schema) {
	switch {
	case s["type"] == "string":
		s["minLength"] = 1
	case s["type"] == "array":
		s["minItems"] = 1
	case s["patternProperties"] != nil:
		s["minProperties"] = 1
	}
	if items, ok := s["items"].(jsonschema.Schema); ok {
		notEmpty(items)
	}
	fields, _ := s["properties"].(jsonschema.Schema)
	for _, f := range fields {
		notEmpty(f.(jsonschema.Schema))
	}
}

// rejected counts the errors of a check.
type rejected struct {
	testing.TB
	n int
}

func (r *rejected) Helper()               {}
func (r *rejected) Errorf(string, ...any) { r.n++ }

// TestSchema_AgreesWithParse holds that the schema accepts the files that Parse accepts, and rejects a file of a wrong form.
func TestSchema_AgreesWithParse(t *testing.T) {
	for _, tc := range files() {
		t.Run(tc.name, func(t *testing.T) {
			text, err := yaml.YAMLToJSON([]byte(tc.text))
			if err != nil {
				return // no schema sees it
			}
			_, found := Parse("trainweld.yaml", []byte(tc.text))
			r := &rejected{TB: t}
			jsonschema.Check(r, schemaFile, text)
			switch {
			case r.n > 0 && found.Err() == nil:
				t.Errorf("Parse accepts %s, and the schema does not", tc.text)
			case r.n == 0 && found.Err() != nil && !tc.beyond:
				t.Errorf("the schema accepts %s, and Parse reports %v", tc.text, found)
			}
		})
	}
}

// TestPolicyDoc holds the example of docs/policy.md against the file of the repository.
func TestPolicyDoc(t *testing.T) {
	page, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"internal/testdata/policyfile/trainweld.yaml", "internal/testdata/compose/trainweld.yaml"} {
		example, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(page, append([]byte("```yaml\n"), example...)) {
			t.Errorf("docs/policy.md shows another file than %s", file)
		}
	}
	for _, field := range []string{"version", "trainerVersion", "managers", "managers[].required", "managers[].paths", "compose", "compose[].path", "compose[].rule", "compose[].owner", "compose[].tolerationSeconds", "patches", "patches[].file", "patches[].manager", "patches[].for", "severities", "cluster", "cluster.name", "cluster.namespaceSelector", "cluster.objectSelector"} {
		if !bytes.Contains(page, []byte("| `"+field+"` |")) {
			t.Errorf("docs/policy.md has no row for %s", field)
		}
	}
}
