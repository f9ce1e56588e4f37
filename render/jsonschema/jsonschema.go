// Package jsonschema makes the JSON Schemas in docs from the types that this program encodes or decodes, and checks output for programs
// against them. Only tests import it.
//
//	jsonschema.Golden(t, "../../docs/json/blame.schema.json", jsonschema.Of(reflect.TypeFor[blameReport](), nil), *update)
//	jsonschema.Check(t, "../../docs/json/blame.schema.json", output)
package jsonschema

import (
	"bytes"
	"encoding"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Schema is a JSON Schema.
type Schema = map[string]any

// Of returns the schema of a type by the rules of encoding/json. A field is required unless it has omitempty, and its tag doc is the
// description. special are the types with a schema of their own.
func Of(t reflect.Type, special map[reflect.Type]Schema) Schema {
	if known, ok := special[t]; ok {
		return maps.Clone(known)
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return Of(t.Elem(), special)
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return Schema{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.String:
		return Schema{"type": "string"}
	case reflect.Int:
		return Schema{"type": "integer", "minimum": 0}
	case reflect.Slice:
		return Schema{"type": "array", "items": Of(t.Elem(), special)}
	case reflect.Map:
		return Schema{"type": "object", "additionalProperties": Of(t.Elem(), special)}
	case reflect.Struct:
		fields, required := Schema{}, []string{}
		members(t, special, fields, &required)
		s := Schema{"type": "object", "additionalProperties": false, "properties": fields}
		if len(required) > 0 {
			s["required"] = required
		}
		return s
	default: // any value
		return Schema{}
	}
}

func members(t reflect.Type, special map[reflect.Type]Schema, fields Schema, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			members(f.Type, special, fields, required)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		if options == "" {
			*required = append(*required, name)
		}
		of := Of(f.Type, special)
		if text := f.Tag.Get("doc"); text != "" {
			of["description"] = text
		}
		fields[name] = of
	}
}

// Golden compares a schema with its file, or writes the file.
func Golden(t testing.TB, file string, schema Schema, update bool) {
	t.Helper()
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(schema); err != nil {
		t.Fatal(err)
	}
	if update {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, b.Bytes()) {
		t.Errorf("%s is not the schema of the types: go test . -update writes it", file)
	}
}

// Report returns the schema of a report: an object with its version.
func Report(title string, t reflect.Type, version int, special map[reflect.Type]Schema) Schema {
	s := Of(t, special)
	required, _ := s["required"].([]string)
	required = slices.DeleteFunc(slices.Clone(required), func(name string) bool { return name == "schemaVersion" })
	s["title"], s["required"] = title, append([]string{"schemaVersion"}, required...)
	s["properties"].(Schema)["schemaVersion"] = Schema{"enum": []int{version}, "description": "The version of this schema. A field that goes or changes its meaning makes another one; a new field does not."}
	return s
}

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
