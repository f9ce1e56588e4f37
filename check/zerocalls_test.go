package check_test

import (
	"testing"

	"github.com/trainweld/trainweld/check"
	"github.com/trainweld/trainweld/internal/testenv"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil, check.Patches)
}
