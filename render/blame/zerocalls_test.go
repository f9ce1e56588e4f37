package blame_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/blame"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		blame.JobType, blame.New, blame.PodType,
		new(blame.Field), new(blame.Object), new(blame.UnknownField), new(blame.UnsetField),
	)
}
