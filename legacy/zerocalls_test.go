package legacy_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/legacy"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		legacy.Fields, legacy.Layer,
		new(legacy.Overrides), new(legacy.TrainJob),
	)
}
