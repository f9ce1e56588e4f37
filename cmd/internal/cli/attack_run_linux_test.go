package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/trainweld/trainweld/internal/testenv"
)

// The limits of a run, in time of the processor. The race detector multiplies both.
const (
	mostAttackTime   = 2 * time.Minute
	mostAttackMemory = 500 << 20
	// of a process that builds: its parent ends it later than at its limit
	mostBuildMemory = 1700 << 20
)

// run runs a command line in the repository.
func (a attack) run(t *testing.T, dir, line string) {
	t.Helper()
	words := strings.Fields(line)
	var out, in bytes.Buffer
	if name, isInput := strings.CutPrefix(words[len(words)-1], "<"); isInput {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		words = words[:len(words)-1]
		in.Write(text)
	}
	cmd := exec.Command("trainweld", words...)
	cmd.Stdin = &in
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &out, &out, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the state says how it ended
		close(ended)
	}()
	var most int64
	for {
		select {
		case <-ended:
		case <-time.After(5 * time.Millisecond):
			most = max(most, resident(cmd.Process.Pid))
			spent := spentBy(cmd.Process.Pid)
			if testenv.Race || spent < mostAttackTime && most < mostAttackMemory {
				continue
			}
			_ = cmd.Process.Kill() // it may have ended
			<-ended
			t.Errorf("%s: stopped after %s at %d MiB", line, spent, most>>20)
		}
		break
	}
	// The greatest of the process and of its child processes.
	limit := int64(mostAttackMemory)
	if strings.Contains(line, "-k") {
		limit = mostBuildMemory
	}
	if usage := cmd.ProcessState.SysUsage().(*syscall.Rusage); usage.Maxrss<<10 >= limit &&
		!testenv.Race {
		t.Errorf("%s: a process takes %d MiB", line, usage.Maxrss>>10)
	}
	said := out.String()
	if status := cmd.ProcessState.ExitCode(); status < 0 || status > 2 ||
		strings.Contains(said, "goroutine ") {
		t.Errorf("%s: status %d: %.2000s", line, status, said)
	}
	if !strings.Contains(said, a.want) {
		t.Errorf("%s: %.2000s\nwant %q", line, said, a.want)
	}
	for text := range strings.Lines(said) {
		if strings.Contains(text, "MARK") || strings.ContainsFunc(text, acts) ||
			!utf8.ValidString(text) || strings.HasPrefix(text, "::error::x") {
			t.Errorf("%s: shows %.300q", line, text)
		}
	}
}

// spentBy returns the processor time of a process and of those that it started and that have ended.
func spentBy(pid int) (spent time.Duration) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // without one, the process has ended
	_, numbers, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(numbers)
	for _, field := range fields[min(11, len(fields)):min(15, len(fields))] {
		ticks, _ := strconv.ParseInt(field, 10, 64) // the kernel writes a number
		spent += time.Duration(ticks) * (time.Second / 100)
	}
	return spent
}

// resident returns the bytes of memory that a process holds, or 0 if it has ended.
func resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64) // the kernel writes a number
	return pages * int64(os.Getpagesize())
}
