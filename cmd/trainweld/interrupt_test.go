//go:build unix

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/internal/exit"
	"github.com/trainweld/trainweld/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/internal/transaction"
)

// after interrupts when it was asked that often.
func after(times int) func() error {
	asked := make(chan struct{}, times)
	return func() error {
		select {
		case asked <- struct{}{}:
			return nil
		default:
			return host.Interrupted{Signal: syscall.SIGTERM}
		}
	}
}

// TestInterruptedDir interrupts the writing of a directory at every place at which it asks: everything is as it
// was, also that the directory was not there; but when all is written, it is too late.
func TestInterruptedDir(t *testing.T) {
	files := []transaction.File{fileOf("a.yaml", "new a"), fileOf("b.yaml", "new b"), fileOf("c.yaml", "new c")}
	for _, before := range []map[string]string{
		nil,
		{"a.yaml": "old a", "gone.yaml": "gone", "mine.txt": "mine", ownFilesName: transaction.Sum([]byte("old a")) + "  a.yaml\n" + transaction.Sum([]byte("gone")) + "  gone.yaml\n"},
	} {
		places := 0
		for ; ; places++ {
			dir := filepath.Join(t.TempDir(), "deep", "out")
			if before != nil {
				if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(directory(t, before), dir); err != nil {
					t.Fatal(err)
				}
			}
			_, err := quietDir(dir, true).write(files, after(places))
			if err == nil {
				break
			}
			if signal := (host.Interrupted{}); !errors.As(err, &signal) || signal.Status() != 143 {
				t.Fatalf("place %d: %v", places, err)
			}
			if before == nil {
				if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("place %d: the directory is there: %v", places, err)
				}
			} else if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
				t.Errorf("place %d: the directory was changed (-want +got):\n%s", places, diff)
			}
		}
		if places < 2*len(files) {
			t.Errorf("it asked at %d places only", places)
		}
	}
}

// TestInterruptedReading interrupts processes that wait for their input: they end at once, with the
// signal's status, and nothing was written.
func TestInterruptedReading(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		dir := filepath.Join(t.TempDir(), "out")
		run := renderInto("-", dir)
		input, err := run.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		// More than a pipe holds: once it is written, the process is reading.
		if _, err := input.Write(bytes.Repeat([]byte("#\n"), 1<<17)); err != nil {
			t.Fatal(err)
		}
		if err := run.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = run.Wait() // says what the status does
		if status := run.ProcessState.ExitCode(); status != 128+int(signal) {
			t.Errorf("%s: %v", signal, run.ProcessState)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the directory is there: %v", signal, err)
		}
	}
}

// TestInterruptedProcess interrupts processes of each command that writes files, at random moments. One with the status of
// the signal has left everything as it was, or was done with everything; any other was too late, and has done everything.
func TestInterruptedProcess(t *testing.T) {
	if testing.Short() || testenv.Race {
		t.Skip("sends signals to processes for several seconds")
	}
	random := seeded(t)
	all := writers(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			w, ends := all[name], map[string]int{}
			w.complete(t, 0)
			for i := range 20 {
				version := 1 - i%2
				w.prepare(t, w.dir, version)
				before := tree(t, w.dir)
				sent := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[random.IntN(2)]
				state := w.disturb(t, random, version, sent)
				now := tree(t, w.dir)
				switch status := state.ExitCode(); {
				case status == exit.Done:
					ends["too late"]++
					if diff := cmp.Diff(w.trees[version], now); diff != "" {
						t.Fatalf("a run that was too late to be interrupted left something else than a clean one (-want +got):\n%s", diff)
					}
				case status == 128+int(sent) && maps.Equal(w.trees[version], now):
					ends["ended when all was done"]++
				case status == 128+int(sent):
					ends["undone"]++
					if diff := cmp.Diff(before, now); diff != "" {
						t.Fatalf("an interrupted run has changed something (-want +got):\n%s", diff)
					}
				case status == -1 && maps.Equal(before, now):
					ends["ended before it could listen"]++ // by the signal itself
				default:
					t.Fatalf("status %d", status)
				}
				if i%5 == 4 {
					w.complete(t, version)
				}
			}
			t.Logf("ends of 20 runs: %v", ends)
			if ends["undone"] == 0 {
				t.Error("no run was interrupted")
			}
		})
	}
}
