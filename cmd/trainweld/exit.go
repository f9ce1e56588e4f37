package main

import (
	"fmt"

	"github.com/trainweld/trainweld/finding"
)

// The exit statuses, which the README documents.
const (
	exitDone     = 0 // done, and no finding is an error
	exitFindings = 1 // a finding is an error
	exitFailed   = 2 // usage, input and output
)

// exitClosedPipe is the status that a shell gives a program which SIGPIPE has ended. Where a write fails instead,
// the program ends with it: if its output is a socket, or on a system without signals.
const exitClosedPipe = 128 + 13

// usageError is a mistake in the usage of a command, whose help then says more.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// misusage is a mistake in the usage of a command.
func misusage(err error) error { return usageError{err} }

// exitStatus ends a command that has said everything already.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// failure is the exit status that findings ask for: 2 when an input could not be read at all, 1 for
// any other error.
func failure(findings finding.List, strict bool) error {
	worst := finding.Severity(0)
	for _, f := range findings {
		if f.Code == finding.CodeUnreadable {
			return exitStatus(exitFailed)
		}
		worst = max(worst, f.Severity)
	}
	if worst >= finding.Error || strict && worst >= finding.Warning {
		return exitStatus(exitFindings)
	}
	return nil
}
