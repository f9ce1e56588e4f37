package trainjob_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/trainjob"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		trainjob.KnownSources, trainjob.New, trainjob.RuntimeKinds,
	)
}
