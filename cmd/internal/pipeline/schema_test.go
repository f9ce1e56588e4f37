package pipeline

import (
	"flag"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/render/jsonschema"
)

var update = flag.Bool("update", false, "write the JSON Schemas in docs/json")

// TestSchemas compares the JSON Schema in docs with the type of the report.
func TestSchemas(t *testing.T) {
	special := map[reflect.Type]jsonschema.Schema{
		reflect.TypeFor[corev1.PodTemplateSpec](): {"type": "object"},
		reflect.TypeFor[resource.Quantity]():      {"type": "string"},
		reflect.TypeFor[int32]():                  {"type": "integer"},
	}
	schema := jsonschema.Report("The report of trainweld render --to=podsets -o json", reflect.TypeFor[PodSetReport](), report.SchemaVersion, special)
	jsonschema.Golden(t, "../../../docs/json/podsets.schema.json", schema, *update)
}
