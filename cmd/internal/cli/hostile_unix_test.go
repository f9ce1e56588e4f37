//go:build unix

package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/internal/testenv"
)

// obstacles are what somebody may have put in the place of a file that trainweld opens by its name.
func obstacles(outside string) map[string]func(file string) error {
	return map[string]func(file string) error{
		"link": func(file string) error {
			return os.Symlink(filepath.Join(outside, "victim"), file)
		},
		"dangling link": func(file string) error {
			return os.Symlink(filepath.Join(outside, "nowhere"), file)
		},
		"endless": func(file string) error { return os.Symlink("/dev/zero", file) },
		"pipe":    func(file string) error { return syscall.Mkfifo(file, 0o666) },
		"link to pipe": func(file string) error {
			return os.Symlink(filepath.Join(outside, "pipe"), file)
		},
		"directory": func(file string) error { return os.Mkdir(file, 0o777) },
	}
}

// inTime runs a command that must not hang.
func inTime(t *testing.T, args ...string) (status int, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	out, err := exec.CommandContext(ctx, "trainweld", args...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%q hangs", args)
	case errors.As(err, &exit):
		status = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	return status, string(out)
}

// listing returns the files of a directory, and the target of each link.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		all[file] = e.Type().String()
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(file)
			all[file] += to
			return err
		case e.Type().IsRegular():
			text, err := os.ReadFile(file)
			all[file] += string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOwnFiles_Obstacles replaces each own file by something else. Every command rejects it at
// once, and changes nothing. It does not touch the targets of links.
func TestOwnFiles_Obstacles(t *testing.T) {
	if testenv.Race {
		t.Skip("starts many processes")
	}
	runtime := filepath.Join(testdata, "shared", "runtime.yaml")
	for _, tc := range []struct {
		name, file string
		args       func(dir string) []string
		status     int
	}{
		{"render, list", ".trainweld-files", func(dir string) []string {
			return []string{"render", "-f", dir, "--output-dir", dir, "--prune"}
		}, exit.Failed},
		{"test, options", "options.yaml", func(dir string) []string {
			return []string{"test", "--update", dir}
		}, exit.Failed},
		{"test, golden", "want/default_one.yaml", func(dir string) []string {
			return []string{"test", dir}
		}, exit.Findings},
	} {
		for kind := range obstacles("") {
			t.Run(tc.name+", "+kind, func(t *testing.T) {
				t.Parallel()
				outside, dir := t.TempDir(), t.TempDir()
				testenv.WriteIn(t, outside, "victim", "keep me")
				if err := syscall.Mkfifo(filepath.Join(outside, "pipe"), 0o666); err != nil {
					t.Fatal(err)
				}
				testenv.WriteIn(t, dir, "job.yaml",
					"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n  "+
						"name: one\nspec:\n  labels:\n    a: b\n  runtimeRef:\n    name: plain\n")
				runtimeText, err := os.ReadFile(runtime)
				if err != nil {
					t.Fatal(err)
				}
				testenv.WriteIn(t, dir, "runtime.yaml", string(runtimeText))
				testenv.WriteIn(t, dir, "want/notes.txt", "mine")
				if err := obstacles(outside)[kind](filepath.Join(dir, tc.file)); err != nil {
					t.Fatal(err)
				}
				before := []map[string]string{listing(t, dir), listing(t, outside)}
				status, out := inTime(t, tc.args(dir)...)
				if status != tc.status {
					t.Errorf("status %d, want %d\n%s", status, tc.status, out)
				}
				if !strings.Contains(out, filepath.Base(tc.file)) {
					t.Errorf("the message does not name the file:\n%s", out)
				}
				if diff := cmp.Diff(
					before, []map[string]string{listing(t, dir), listing(t, outside)}); diff != "" {
					t.Errorf("something was changed (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestInput_Pipe reads named pipes and devices as streams, in one go, up to the limit.
func TestInput_Pipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	job, err := os.ReadFile(filepath.Join(testdata, "shared", "job.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	runtime := filepath.Join(testdata, "shared", "runtime.yaml")
	for _, args := range [][]string{
		{"render", "-f", pipe, "-r", runtime}, {"check", pipe, "-r", runtime},
		{"blame", "-f", pipe, "-r", runtime}, {"migrate", pipe, "-r", runtime},
	} {
		go func() {
			if w, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
				_, _ = w.Write(job)
				w.Close()
			}
		}()
		if status, out := inTime(t, args...); status != exit.Done {
			t.Errorf("%q: status %d\n%s", args, status, out)
		}
	}
	if status, out := inTime(t, "check", "/dev/zero"); status != exit.Findings ||
		!strings.Contains(out, "is larger than 64 MiB") {
		t.Errorf("/dev/zero: status %d\n%s", status, out)
	}
}

// TestInterruptedOpen interrupts processes that wait for somebody to write into a named pipe.
func TestInterruptedOpen(t *testing.T) {
	job := filepath.Join(testdata, "shared", "job.yaml")
	sends := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	// A run under nohup ignores SIGHUP, and so do the processes that it starts.
	sends = slices.DeleteFunc(sends, func(s syscall.Signal) bool { return signal.Ignored(s) })
	type waiting struct {
		*exec.Cmd
		dir  string
		sent syscall.Signal
		out  *bytes.Buffer
	}
	var all []waiting
	for _, sent := range sends {
		for _, args := range [][]string{
			{"render", "-f", "PIPE", "--output-dir", "OUT"}, {"check", "PIPE"},
			{"migrate", "-w", "PIPE"},
			{"diff", "PIPE", job}, {"conflicts", "-f", job, "-r", "PIPE"},
		} {
			w := waiting{dir: t.TempDir(), sent: sent, out: new(bytes.Buffer)}
			pipe := filepath.Join(w.dir, "pipe.yaml")
			if err := syscall.Mkfifo(pipe, 0o666); err != nil {
				t.Fatal(err)
			}
			for i, arg := range args {
				args[i] = strings.NewReplacer("PIPE", pipe, "OUT",
					filepath.Join(w.dir, "out")).Replace(arg)
			}
			w.Cmd = exec.Command("trainweld", args...)
			w.Stdout, w.Stderr = w.out, w.out
			if err := w.Start(); err != nil {
				t.Fatal(err)
			}
			all = append(all, w)
		}
	}
	time.Sleep(time.Second) // they wait by then; if not, they end all the same
	for _, w := range all {
		_ = w.Process.Signal(w.sent)
		_ = w.Wait()
		status := w.ProcessState.Sys().(syscall.WaitStatus)
		if got := w.ProcessState.ExitCode(); got != 128+int(w.sent) &&
			(!status.Signaled() || status.Signal() != w.sent) {
			t.Errorf("%q, %v: %v\n%s", w.Args, w.sent, w.ProcessState, w.out.String())
		}
		if left, err := os.ReadDir(w.dir); err != nil || len(left) != 1 {
			t.Errorf("%q, %v: left behind %v, %v", w.Args, w.sent, left, err)
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
