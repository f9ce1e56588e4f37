package explain_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/explain"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		explain.Field, explain.Format, explain.Paths,
	)
}
