// Package finding describes a problem of an input: its code, its field and object, and the fix.
//
//	findings := check.Patches(template, patches)
//	if err := findings.Err(); err != nil {
//		return err // every finding of severity Error, one a line
//	}
//
// Every package of this module reports with a Finding. render/codes/codes.txt explains each Code.
//
// Its first file to read is finding.go.
package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
)

// Severity is the weight of a Finding. The zero value is invalid, so that a forgotten one shows.
type Severity int

const (
	// Note marks useful information that is shown on request.
	Note Severity = iota + 1
	// Warning marks input that the cluster accepts but that is probably a mistake.
	Warning
	// Error marks input that the cluster rejects, now or when a controller creates an object. It
	// also marks input that can never run, and managers that disagree.
	Error
)

// String returns "note", "warning" or "error".
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

// MarshalText encodes the severity as String does.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is one problem of an input. Every package reports with this type.
type Finding struct {
	// Code is stable and explained in render/codes/codes.txt.
	Code Code
	// Severity is the weight of the finding.
	Severity Severity
	// Object and Path identify the object and its field.
	Object fieldpath.Object
	Path   fieldpath.Path
	// Position locates Path in a file, if the input comes from one.
	Position fieldpath.Position
	// Build is the directory whose build holds the object. It is empty for an object of a file.
	Build string
	// MoreBuilds are further directories whose builds have the same finding: see [List.JoinBuilds].
	MoreBuilds []string
	// Claims are the values that disagree or get lost, in the order of writing.
	Claims []merge.Claim
	// Message states the problem in one sentence without its final stop. It never quotes the value
	// of an environment variable.
	Message string
	// Remedy is the fix. Its text is never empty for an error.
	Remedy Remedy
}

// Error returns the finding on one line.
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

// List is a list of findings. As an error it shows all of them, one a line.
type List []Finding

// Error returns the findings, one a line.
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

// Err returns the findings of severity Error as one error, or nil.
func (fs List) Err() error {
	if errs := fs.Where(func(f Finding) bool { return f.Severity >= Error }); errs != nil {
		return errs
	}
	return nil
}

// Where returns the findings for which a condition holds, or nil.
func (fs List) Where(holds func(Finding) bool) (found List) {
	for _, f := range fs {
		if holds(f) {
			found = append(found, f)
		}
	}
	return found
}

// Of returns the findings with one of the codes, or nil.
func (fs List) Of(codes ...Code) List {
	return fs.Where(func(f Finding) bool { return slices.Contains(codes, f.Code) })
}

// Sort sorts findings by position, then by object, path and code. The sort is stable.
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
