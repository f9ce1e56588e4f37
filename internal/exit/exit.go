// Package exit answers with which status the program ends. The README documents the statuses.
package exit

import (
	"fmt"

	"github.com/trainweld/trainweld/finding"
)

// The exit statuses, which the README documents.
const (
	Done     = 0 // done, and no finding is an error
	Findings = 1 // a finding is an error
	Failed   = 2 // usage, input and output
)

// ClosedPipe is the status that a shell gives a program which SIGPIPE has ended. Where a write fails instead,
// the program ends with it: if its output is a socket, or on a system without signals.
const ClosedPipe = 128 + 13

// UsageError is a mistake in the usage of a command, whose help then says more.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// Usage is a mistake in the usage of a command.
func Usage(err error) error { return UsageError{err} }

// Status ends a command that has said everything already.
type Status int

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// For is the exit status that findings ask for: 2 when an input could not be read at all, 1 for
// any other error.
func For(findings finding.List, strict bool) error {
	worst := finding.Severity(0)
	for _, f := range findings {
		if f.Code == finding.CodeUnreadable {
			return Status(Failed)
		}
		worst = max(worst, f.Severity)
	}
	if worst >= finding.Error || strict && worst >= finding.Warning {
		return Status(Findings)
	}
	return nil
}
