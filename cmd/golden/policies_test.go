package golden_test

import (
	"testing"

	"github.com/trainweld/trainweld/cmd/golden"
)

// TestPolicies renders the recorded cases, as "trainweld test internal/testdata/policies" does: a folder for each policy and each of its
// oddities that takes more than a story to show.
func TestPolicies(t *testing.T) { golden.Run(t, "../../internal/testdata/policies") }
