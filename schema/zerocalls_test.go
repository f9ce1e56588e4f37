package schema_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/schema"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		schema.Compile, schema.FieldNames, schema.Open, schema.ParseOpenAPI, schema.TypeOf,
		new(schema.Kind), new(schema.List), new(schema.Slot), new(schema.Texts), new(schema.Type), new(schema.Union), new(schema.View),
	)
}
