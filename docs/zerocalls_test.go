package docs_test

import (
	"testing"

	"github.com/trainweld/trainweld/docs"
	"github.com/trainweld/trainweld/internal/testenv"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		docs.Codes, docs.Of,
	)
}
