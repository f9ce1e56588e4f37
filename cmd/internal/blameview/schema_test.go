package blameview

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
	jsonschema.Golden(t, "../../../docs/json/blame.schema.json", jsonschema.Report("The report of trainweld blame -o json", reflect.TypeFor[blameReport](), report.SchemaVersion, nil), *update)
	jsonschema.Golden(t, "../../../docs/json/owners.schema.json", jsonschema.Report("The report of trainweld blame -o json on managed fields", reflect.TypeFor[ownersReport](), report.SchemaVersion, nil), *update)
}
