package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
)

// TestRemoved uses every verb and flag that is gone: the error names it, and says what to use
// instead.
func TestRemoved(t *testing.T) {
	for _, r := range commandline.Removals() {
		var stdout, stderr bytes.Buffer
		p := host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
			Files: host.Files{}}
		status := runLine(&p, append(strings.Fields(r.Name()), "x"))
		line, _, _ := strings.Cut(stderr.String(), "\n")
		if want := "trainweld: " + r.Name() + " is gone: " + r.Instead; status != exit.Failed ||
			line != want {
			t.Errorf("%s: status %d, %q, want %q", r.Name(), status, line, want)
		}
	}
	if err := commandline.Removed("diff", "git"); err != nil {
		t.Error(err)
	}
}
