package host

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/trainweld/trainweld/cmd/internal/exit"
)

// Interrupted is the error of a run that a signal ended.
type Interrupted struct{ os.Signal }

func (i Interrupted) Error() string { return fmt.Sprintf("interrupted (%s)", i.Signal) }

// Status returns the status that a shell reports for the signal: 129 for SIGHUP, 130 for SIGINT,
// 143 for SIGTERM.
func (i Interrupted) Status() int {
	if s, ok := i.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return exit.Failed
}

// interruptions are the signals that stop a run during work that can be undone. At other times, and
// on a second signal, they end the program at once.
type interruptions interface {
	// listen starts to wait for signals. came returns the first signal as an error, or nil. end
	// ends the waiting.
	listen() (came func() error, end func())
	// clean has a function called before a signal ends the program. forget takes it back.
	clean(up func()) (forget func())
}

// Listen waits for the program's interruptions, if it has any. The function came returns the first
// one or nil. The function end ends the waiting.
func (p *Program) Listen() (came func() error, end func()) {
	if p.interruptions == nil {
		return func() error { return nil }, func() {}
	}
	return p.interruptions.listen()
}

// CleanUp calls a function before a signal ends the program. The function forget takes it back.
func (p *Program) CleanUp(up func()) (forget func()) {
	if p.interruptions == nil {
		return func() {}
	}
	return p.interruptions.clean(up)
}

// signals are the machine's interruptions.
type signals struct {
	mu        sync.Mutex
	listening bool
	first     *Interrupted // the first signal since listen
	cleaners  []*func()
}

// catchSignals makes signals end the program with their statuses. It skips signals that the caller
// ignores, as nohup does.
func catchSignals() *signals {
	s, c := &signals{}, make(chan os.Signal, 2)
	for _, one := range ending() {
		if !signal.Ignored(one) {
			signal.Notify(c, one)
		}
	}
	go func() {
		for came := range c {
			s.handle(Interrupted{came})
		}
	}()
	return s
}

func (s *signals) handle(i Interrupted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.listening || s.first != nil {
		for _, up := range s.cleaners {
			(*up)()
		}
		os.Exit(i.Status())
	}
	s.first = &i
}

func (s *signals) listen() (came func() error, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listening = true
	came = func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.first != nil {
			return *s.first
		}
		return nil
	}
	return came, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.listening, s.first = false, nil
	}
}

func (s *signals) clean(up func()) (forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleaners = append(s.cleaners, &up)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cleaners = slices.DeleteFunc(s.cleaners, func(other *func()) bool { return other == &up })
	}
}
