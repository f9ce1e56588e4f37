package build

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trainweld/trainweld/cmd/internal/process"
)

// The limits of a build by kustomize. A small one takes milliseconds.
const (
	mostTime   = 60 * time.Second
	mostMemory = 1536 << 20
)

var (
	errMemory   = fmt.Errorf("takes more than %d MiB of memory, and was stopped", mostMemory>>20)
	errDepth    = errors.New("does not end: values nest too deeply, or a reference is a circle")
	errCrash    = errors.New("crashes")
	errEnded    = errors.New("ends without a result")
	errDeadline = fmt.Errorf("does not end within %s, and was stopped", mostTime)
)

// processes are the processes that build. Each builds one directory at a time, and waits for the
// next one then, because it takes as long to start as many builds do. A build that a process does
// not survive fails alone: the next one gets a new process.
type processes struct {
	mu     sync.Mutex
	idle   []*builder
	time   time.Duration
	memory uint64
}

// builder is a process that builds.
type builder struct {
	cmd     *process.Command
	in      io.WriteCloser
	answers chan answer  // closed with the end of the process
	stderr  bytes.Buffer // what the runtime of Go writes before it ends the process
}

// run builds a directory in a process that waits, or in a new one. The error is one of kustomize,
// or the reason for which the build was stopped.
func (p *processes) run(asked request) (*product, error) {
	p.mu.Lock()
	var b *builder
	if n := len(p.idle); n > 0 {
		b, p.idle = p.idle[n-1], p.idle[:n-1]
	}
	p.mu.Unlock()
	if b == nil {
		var err error
		if b, err = start(); err != nil {
			return nil, err
		}
	}
	made, err := b.build(asked, p.time, p.memory)
	var said kustomizeError
	if err != nil && !errors.As(err, &said) {
		b.end()
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, b)
	return made, err
}

// end ends the processes after all builds.
func (p *processes) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.idle {
		b.end()
	}
	p.idle = nil
}

// start starts a process. It has no environment, so that it finds no program. Its standard error is
// captured.
func start() (*builder, error) {
	cmd, err := process.Self(kustomizeWork)
	if err != nil {
		return nil, fmt.Errorf("cannot be started: %w", err)
	}
	b := &builder{cmd: cmd, answers: make(chan answer, 1)}
	cmd.Stderr = &b.stderr
	var errIn, errOut error
	var out io.Reader
	b.in, errIn = cmd.StdinPipe()
	out, errOut = cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		return nil, fmt.Errorf("cannot be started: %w", err)
	}
	go func() {
		for in := json.NewDecoder(out); ; {
			var a answer
			if in.Decode(&a) != nil {
				break
			}
			b.answers <- a
		}
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // after the end of the output
		close(b.answers)
	}()
	return b, nil
}

// end ends the process, and waits for its end.
func (b *builder) end() {
	_ = b.cmd.Process.Kill() // it may have ended
	for range b.answers {    // until its end
	}
}

// build builds a directory. After an error that is not one of kustomize, the process must build
// nothing more.
func (b *builder) build(asked request, most time.Duration, memory uint64) (*product, error) {
	if err := json.NewEncoder(b.in).Encode(asked); err != nil {
		return nil, errEnded
	}
	limit := time.NewTimer(most)
	defer limit.Stop()
	for {
		select {
		case <-limit.C:
			return nil, errDeadline
		case a, isRunning := <-b.answers:
			switch {
			case !isRunning:
				return nil, b.reason()
			case a.Memory > memory:
				return nil, errMemory
			case a.Memory > 0:
			case a.Product != nil:
				return a.Product, nil
			default:
				return nil, kustomizeError(a.Error)
			}
		}
	}
}

// reason returns the reason for the end of the process.
func (b *builder) reason() error {
	output := b.stderr.String()
	switch {
	case strings.Contains(output, "stack exceeds"):
		return errDepth
	case strings.Contains(output, process.OutOfMemory),
		strings.Contains(output, "cannot allocate memory"):
		return errMemory
	case strings.Contains(output, "panic: "): // with a text that may hold values
		return errCrash
	default:
		return errEnded
	}
}

// kustomizeError is a message of kustomize. It may hold values of files.
type kustomizeError string

func (e kustomizeError) Error() string { return string(e) }

//go:embed messages.txt
var messages string

// safeMessages returns an expression for the messages that hold no values.
var safeMessages = sync.OnceValue(func() *regexp.Regexp {
	expand := strings.NewReplacer("PATH", `[-\w./@+]+`, "NAME", `[-\w./]+`, "ID", `[-\w./~|\[\]]+`)
	var safe []string
	for line := range strings.Lines(messages) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			safe = append(safe, expand.Replace(line))
		}
	}
	return regexp.MustCompile(strings.Join(safe, "|"))
})

// needsMore reports whether a build fails because it needs the network, a program or a chart: the
// guards of SECURITY.md refuse that.
func needsMore(text string) bool {
	return strings.Contains(text, "a build fetches nothing") ||
		strings.Contains(text, "no 'git' program on path") ||
		strings.Contains(text, "must specify --enable-helm")
}

// mostReasons is the number of distinct parts of a message that a finding shows.
const mostReasons = 5

// safeReason returns the parts of a message of kustomize that hold no values.
func safeReason(text string) string {
	var distinct []string
	for _, part := range safeMessages().FindAllString(text, -1) {
		if !slices.Contains(distinct, part) && len(distinct) < mostReasons {
			distinct = append(distinct, part)
		}
	}
	if distinct == nil {
		return "its message may hold values of the files, and is not shown"
	}
	return strings.Join(distinct, ": ")
}
