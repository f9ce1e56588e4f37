package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// interrupted is the reason why a run was told to stop.
type interrupted struct{ os.Signal }

func (i interrupted) Error() string { return fmt.Sprintf("interrupted (%s)", i.Signal) }

// status is what a shell makes of a program that the signal has ended: 130 of SIGINT, 143 of SIGTERM.
func (i interrupted) status() int {
	if s, ok := i.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return exitFailed
}

// interruptions are the signals that tell a run to stop while it has something to undo. At all other times, and
// when it is told so again, they end the program at once, as they end any other.
type interruptions interface {
	// listen begins to wait for signals. The first function says which one came, or nil; the second
	// one ends the waiting.
	listen() (came func() error, end func())
}

// signals are the machine's.
type signals struct{}

func (signals) listen() (came func() error, end func()) {
	var first atomic.Pointer[interrupted]
	c, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-c:
			first.Store(&interrupted{s})
		case <-done:
		}
		signal.Stop(c)
	}()
	came = func() error {
		if i := first.Load(); i != nil {
			return *i
		}
		return nil
	}
	return came, func() { close(done) }
}

// peace is where no signals come.
type peace struct{}

func (peace) listen() (came func() error, end func()) {
	return func() error { return nil }, func() {}
}
