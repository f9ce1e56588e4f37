package golden_test

import (
	"testing"

	"github.com/trainweld/trainweld/cmd/golden"
)

// TestPolicies renders the recorded cases, as "trainweld test testdata/policies" does. There is a
// folder for each policy, and for each oddity that needs a case of its own.
func TestPolicies(t *testing.T) { golden.Run(t, "../../testdata/policies") }
