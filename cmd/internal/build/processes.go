package build

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	errDepth    = errors.New("does not end: values nest too deeply, or a reference leads back to itself")
	errEnded    = errors.New("ends without a result")
	errDeadline = fmt.Errorf("does not end within %s, and was stopped", mostTime)
)

// processes are the processes that build. Each builds one directory at a time, and waits for the next one then, because it takes as long
// to start as many builds do. A build that a process does not survive fails alone: the next one gets a new process.
type processes struct {
	mu     sync.Mutex
	idle   []*builder
	ended  bool
	time   time.Duration
	memory uint64
}

// builder is a process that builds.
type builder struct {
	cmd     *process.Command
	in      io.WriteCloser
	answers chan answer // closed with the end of the process
	stderr  *limitedBuffer
}

// run builds a directory. The error is one of kustomize, or the reason for which the build was stopped.
func (p *processes) run(asked request) (*product, error) {
	b, err := p.take()
	if err != nil {
		return nil, err
	}
	made, isOver, err := b.build(asked, p.time, p.memory)
	p.mu.Lock()
	defer p.mu.Unlock()
	if isOver || p.ended {
		b.end()
	} else {
		p.idle = append(p.idle, b)
	}
	return made, err
}

// take returns a process that waits, or a new one.
func (p *processes) take() (*builder, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		b := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return b, nil
	}
	return start()
}

// end ends the processes that wait. Those that build end with their builds.
func (p *processes) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for _, b := range p.idle {
		b.end()
	}
	p.idle = nil
}

// start starts a process. It has no environment, so that it finds no program, and its standard error is captured.
func start() (*builder, error) {
	cmd, err := process.Self(kustomizeWork)
	if err != nil {
		return nil, fmt.Errorf("cannot be started: %w", err)
	}
	b := &builder{cmd: cmd, answers: make(chan answer, 1), stderr: &limitedBuffer{most: 64 << 10}}
	cmd.Stderr = b.stderr
	if b.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
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

// build builds a directory. isOver tells that the process must build nothing more.
func (b *builder) build(asked request, most time.Duration, memory uint64) (made *product, isOver bool, err error) {
	if err := json.NewEncoder(b.in).Encode(asked); err != nil {
		return nil, true, errEnded
	}
	limit := time.NewTimer(most)
	defer limit.Stop()
	for {
		select {
		case <-limit.C:
			return nil, true, errDeadline
		case a, isRunning := <-b.answers:
			switch {
			case !isRunning:
				return nil, true, b.reason()
			case a.Memory > memory:
				return nil, true, errMemory
			case a.Memory > 0:
			case a.Product != nil:
				return a.Product, false, nil
			case a.Error == errCrash.Error():
				return nil, true, errCrash
			default:
				return nil, false, kustomizeError(a.Error)
			}
		}
	}
}

// reason returns the reason for the end of the process, which the runtime of Go writes.
func (b *builder) reason() error {
	output := b.stderr.kept.String()
	switch {
	case strings.Contains(output, "stack exceeds"):
		return errDepth
	case strings.Contains(output, process.OutOfMemory), strings.Contains(output, "cannot allocate memory"):
		return errMemory
	default:
		return errEnded
	}
}

// kustomizeError is a message of kustomize. It may hold values of files.
type kustomizeError string

func (e kustomizeError) Error() string { return string(e) }
