package host

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/trainweld/trainweld/internal/exit"
)

// Interrupted is the reason why a run was told to stop.
type Interrupted struct{ os.Signal }

func (i Interrupted) Error() string { return fmt.Sprintf("interrupted (%s)", i.Signal) }

// Status is what a shell makes of a program that the signal has ended: 129 of SIGHUP, 130 of SIGINT, 143 of SIGTERM.
func (i Interrupted) Status() int {
	if s, ok := i.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return exit.Failed
}

// interruptions are the signals that tell a run to stop while it has something to undo. At all other times, and
// when it is told so again, they end the program at once, whatever it waits for.
type interruptions interface {
	// listen begins to wait for signals. The first function says which one came, or nil; the second
	// one ends the waiting.
	listen() (came func() error, end func())
}

// Listen listens to the program's interruptions, if it has any.
func (p *Program) Listen() (came func() error, end func()) {
	if p.interruptions == nil {
		return func() error { return nil }, func() {}
	}
	return p.interruptions.listen()
}

// signals are the machine's.
type signals struct {
	mu        sync.Mutex
	listening bool
	first     *Interrupted // since listening
}

// catchSignals lets signals end the program with their statuses. A signal that the caller ignores, as nohup does, is none.
func catchSignals() *signals {
	s, c := &signals{}, make(chan os.Signal, 2)
	for _, one := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(one) {
			signal.Notify(c, one)
		}
	}
	go func() {
		for came := range c {
			s.take(Interrupted{came})
		}
	}()
	return s
}

func (s *signals) take(i Interrupted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.listening || s.first != nil {
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
