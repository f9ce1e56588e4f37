package report

import (
	"flag"
	"reflect"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/jsonschema"
)

// TestSchema compares the JSON Schema in docs with the types of the report.
func TestSchema(t *testing.T) {
	named := jsonschema.Schema{"type": "string", "minLength": 1}
	special := map[reflect.Type]jsonschema.Schema{
		reflect.TypeFor[finding.Code]():     {"type": "string", "pattern": "^TW[0-9]{3}$"},
		reflect.TypeFor[finding.Severity](): {"enum": []finding.Severity{finding.Error, finding.Warning, finding.Note}},
		reflect.TypeFor[action]():           {"enum": []action{"set", "quote", "remove", "rename", "move", "migrate"}},
		reflect.TypeFor[message]():          named,
		reflect.TypeFor[merge.Layer]():      named,
	}
	jsonschema.Golden(t, "../../../docs/json/findings.schema.json", jsonschema.Report("The report of trainweld check -o json and trainweld conflicts -o json", reflect.TypeFor[jsonReport](), SchemaVersion, special), flag.Lookup("update").Value.String() == "true")
}
