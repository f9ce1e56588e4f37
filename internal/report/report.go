// Package report answers how findings are shown: to a person on a terminal, to a program, and to what
// continuous integration makes annotations and test results of.
//
//	opts := report.Options{Version: version, Files: files}
//	if err := report.Write(os.Stdout, "sarif", findings, opts); err != nil {
//		return err
//	}
//	fmt.Fprintln(os.Stderr, report.Summary("sarif", findings))
//
// The formats, each in a file of its own:
//
//	text    the place, the message, the source line, every claim, and what to do
//	json    the same as data
//	sarif   SARIF 2.1.0, as GitHub's code scanning takes it
//	github  workflow commands, which GitHub shows beside the lines of a pull request
//	junit   a test suite for each file that was read
//
// Values of environment variables are masked in all of them unless Options.ShowValues is set. What
// comes from the input can hold anything: control characters, invalid UTF-8, the syntax of the format.
// None of it reaches a terminal or changes what the report says.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// Options says what to show. The zero value shows errors and warnings, masks values, and knows
// nothing but the findings.
type Options struct {
	// ShowValues shows the values of environment variables.
	ShowValues bool
	// ShowNotes shows notes, too.
	ShowNotes bool
	// Color colours text with ANSI escapes. The other formats have no colours.
	Color bool
	// Strict counts warnings as errors, where a format passes or fails.
	Strict bool
	// Help returns what to do about a finding. Nil is the function Help, in words of the command line.
	Help func(finding.Finding) string
	// Line returns the line of a file in which a position is, without its end, and "" where it is not
	// known. It is measured, and never written.
	Line func(fieldpath.Position) string
	// Quote returns as much of that line as may be written, with or without the values of secrets, and false where
	// nothing may. Nil leaves source lines out.
	Quote func(p fieldpath.Position, values bool) (string, bool)
	// Version is the version of this program, for formats that name it.
	Version string
	// Files are the files that were read, as positions name them, in the order of reading.
	Files []string
}

// formats are the formats by their names, in the order in which help lists them.
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

// Formats returns the names of the formats; the first is the one for a person.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// Write writes the findings that opts asks for in the named format, in their order but where a format
// says otherwise. A format that it does not have is an error, before anything is written; the other
// errors are those of w.
//
// A report holds at most MaxFindings, and what a person reads at most MaxShown of one code in one file: it counts the
// rest.
func Write(w io.Writer, format string, findings finding.List, opts Options) error {
	for _, f := range formats {
		if f.name == format {
			return f.write(w, limited(opts.shown(findings)), opts)
		}
	}
	return fmt.Errorf("unknown format %q: it is one of %s", format, strings.Join(Formats(), ", "))
}

// Summary says how many errors and warnings there are, "" when there is neither. It is for a line of
// its own, beside a report in the named format.
func Summary(format string, findings finding.List) string {
	count := countBySeverity(findings)
	var parts []string
	for _, severity := range []finding.Severity{finding.Error, finding.Warning} {
		if n := count[severity]; n > 0 {
			parts = append(parts, Count(n, severity.String()))
		}
	}
	text := strings.Join(parts, ", ")
	if format == "github" {
		text += githubRest(count)
	}
	return text
}

func countBySeverity(findings finding.List) map[finding.Severity]int {
	count := map[finding.Severity]int{}
	for _, f := range findings {
		count[f.Severity]++
	}
	return count
}

// Count is a number of things in words: "1 error", "2 errors".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shown leaves out the notes that nobody asked for.
func (o Options) shown(findings finding.List) finding.List {
	return slices.DeleteFunc(slices.Clone(findings), func(f finding.Finding) bool {
		return f.Severity <= finding.Note && !o.ShowNotes
	})
}

// WriteBeside writes findings and their summary to standard error, as text. They stand beside objects on standard output,
// so they go without source lines.
func WriteBeside(w io.Writer, findings finding.List, opts Options) error {
	const format = "text"
	if err := Write(w, format, findings, opts); err != nil {
		return err
	}
	if summary := Summary(format, findings); summary != "" {
		fmt.Fprintln(w, summary)
	}
	return nil
}
