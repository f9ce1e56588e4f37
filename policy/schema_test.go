package policy

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/compose"
	"github.com/trainweld/trainweld/internal/jsonschema"
)

var update = flag.Bool("update", false, "write docs/policy.schema.json")

const schemaFile = "../docs/policy.schema.json"

// TestSchema compares the JSON Schema in docs with the types that Parse decodes.
func TestSchema(t *testing.T) {
	root := schemaOf(reflect.TypeFor[file]())
	root["$schema"], root["title"], root["minProperties"] = "http://json-schema.org/draft-07/schema#", "A policy file of trainweld", 1
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(schemaFile, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, b.Bytes()) {
		t.Errorf("%s is not the schema of the types: go test ./policy -update writes it", schemaFile)
	}
}

// schemaOf returns the JSON Schema of a type of the file.
func schemaOf(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[version]():
		return map[string]any{"type": []string{"string", "number"}}
	case reflect.TypeFor[composeKind]():
		return map[string]any{"enum": namesOf(compose.Kinds())}
	case reflect.TypeFor[secondsKind]():
		return map[string]any{"enum": namesOf(secondsKinds[:])}
	case reflect.TypeFor[level]():
		return map[string]any{"enum": []any{"off", false, "note", "warning", "error"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string", "minLength": 1}
	case reflect.Slice:
		return map[string]any{"type": "array", "minItems": 1, "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "minProperties": 1, "additionalProperties": false, "patternProperties": map[string]any{"^TW[0-9]{3}$": schemaOf(t.Elem())}}
	}
	fields, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if options == "" {
			required = append(required, name)
		}
		of := schemaOf(f.Type)
		of["description"] = f.Tag.Get("doc")
		fields[name] = of
	}
	s := map[string]any{"type": "object", "additionalProperties": false, "properties": fields}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
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
	page, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"testdata/policyfile/trainweld.yaml", "testdata/compose/trainweld.yaml"} {
		example, err := os.ReadFile("../" + file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(page, append([]byte("```yaml\n"), example...)) {
			t.Errorf("docs/policy.md shows another file than %s", file)
		}
	}
	for _, field := range []string{"trainerVersion", "managers", "managers[].required", "managers[].paths", "compose", "compose[].path", "compose[].rule", "compose[].owner", "compose[].tolerationSeconds", "patches", "patches[].file", "patches[].manager", "patches[].for", "severities"} {
		if !bytes.Contains(page, []byte("| `"+field+"` |")) {
			t.Errorf("docs/policy.md has no row for %s", field)
		}
	}
}
