package conflict_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/internal/testenv"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		conflict.Find, conflict.Force[corev1.Pod, corev1.Pod],
		new(conflict.Conflict), new(conflict.Conflicts), new(conflict.Decision), new(conflict.Kind),
	)
}

// TestFind_WithoutOwners wants no silence about conflicts that nobody has looked for.
func TestFind_WithoutOwners(t *testing.T) {
	err := conflict.Find(nil).Err()
	if err == nil || !strings.Contains(err.Error(), "Options.Owners") {
		t.Errorf("Find(a merge without owners) = %v, want an error that names Options.Owners", err)
	}
}
