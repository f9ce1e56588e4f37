package schema_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/schema"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		schema.Compile, schema.Element, schema.ElementOf, schema.Field, schema.FieldNames, schema.Fields, schema.FormatClaim, schema.FormatValue, schema.HideSecrets, schema.Index, schema.IsSecret, schema.IsSecretOf,
		schema.Item, schema.ItemBy, schema.Key, schema.Manager, schema.Nearest, schema.Open, schema.Override,
		schema.ParseOpenAPI, schema.ParsePath, schema.PatchPath, schema.Policy, schema.SameValue, schema.Scheduler, schema.StricterCodes,
		schema.TypeOf,
		new(schema.Claim), new(schema.Finding), new(schema.Findings), new(schema.Kind), new(schema.Layer),
		new(schema.Object), new(schema.Path), new(schema.Position), new(schema.Presence), new(schema.Severity),
		new(schema.Slot), new(schema.Step), new(schema.Texts), new(schema.Type), new(schema.Union),
	)
}
