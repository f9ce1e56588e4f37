package diff_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/diff"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		diff.Compare, diff.Lines, diff.Mask, diff.OwnedBy, diff.OwnersOf, diff.OwnersOfFields,
		new(diff.Changes), new(diff.Kind), new(diff.Owners),
	)
}
