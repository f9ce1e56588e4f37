package cli

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
)

// TestRemoved uses every verb and flag that is gone: the error names it, and says what to use
// instead.
func TestRemoved(t *testing.T) {
	for name, instead := range commandline.Removals() {
		status, _, stderr := ran("", append(strings.Fields(name), "x")...)
		line, _, _ := strings.Cut(stderr, "\n")
		if want := "trainweld: " + name + " is gone: " + instead; status != exit.Failed ||
			line != want {
			t.Errorf("%s: status %d, %q, want %q", name, status, line, want)
		}
	}
	if err := commandline.Removed("diff", "git"); err != nil {
		t.Error(err)
	}
}
