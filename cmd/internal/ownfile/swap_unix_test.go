//go:build unix

package ownfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trainweld/trainweld/cmd/internal/ownfile"
)

// TestOpen_Swapped opens a file that takes turns with a named pipe. It is never the pipe, also when
// it was a file just before.
func TestOpen_Swapped(t *testing.T) {
	dir := t.TempDir()
	file, pipe, name, next := filepath.Join(dir, "file"), filepath.Join(dir, "pipe"),
		filepath.Join(dir, "name"), filepath.Join(dir, "next")
	if err := errors.Join(os.WriteFile(file, nil, 0o666), syscall.Mkfifo(pipe, 0o666),
		os.Link(file, name)); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ended, swaps := make(chan struct{}), make(chan error)
	go func() {
		for {
			for _, other := range []string{pipe, file} {
				select {
				case <-ended:
					swaps <- nil
					return
				default:
				}
				if err := errors.Join(os.Link(other, next), os.Rename(next, name)); err != nil {
					swaps <- err
					return
				}
			}
		}
	}()
	seen := false
	for begun := time.Now(); !seen && time.Since(begun) < 20*time.Second; {
		f, err := ownfile.Open(root, "name")
		if err != nil {
			seen = strings.Contains(err.Error(), "replaced while it was opened")
			continue
		}
		info, err := f.Stat()
		if err != nil || !info.Mode().IsRegular() {
			t.Fatalf("Open() = %v, %v, want a regular file", info.Mode(), err)
		}
		f.Close()
	}
	close(ended)
	if err := <-swaps; err != nil {
		t.Fatal(err)
	}
	if !seen {
		t.Skip("the file was never replaced at the right moment")
	}
}
