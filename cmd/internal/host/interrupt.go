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

// signals are the signals that a program handles. While it listens, the first one only tells it, so
// that it stops between two files. At other times, and on a second signal, they end the program at
// once.
type signals struct {
	mu        sync.Mutex
	listening bool
	first     *Interrupted // the first signal since Listen
	cleaners  []*func()
}

// catchSignals makes signals end the program with their statuses. It skips signals that the caller
// ignores, as nohup does.
func catchSignals() *signals {
	s, c := &signals{}, make(chan os.Signal, 2)
	for _, one := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
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

// Listen waits for signals, if the program handles any. The function came returns the first one as
// an error, or nil. The function end ends the waiting.
func (p *Program) Listen() (came func() error, end func()) {
	s := p.signals
	if s == nil {
		return func() error { return nil }, func() {}
	}
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

// CleanUp calls a function before a signal ends the program. The function forget takes it back.
func (p *Program) CleanUp(up func()) (forget func()) {
	s := p.signals
	if s == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleaners = append(s.cleaners, &up)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cleaners = slices.DeleteFunc(s.cleaners, func(other *func()) bool { return other == &up })
	}
}
