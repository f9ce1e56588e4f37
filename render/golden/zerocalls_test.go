package golden_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/golden"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, map[string]string{"Run": "it is given the running test"},
		golden.Find, golden.Run, golden.Update, golden.UpdateFlag, golden.Walk,
		new(golden.Case), new(golden.Change), new(golden.Line), new(golden.Result),
	)
}
