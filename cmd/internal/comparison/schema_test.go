package comparison

import (
	"flag"
	"math/big"
	"reflect"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/render/jsonschema"
)

var update = flag.Bool("update", false, "write the JSON Schemas in docs/json")

// TestSchemas compares the JSON Schemas in docs with the types of the reports.
func TestSchemas(t *testing.T) {
	special := map[reflect.Type]jsonschema.Schema{
		reflect.TypeFor[big.Int](): {"type": "integer", "minimum": 0},
		reflect.TypeFor[state]():   {"enum": []state{stateChanged, stateCreated, stateRemoved, stateRejected, stateAccepted, stateExtra, stateMissing}},
	}
	jsonschema.Golden(t, "../../../docs/json/diff.schema.json", jsonschema.Report("The report of trainweld diff -o json", reflect.TypeFor[jsonDiff](), report.SchemaVersion, special), *update)
}
