package explain

import (
	"flag"
	"reflect"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/render/jsonschema"
)

var update = flag.Bool("update", false, "write the JSON Schemas in docs/json")

// TestSchemas compares the JSON Schemas in docs with the types of the reports.
func TestSchemas(t *testing.T) {
	for file, of := range map[string]reflect.Type{
		"explain-field": reflect.TypeFor[ruleJSON](), "explain-code": reflect.TypeFor[codeJSON](), "explain-definitions": reflect.TypeFor[definitionsJSON](),
	} {
		jsonschema.Golden(t, "../../../../docs/json/"+file+".schema.json", jsonschema.Report("A report of trainweld explain -o json", of, report.SchemaVersion, nil), *update)
	}
}
