//go:build unix

package cli

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
	"github.com/trainweld/trainweld/internal/testenv"
)

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
				before := testenv.Tree(t, w.dir)
				sent := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[random.IntN(2)]
				state := w.disturb(t, random, version, sent)
				now := testenv.Tree(t, w.dir)
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
