package trainingjob_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/legacy/trainingjob"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		trainingjob.Convert, trainingjob.Kinds, trainingjob.New,
		new(trainingjob.Result),
	)
}
