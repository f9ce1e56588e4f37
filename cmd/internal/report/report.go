// Package report writes findings for people, for programs, and for the annotations and test results
// of continuous integration.
//
//	opts := report.Options{Version: version, Files: files}
//	if err := report.Write(os.Stdout, "sarif", findings, opts); err != nil {
//		return err
//	}
//	fmt.Fprintln(os.Stderr, report.Summary("sarif", findings, opts))
//
// Each format has a file of its own:
//
//	text    the place, the message, every claim, and what to do
//	json    the same as data
//	sarif   SARIF 2.1.0, as GitHub's code scanning takes it
//	github  workflow commands, which GitHub shows next to the lines of a pull request
//	junit   a test suite for each file that was read
//
// All formats mask values of environment variables, unless Options.ShowValues is set. The input may
// hold control characters, invalid UTF-8 or the syntax of the format. A report escapes all of
// these.
//
// Its first file to read is run.go.
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// Options controls the content of a report. The zero value shows errors and warnings only, and
// masks values.
type Options struct {
	// ShowValues shows the values of environment variables.
	ShowValues bool
	// ShowNotes shows notes.
	ShowNotes bool
	// Color colors the text format with ANSI escapes.
	Color bool
	// All shows every finding whole. Otherwise formats for people show findings with one cause as a
	// group, see Group.
	All bool
	// More says how the user sees the findings that a group does not show, such as with a flag. It
	// may be empty.
	More string
	// Strict counts warnings as errors in formats with passes and failures, and says why a note
	// fails the run.
	Strict bool
	// Help returns the help of a finding. Nil selects the function Help, which names flags of the
	// command line.
	Help func(finding.Finding) string
	// Line returns the line of a position without its end, or "" if it is unknown. A report
	// measures it and never writes it.
	Line func(fieldpath.Position) string
	// Version is the version of this program.
	Version string
	// Releases are the releases of the Trainer that the input names.
	Releases []release.Release
	// Files are the files of the input, named as in positions, in the order of reading.
	Files []string
	// Rooted returns a file's path from the root of its repository, for SARIF and workflow
	// commands. Nil leaves paths as they are.
	Rooted func(file string) string
}

// formats lists the formats in the order of the help.
var formats = []struct {
	name  string
	write func(io.Writer, finding.List, Options) error
}{
	{"text", writeText},
	{"json", writeJSON},
	{"sarif", writeSARIF},
	{"github", writeGitHub},
	{"junit", writeJUnit},
}

// Formats returns the names of the formats. The first one is for people.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// Releases returns the end of a summary that names releases, or "" for none.
func Releases(of []release.Release) string {
	if len(of) == 0 {
		return ""
	}
	text, names := "", make([]string, len(of))
	for i, r := range of {
		names[i] = fmt.Sprintf("Trainer %s with JobSet %s", r.Version, r.JobSetVersion)
		if i == len(of)-1 || of[i+1].Kubernetes != r.Kubernetes {
			names[i] += " on Kubernetes " + r.Kubernetes
		}
	}
	text = " for " + strings.Join(names, " and ")
	if basis := release.Basis(of...); basis != "" {
		text += " (" + basis + ")"
	}
	return text
}

// Write writes the findings that opts selects in the named format. It keeps their order, unless the
// format defines another. It returns an error for an unknown format, before it writes, and the
// errors of w.
//
// A report holds at most MaxFindings findings. Formats for people show findings with one cause as a
// group. They show at most MaxShown causes of one code in one file. Both count the rest.
func Write(w io.Writer, format string, findings finding.List, opts Options) error {
	for _, f := range formats {
		if f.name == format {
			return f.write(w, limitFindings(opts.Shown(findings)), opts)
		}
	}
	return fmt.Errorf("unknown format %q: it is one of %s", format, strings.Join(Formats(), ", "))
}

// Summary counts the errors and warnings, or returns "" without any. It is a line of its own, next
// to a report in the named format, written with the same options.
func Summary(format string, findings finding.List, opts Options) string {
	count := map[finding.Severity]int{}
	assumed := 0
	for _, f := range findings {
		if count[f.Severity]++; codes.AssumesRuntime(f) {
			assumed = 1 // as shown
		}
	}
	var parts []string
	for _, severity := range []finding.Severity{finding.Error, finding.Warning} {
		if n := count[severity]; n > 0 {
			parts = append(parts, opts.counted(n, severity))
		}
	}
	if assumed > 0 {
		parts = append(parts, opts.counted(assumed, finding.Note))
	}
	text := strings.Join(parts, ", ")
	if format == "github" {
		text += opts.githubRest(findings)
	}
	return text
}

// counted counts findings of a severity. It says that a strict run fails because of them.
func (o Options) counted(n int, severity finding.Severity) string {
	text := Count(n, severity.String())
	switch {
	case !o.Strict || severity >= finding.Error:
		return text
	case n == 1:
		return text + " counted as an error (strict)"
	}
	return text + " counted as errors (strict)"
}

// Count formats a number of things: "1 error", "2 errors".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Shown returns the findings, without notes unless ShowNotes is set. Notes on assumed runtimes are
// one, which is shown always.
func (o Options) Shown(findings finding.List) finding.List {
	return codes.JoinRuntimes(slices.DeleteFunc(slices.Clone(findings), func(f finding.Finding) bool {
		return f.Severity <= finding.Note && !o.ShowNotes && !codes.AssumesRuntime(f)
	}))
}

// WriteBeside writes findings and their summary as text, and what the releases rest on. It is for
// standard error, beside objects on standard output.
func WriteBeside(w io.Writer, findings finding.List, opts Options) error {
	const format = "text"
	findings = codes.JoinBuilds(findings)
	if err := Write(w, format, findings, opts); err != nil {
		return err
	}
	if summary := Summary(format, findings, opts); summary != "" {
		fmt.Fprintln(w, summary)
	}
	if basis := release.Basis(opts.Releases...); basis != "" {
		fmt.Fprintf(w, "note: %s\n", basis)
	}
	return nil
}

// WriteResult writes findings beside objects, and returns the exit status for errors among them.
func WriteResult(w io.Writer, findings finding.List, opts Options, strict bool) error {
	return cmp.Or(WriteBeside(w, findings, opts), exit.For(findings, strict))
}

// InOrder sorts findings by the order of the files, then by position.
func InOrder(found finding.List, files []string) finding.List {
	rank := map[string]int{}
	for i, file := range files {
		rank[file] = i + 1
	}
	slices.SortStableFunc(found, func(a, b finding.Finding) int {
		return cmp.Or(
			cmp.Compare(rank[a.Position.File], rank[b.Position.File]),
			cmp.Compare(a.Position.File, b.Position.File),
			cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column),
		)
	})
	return found
}
