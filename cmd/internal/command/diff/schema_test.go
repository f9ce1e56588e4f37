package diff

import (
	"flag"
	"reflect"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/render/jsonschema"
)

var update = flag.Bool("update", false, "write the JSON Schemas in docs/json")

// TestSchemas compares the JSON Schema in docs with the type of the report.
func TestSchemas(t *testing.T) {
	schema := jsonschema.Report("The report of trainweld diff --observed -o json", reflect.TypeFor[observedReport](), report.SchemaVersion, nil)
	jsonschema.Golden(t, "../../../../docs/json/observed.schema.json", schema, *update)
}
