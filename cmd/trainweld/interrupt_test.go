//go:build unix

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/internal/testenv"
)

// after interrupts when it was asked as often as the channel has room.
type after chan struct{}

func (a after) listen() (came func() error, end func()) {
	return func() error {
		select {
		case a <- struct{}{}:
			return nil
		default:
			return interrupted{syscall.SIGTERM}
		}
	}, func() {}
}

// TestInterruptedDir interrupts the writing of a directory at every place at which it asks: everything is as it
// was, also that the directory was not there; but when all is written, it is too late.
func TestInterruptedDir(t *testing.T) {
	files := []outputFile{fileOf("a.yaml", "new a"), fileOf("b.yaml", "new b"), fileOf("c.yaml", "new c")}
	for _, before := range []map[string]string{
		nil,
		{"a.yaml": "old a", "gone.yaml": "gone", "mine.txt": "mine", ownFilesName: sumOf([]byte("old a")) + "  a.yaml\n" + sumOf([]byte("gone")) + "  gone.yaml\n"},
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
			d := quietDir(dir, true)
			d.interruptions = after(make(chan struct{}, places))
			_, err := d.write(files)
			if err == nil {
				break
			}
			if signal := (interrupted{}); !errors.As(err, &signal) || signal.status() != 143 {
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

// TestInterruptedReading interrupts processes that wait for their input: they end at once, as any other, and
// nothing was written.
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
		_ = run.Wait() // says that it was ended by the signal
		if status, ok := run.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != signal {
			t.Errorf("%s: %v", signal, run.ProcessState)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the directory is there: %v", signal, err)
		}
	}
}

// TestInterruptedProcess interrupts processes at random moments. One that says it was interrupted has left
// everything as it was; one that was too late has done everything; one that the signal itself has ended has done
// all or nothing.
func TestInterruptedProcess(t *testing.T) {
	if testing.Short() || testenv.Race {
		t.Skip("sends signals to processes for several seconds")
	}
	random := seeded(t)
	versions := cleanRuns(t)
	dir := filepath.Join(t.TempDir(), "out")
	if out, err := renderInto(versions[0].input, dir, "--prune").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	there := 0 // the version that stands in the directory
	ends := map[string]int{}
	for i := range 20 {
		next := versions[1-there]
		run, ended := startRun(t, next.input, dir)
		// Half of the signals may come at any time, half of them while files are being written.
		within := next.took
		if i%2 == 0 {
			waitFor(filepath.Join(dir, journalName), ended)
			within = next.writing
		}
		time.Sleep(time.Duration(random.Int64N(int64(within))))
		_ = run.Process.Signal(os.Interrupt) // it may have ended
		<-ended
		before, after := versions[there].files, contents(t, dir)
		switch status := run.ProcessState.ExitCode(); status {
		case exitDone:
			ends["too late"]++
			if diff := cmp.Diff(next.files, after); diff != "" {
				t.Fatalf("a run that was too late to be interrupted left something else than a clean one (-want +got):\n%s", diff)
			}
			there = 1 - there
		case 130:
			ends["undone"]++
			if diff := cmp.Diff(before, after); diff != "" {
				t.Fatalf("an interrupted run has changed something (-want +got):\n%s", diff)
			}
		default:
			// Before the first and after the last thing that could be undone the signal ends the program itself.
			if state, ok := run.ProcessState.Sys().(syscall.WaitStatus); !ok || !state.Signaled() || state.Signal() != syscall.SIGINT {
				t.Fatalf("status %d", status)
			}
			if maps.Equal(next.files, after) {
				ends["ended when all was done"]++
				there = 1 - there
				continue
			}
			ends["ended before anything was done"]++
			if journal, ok := after[journalName]; ok && journal == "" {
				delete(after, journalName) // it had just been made: nothing was planned
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Fatalf("a run that was ended by the signal has done something, and not all (-want +got):\n%s", diff)
			}
		}
	}
	t.Logf("ends of 20 runs: %v", ends)
	if ends["undone"] == 0 {
		t.Error("no run was interrupted")
	}
}
