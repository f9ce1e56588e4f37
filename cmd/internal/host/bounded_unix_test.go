//go:build unix

package host

import (
	"io/fs"
	"os"
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
	for _, files := range []fs.FS{Files{}, NewOverlay(Files{})} {
		if _, err := Bounded(files, ".").Open("pipe"); err == nil ||
			!strings.Contains(err.Error(), "is a named pipe: must be a regular file") {
			t.Errorf("Open() of %T = %v", files, err)
		}
	}
}

// TestOverlay_Pipe reads a named pipe, whose writer comes once, for a second time.
func TestOverlay_Pipe(t *testing.T) {
	pipe := filepath.Join(repository(t), "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	written := make(chan error)
	go func() { written <- os.WriteFile(pipe, []byte("text"), 0) }()
	files := NewOverlay(Files{})
	for range 2 {
		if text, err := fs.ReadFile(files, "pipe"); err != nil || string(text) != "text" {
			t.Errorf("the pipe has %q, %v", text, err)
		}
		// A writer that nobody reads from waits. A second read would wait for another one.
		if written != nil {
			if err := <-written; err != nil {
				t.Error(err)
			}
			written = nil
		}
	}
}
