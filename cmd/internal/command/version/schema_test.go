package version

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
	jsonschema.Golden(t, "../../../../docs/json/version.schema.json", jsonschema.Report("The report of trainweld version -o json", reflect.TypeFor[jsonVersion](), report.SchemaVersion, nil), *update)
}
