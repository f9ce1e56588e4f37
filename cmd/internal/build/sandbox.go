package build

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trainweld/trainweld/cmd/internal/process"
)

// The limits of a build by kustomize. A small one takes milliseconds of a processor. On a machine with much other work, it may take long
// to get them. If the system does not report the time of the processor, only mostTime bounds a build.
const (
	mostProcessor = 10 * time.Second
	mostTime      = 2 * time.Minute
)

// mostStopped is the number of builds of a run that may reach a limit. The run builds nothing more then, or many builds would take the
// limit each.
const mostStopped = 3

var (
	errMemory   = fmt.Errorf("takes more than %d MiB of memory, and was stopped", mostResident>>20)
	errDepth    = errors.New("does not end: values nest too deeply, or a reference leads back to itself")
	errEnded    = errors.New("ends without a result")
	errTime     = fmt.Errorf("takes more than %s of processor time, and was stopped", mostProcessor)
	errDeadline = fmt.Errorf("does not end within %s, and was stopped", mostTime)
	errOthers   = fmt.Errorf("is not built: %d builds of this run have reached their limits", mostStopped)
)

// outOfMemory are the words with which Go ends a process without memory, also for the stack of a thread.
var outOfMemory = []string{process.OutOfMemory, "cannot allocate memory", "pthread_create failed", "failed to create new OS thread"}

// sandbox builds in a process that has no files, no network and no programs: see [process.Confine]. All builds of a run share the
// process, because it takes as long to start as many builds do. A build that the process does not survive is told from the others
// by building it again alone.
type sandbox struct {
	exclusive sync.RWMutex // builds run at once, or one alone
	mu        sync.Mutex
	now       *builds
	stopped   int // the builds that have reached a limit

	processor, time time.Duration // the limits of a build
}

// builds is a running process and its builds.
type builds struct {
	cmd     *process.Command
	in      io.WriteCloser
	writing sync.Mutex

	mu      sync.Mutex
	started uint64
	running map[uint64]*running
	reason  error         // for the end of the process
	ended   chan struct{} // closed with it
	most    time.Duration // of the processor, for a build
}

// answerer answers an operation on files.
type answerer interface {
	answer(op byte, name string) []string
}

// running is a build that runs.
type running struct {
	files  answerer
	result chan message
	spent  time.Duration // its share of the processor
	over   chan struct{} // closed when that is too much
}

// run builds a directory. The error is one of kustomize, or the reason for which the build was stopped.
func (s *sandbox) run(asked request, files answerer) (product, error) {
	s.exclusive.RLock()
	made, isShared, err := s.try(asked, files)
	s.exclusive.RUnlock()
	if isShared {
		s.exclusive.Lock()
		defer s.exclusive.Unlock()
		s.end()
		made, _, err = s.try(asked, files)
		s.end()
	}
	for _, limit := range []error{errTime, errDeadline, errMemory, errDepth} {
		if errors.Is(err, limit) {
			s.mu.Lock()
			s.stopped++
			s.mu.Unlock()
		}
	}
	return made, err
}

// try builds a directory. isShared says that the process has ended, and that another build may be the reason.
func (s *sandbox) try(asked request, files answerer) (made product, isShared bool, err error) {
	b, err := s.process()
	if err != nil {
		return made, false, err
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return made, false, err
	}
	r := &running{files: files, result: make(chan message, 1), over: make(chan struct{})}
	b.mu.Lock()
	b.started++
	id := b.started
	b.running[id] = r
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.running, id)
		b.mu.Unlock()
	}()
	b.send(message{id, opBuild, []string{string(text), asked.Dir}})
	limit := time.NewTimer(s.time)
	defer limit.Stop()
	select {
	case m := <-r.result:
		made, err = decode(m)
		return made, false, err
	case <-limit.C:
		b.end(nil)
		return made, false, errDeadline
	case <-r.over:
		b.end(nil)
		b.mu.Lock()
		defer b.mu.Unlock()
		return made, b.started > 1, errTime
	case <-b.ended:
		b.mu.Lock()
		defer b.mu.Unlock()
		return made, b.started > 1, b.reason
	}
}

func decode(m message) (made product, err error) {
	switch {
	case len(m.parts) == 3:
		err = json.Unmarshal([]byte(m.parts[1]), &made)
		made.Text = []byte(m.parts[2])
		return made, err
	case len(m.parts) == 1 && m.parts[0] == errCrash.Error():
		return made, errCrash
	case len(m.parts) == 1:
		return made, kustomizeError(m.parts[0])
	default:
		return made, errEnded
	}
}

// kustomizeError is a message of kustomize. It may hold values of files.
type kustomizeError string

func (e kustomizeError) Error() string { return string(e) }

// process returns the running process, or a new one.
func (s *sandbox) process() (*builds, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped >= mostStopped {
		return nil, errOthers
	}
	if s.now != nil {
		select {
		case <-s.now.ended:
		default:
			return s.now, nil
		}
	}
	b, err := start(s.processor)
	s.now = b
	return b, err
}

// end ends the process.
func (s *sandbox) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != nil {
		s.now.end(nil)
		<-s.now.ended
	}
}

// start starts a process.
func start(most time.Duration) (*builds, error) {
	cmd, err := process.Self(kustomizeWork)
	if err != nil {
		return nil, fmt.Errorf("cannot be started: %w", err)
	}
	stderr := &limitedBuffer{most: 64 << 10}
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot be started: %w", err)
	}
	b := &builds{cmd: cmd, in: in, running: map[uint64]*running{}, ended: make(chan struct{}), most: most}
	go b.watch()
	go func() {
		b.serve(bufio.NewReaderSize(out, 1<<16))
		b.end(nil)
		_ = cmd.Wait() // after the end of the output
		output := stderr.kept.String()
		b.mu.Lock()
		switch {
		case b.reason != nil:
		case strings.Contains(output, "stack exceeds"):
			b.reason = errDepth
		case slices.ContainsFunc(outOfMemory, func(words string) bool { return strings.Contains(output, words) }):
			b.reason = errMemory
		default:
			b.reason = errEnded
		}
		b.mu.Unlock()
		close(b.ended)
	}()
	return b, nil
}

// end ends the process. The first reason counts.
func (b *builds) end(reason error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reason == nil {
		b.reason = reason
	}
	_ = b.cmd.Process.Kill() // it may have ended
}

// watch ends the process when it holds too much memory. It tells a build that has spent too much of the processor.
func (b *builds) watch() {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var spent time.Duration
	for {
		select {
		case <-b.ended:
			return
		case <-tick.C:
			if process.Resident(b.cmd.Process.Pid) > mostResident {
				b.end(errMemory)
				return
			}
			now := max(spent, process.Spent(b.cmd.Process.Pid))
			b.charge(now - spent)
			spent = now
		}
	}
}

// charge shares time of the processor out among the builds that run.
func (b *builds) charge(spent time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.running {
		before := r.spent
		r.spent += spent / time.Duration(len(b.running))
		if before <= b.most && r.spent > b.most {
			close(r.over)
		}
	}
}

func (b *builds) send(m message) {
	b.writing.Lock()
	defer b.writing.Unlock()
	_ = send(b.in, m) // the end of the process says why
}

// serve answers the process until its output ends.
func (b *builds) serve(out *bufio.Reader) {
	for {
		m, err := receive(out)
		if err != nil {
			return
		}
		b.mu.Lock()
		r := b.running[m.build]
		b.mu.Unlock()
		switch {
		case m.build == 0 && len(m.parts) == 1: // it has no rights to take away
			b.end(fmt.Errorf("cannot be confined: %s", m.parts[0]))
		case r == nil || len(m.parts) == 0: // it was stopped
		case m.op == opBuild:
			r.result <- m
		default:
			go func() { b.send(message{m.build, m.op, r.files.answer(m.op, m.parts[0])}) }()
		}
	}
}
