package cli

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// panicked is the status of a command line that panics. No test wants it.
const panicked = -1

// panics counts them: a test that asks for no status fails the run.
var panics atomic.Int64

// runLine runs a command line in this process. A panic, also of a worker, fails the test that runs
// it: it names the command line and the start of each file in it, before any cleanup.
func runLine(p *host.Program, args []string) (status int) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		panics.Add(1)
		var b strings.Builder
		fmt.Fprintf(&b, "panic of %q: %v\n%s", args, v, debug.Stack())
		for _, word := range args {
			if i := strings.LastIndexByte(word, '='); i >= 0 {
				word = word[i+1:]
			}
			if data, err := os.ReadFile(word); err == nil {
				fmt.Fprintf(&b, "-- %s --\n%s\n", word, data[:min(len(data), 1<<13)])
			}
		}
		fmt.Fprint(os.Stderr, b.String())
		fmt.Fprint(p.Stderr, b.String())
		status = panicked
	}()
	return execute(p, args)
}

// tests fails if a command line has panicked.
type tests struct{ testenv.Tests }

func (t tests) Run() int {
	status := t.Tests.Run()
	if n := panics.Load(); n > 0 && status == 0 {
		fmt.Fprintf(os.Stderr, "%d command lines panicked\n", n)
		return 1
	}
	return status
}
