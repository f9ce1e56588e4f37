// Package finding answers what is wrong with an input: which code, in which field of which object, and what to do.
//
//	findings := check.Patches(template, patches)
//	if err := findings.Err(); err != nil {
//		return err // every finding of severity Error, one a line
//	}
//
// Every package of this module reports with a Finding. docs/findings.md has a section for each Code.
package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/fieldpath"
)

// Severity says how bad a Finding is. The zero value is invalid, so that a forgotten one shows.
type Severity int

const (
	// Note is worth knowing and shown on request.
	Note Severity = iota + 1
	// Warning marks an input that the cluster takes, and that its author hardly meant.
	Warning
	// Error marks an input that the cluster refuses, now or when a controller creates an object. It also marks what can never
	// run, and managers that disagree.
	Error
)

// String is "note", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warning:
		return "warning"
	case Error:
		return "error"
	default:
		return fmt.Sprintf("Severity(%d)", int(s))
	}
}

// MarshalText writes String.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is one thing found in an input. Every package reports with this type.
type Finding struct {
	// Code is stable and documented in docs/findings.md.
	Code Code
	// Severity is how bad it is.
	Severity Severity
	// Object is what it was found in, and Path the field.
	Object fieldpath.Object
	Path   fieldpath.Path
	// Position is where Path stands in a file, where the input came from one.
	Position fieldpath.Position
	// Claims are the values that disagree or get lost, in the order in which they were written.
	Claims []engine.Claim
	// Message says what is wrong, in one sentence without its final stop. It never quotes the
	// value of an environment variable.
	Message string
	// Remedy says what to do next. Its text is never empty for an error.
	Remedy Remedy
}

// Error is the finding on one line, for use as an error.
func (f Finding) Error() string {
	var b strings.Builder
	if f.Position != (fieldpath.Position{}) {
		fmt.Fprintf(&b, "%s: ", f.Position)
	}
	fmt.Fprintf(&b, "%s: ", f.Code)
	if object := f.Object.String(); object != "" {
		fmt.Fprintf(&b, "%s: ", object)
	}
	if len(f.Path) > 0 {
		fmt.Fprintf(&b, "%s: ", f.Path)
	}
	b.WriteString(f.Message)
	if f.Remedy.Text != "" {
		fmt.Fprintf(&b, "; %s", f.Remedy.Text)
	}
	return b.String()
}

// List is a list of findings. As an error it is all of them, one a line.
type List []Finding

// Error is every finding on a line of its own.
func (fs List) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As reach each Finding.
func (fs List) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

// Err is the findings of severity Error as one error, or nil when there is none.
func (fs List) Err() error {
	var errs List
	for _, f := range fs {
		if f.Severity >= Error {
			errs = append(errs, f)
		}
	}
	if errs == nil {
		return nil
	}
	return errs
}

// Sort orders findings by position, then by object, path and code, and keeps the rest as it is.
func (fs List) Sort() {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Position.File, b.Position.File),
			cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column),
			cmp.Compare(a.Object.String(), b.Object.String()),
			cmp.Compare(a.Path.String(), b.Path.String()),
			cmp.Compare(a.Code, b.Code),
		)
	})
}

var (
	_ error = Finding{}
	_ error = List(nil)
)
