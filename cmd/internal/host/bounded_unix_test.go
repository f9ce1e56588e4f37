//go:build unix

package host

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestBounded_Pipe opens a named pipe of a repository, whose writer never comes.
func TestBounded_Pipe(t *testing.T) {
	dir := repository(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Bounded(Files{}, ".").Open("pipe"); err == nil ||
		!strings.Contains(err.Error(), "is a named pipe: must be a regular file") {
		t.Errorf("Open() = %v", err)
	}
}
