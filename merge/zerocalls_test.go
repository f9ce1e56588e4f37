package merge_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		merge.Apply, merge.Upsert,
		new(merge.Ownership), new(merge.PatchError), new(merge.PatchedField),
	)
}
