package main

import (
	"bytes"
	"encoding/gob"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/trainweld/trainweld/cmd/internal/cli"
)

// worker is a process that runs the command lines of scripts one after the other. A process for
// each would take ten times as long. The working directory and the environment belong to a process.
// So scripts that run at the same time have different workers.
type worker struct {
	stdin io.WriteCloser
	in    *gob.Encoder
	out   *gob.Decoder
	cmd   *exec.Cmd
}

// line is a command line with its surroundings. The first of its words is the program's name.
type line struct {
	Words, Env []string
	Dir        string
	Stdin      []byte
}

// outcome is how a command line ended.
type outcome struct {
	Status         int
	Stdout, Stderr []byte
}

// work runs the command lines that this process gets on standard input.
func work() {
	p := cli.Start(tag, revision)
	for in, out := gob.NewDecoder(p.Stdin), gob.NewEncoder(p.Stdout); ; {
		var l line
		if in.Decode(&l) != nil {
			return // the tests have ended
		}
		os.Clearenv()
		for _, variable := range l.Env {
			name, value, _ := strings.Cut(variable, "=")
			_ = os.Setenv(name, value)
		}
		if err := os.Chdir(l.Dir); err != nil {
			panic(err)
		}
		var stdout, stderr bytes.Buffer
		here := *p
		here.Stdin, here.Stdout, here.Stderr, here.Terminal = bytes.NewReader(l.Stdin), &stdout,
			&stderr, false
		if err := out.Encode(
			outcome{cli.Run(&here, l.Words), stdout.Bytes(), stderr.Bytes()}); err != nil {
			panic(err)
		}
	}
}

// workers holds the workers that are idle, one a processor. A nil one has not started.
type workers chan *worker

func newWorkers(t *testing.T) workers {
	idle := make(workers, runtime.GOMAXPROCS(0))
	for range cap(idle) {
		idle <- nil
	}
	t.Cleanup(func() {
		for range cap(idle) {
			if w := <-idle; w != nil {
				_ = w.stdin.Close()
				if err := w.cmd.Wait(); err != nil {
					t.Errorf("a worker ends with %v", err)
				}
			}
		}
	})
	return idle
}

// start starts a worker. Its environment is for the runtime of Go only.
func start() (w *worker, err error) {
	w = &worker{cmd: exec.Command("worker")}
	w.cmd.Env = append(os.Environ(), "GOGC=400")
	w.cmd.Stderr = os.Stderr
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.in, w.out = gob.NewEncoder(w.stdin), gob.NewDecoder(stdout)
	return w, w.cmd.Start()
}

// run runs a command line.
func (w *worker) run(l line) (o outcome, err error) {
	if err := w.in.Encode(l); err != nil {
		return o, err
	}
	return o, w.out.Decode(&o)
}

// The keys of the values that a script holds for its commands.
type key int

const (
	idleWorkers key = iota
	variableNames
)

// runInWorker runs a command line of a script and returns its status.
func runInWorker(ts *testscript.TestScript, words []string) int {
	l := line{Words: words, Dir: ts.MkAbs("."), Env: []string{"PWD=" + ts.MkAbs(".")}}
	for _, name := range ts.Value(variableNames).([]string) {
		if value := ts.Getenv(name); value != "" {
			l.Env = append(l.Env, name+"="+value)
		}
	}
	readsStdin := func(word string) bool {
		return word == "fn" || word == "-" || strings.HasSuffix(word, "=-")
	}
	if slices.ContainsFunc(words, readsStdin) {
		ts.Check(ts.Exec("cat")) // only a process gets what the command stdin sets
		l.Stdin = []byte(ts.ReadFile("stdout"))
	}
	idle := ts.Value(idleWorkers).(workers)
	w, err := <-idle, error(nil)
	defer func() { idle <- w }()
	if w == nil {
		w, err = start()
		ts.Check(err)
	}
	o, err := w.run(l)
	if err != nil {
		w = nil
		ts.Fatalf("the process ended: %v", err)
	}
	_, _ = ts.Stdout().Write(o.Stdout)
	_, _ = ts.Stderr().Write(o.Stderr)
	return o.Status
}

// variables returns the names of the variables that scripts set.
func variables(t *testing.T, scripts string) (names []string) {
	files, err := filepath.Glob(scripts)
	if err != nil {
		t.Fatal(err)
	}
	lines, name := regexp.MustCompile(`(?m)^(\[\S*\] )?env .*`), regexp.MustCompile(`\w+=`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range name.FindAllString(
			strings.Join(lines.FindAllString(string(text), -1), "\n"), -1) {
			names = append(names, strings.TrimSuffix(found, "="))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
