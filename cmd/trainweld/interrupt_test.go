package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestInterruptedBuild ends the program while the command of a build runs. It leaves no copy of the tree.
func TestInterruptedBuild(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process of Windows gets no signal")
	}
	tree, copies := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, "Chart.yaml"), []byte("name: a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	started := filepath.Join(t.TempDir(), "started")
	cmd := exec.Command("trainweld", "check", "--build", "builder hang {}", ".")
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "TMPDIR="+copies, "STARTED="+started, "GIT_CEILING_DIRECTORIES="+filepath.Dir(tree))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	folder := ""
	for range 600 {
		if text, err := os.ReadFile(started); err == nil && len(text) > 0 {
			folder = string(text)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if folder == "" {
		t.Fatal("the command does not start")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ended) || ended.ExitCode() != 130 {
		t.Errorf("the program ends with %v, want 130", err)
	}
	if left, err := os.ReadDir(copies); err != nil || len(left) > 0 {
		t.Errorf("the copy %s is left: %v, %v", folder, left, err)
	}
}
