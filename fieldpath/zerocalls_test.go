package fieldpath_test

import (
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/testenv"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		fieldpath.Element, fieldpath.ElementOf, fieldpath.Field, fieldpath.Fields, fieldpath.Index, fieldpath.Item, fieldpath.ItemBy, fieldpath.Key, fieldpath.ParsePath,
		new(fieldpath.Object), new(fieldpath.Path), new(fieldpath.Position), new(fieldpath.Step),
	)
}
