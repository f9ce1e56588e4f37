package conflict_test

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		conflict.Find, conflict.Force, conflict.Review,
		new(conflict.Conflict), new(conflict.Conflicts), new(conflict.Decision), new(conflict.Kind),
	)
}

// TestFind_WithoutOwners wants no silence about conflicts that nobody has looked for.
func TestFind_WithoutOwners(t *testing.T) {
	err := conflict.Find(&merge.Result{}).Err()
	if err == nil || !strings.Contains(err.Error(), "merge.Options.Owners") {
		t.Errorf("Find(a merge without owners) = %v, want an error that names merge.Options.Owners", err)
	}
}
