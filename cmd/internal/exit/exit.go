// Package exit defines the exit statuses of the program. The README documents them.
package exit

import (
	"fmt"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// The exit statuses.
const (
	Done     = 0 // done, and no finding is an error
	Findings = 1 // a finding is an error
	Failed   = 2 // usage, input and output
)

// ClosedPipe is the status that a shell reports for a program ended by SIGPIPE. If a write fails
// without the signal, the program exits with it. That happens on a socket, or on a system without
// signals.
const ClosedPipe = 128 + 13

// UsageError is an error in the usage of a command. The program then mentions the help.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// Usage wraps an error in the usage of a command.
func Usage(err error) error { return UsageError{err} }

// Status ends a command that has already reported its errors.
type Status int

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// For returns the exit status for findings: 2 for an unreadable input, 1 for any other error. It
// returns nil without errors. Strict counts warnings as errors, and a runtime that the inputs lack.
func For(findings finding.List, strict bool) error {
	worst := finding.Severity(0)
	for _, f := range findings {
		if f.Code == codes.Unreadable {
			return Status(Failed)
		}
		worst = max(worst, f.Severity)
		if strict && codes.AssumesRuntime(f) {
			worst = finding.Error
		}
	}
	if worst >= finding.Error || strict && worst >= finding.Warning {
		return Status(Findings)
	}
	return nil
}
