package process

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestResident reads the memory and the time of this process, and none of one that has ended.
func TestResident(t *testing.T) {
	const held = 64 << 20
	before := Resident(os.Getpid())
	data := bytes.Repeat([]byte{1}, held)
	for start := time.Now(); Spent(os.Getpid()) < 50*time.Millisecond; {
		if bytes.Count(data, []byte{0}) > 0 || time.Since(start) > time.Minute {
			t.Fatal("no processor time was spent")
		}
	}
	after, spent := Resident(os.Getpid()), Spent(os.Getpid())
	runtime.KeepAlive(data)
	if grown := after - before; grown < held/2 || grown > 4*held || before < 1<<20 {
		t.Errorf("%d and then %d bytes, want %d more", before, after, held)
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	if all := time.Duration(usage.Utime.Nano() + usage.Stime.Nano()); spent < all/2 || spent > all+100*time.Millisecond {
		t.Errorf("spent %s, want %s", spent, all)
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	if pid := ended.Process.Pid; Resident(pid) != 0 || Spent(pid) != 0 {
		t.Errorf("a process that has ended holds %d bytes and has spent %s", Resident(pid), Spent(pid))
	}
}

// TestGit_LargeFile reads a large file of a pack: git does not hold it in its memory.
func TestGit_LargeFile(t *testing.T) {
	const size = 128 << 20
	dir := t.TempDir()
	file := filepath.Join(dir, "large")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, size)); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"init -q", "add .", "-c user.name=a -c user.email=a@example.com commit -qm a", "repack -adq"} {
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
