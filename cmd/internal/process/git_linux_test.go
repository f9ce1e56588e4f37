package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestGit_LargeFile reads a large file of a pack: git does not hold it in its memory.
func TestGit_LargeFile(t *testing.T) {
	const size = 128 << 20
	dir := t.TempDir()
	file := filepath.Join(dir, "large")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, size)); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"init -q", "add .", "-c user.name=a -c user.email=a@example.com commit -qm a",
		"repack -adq"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		if cmd.Dir = dir; cmd.Run() != nil {
			t.Fatalf("git %s: %s", args, cmd.ProcessState)
		}
	}
	read := Git(dir, "cat-file", "blob", "HEAD:large")
	if err := read.Run(); err != nil {
		t.Fatal(err)
	}
	if most := read.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10; most > size {
		t.Errorf("git holds %d MiB for a file of %d MiB", most>>20, size>>20)
	}
}
