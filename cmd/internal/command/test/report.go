package test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/golden"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
)

// testRun reports on cases in order.
type testRun struct {
	flags     testFlags
	out, errs io.Writer
	paint     host.Painter

	tests   []report.Test // for formats that need all tests at once
	passed  int
	failed  int
	changed int // cases with an update, written or shown
	notRun  int // cases that failed to run
	basis   string
	warned  map[string]bool
	shown   map[string]string // the case that shows a change, by the lines of the change
	err     error
}

func (t *testRun) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(t.out, format, args...); err != nil && t.err == nil {
		t.err = err
	}
}

// add reports on the next case.
func (t *testRun) add(c testCase, r *golden.Result, err error) {
	name := c.path()
	if r != nil {
		if r.Basis != "" {
			t.basis = " (" + r.Basis + ")"
		}
		for _, w := range r.Warnings {
			if line := fmt.Sprintf("%s: warning: %s\n", printable.Position(w.Position),
				report.Printable(w.Message)); !t.warned[line] {
				t.warned[line] = true
				fmt.Fprint(t.errs, line)
			}
		}
	}
	if err == nil && t.flags.format != "junit" { // whose cases stand alone
		t.showOnce(name, r)
	}
	switch {
	case err != nil:
		t.notRun++
		fmt.Fprintf(t.errs, "%s: %s\n", report.Line(printable.Name(name)),
			report.Printable(err.Error()))
	case r.Passed():
		t.passed++
		if t.flags.verbose && t.flags.format == "text" {
			t.printf("%s %s\n", t.paint.Paint(host.Green, "ok  "), printable.Name(name))
		}
	case t.flags.update != "" && r.Updatable():
		t.changed++
		t.update(name, r)
	default:
		t.failed++
		if t.flags.format == "text" {
			t.failure(name, r)
		}
	}
	if t.flags.format != "text" {
		t.tests = append(t.tests, asTest(c, r, err))
	}
}

// showOnce replaces the changes that an earlier case shows, as of one line of a runtime, by the
// name of that case.
func (t *testRun) showOnce(name string, r *golden.Result) {
	if r == nil || t.flags.update != "" {
		return
	}
	for i := range r.Failures {
		f := &r.Failures[i]
		whole := fmt.Sprint(f.Lines)
		if other, ok := t.shown[whole]; ok {
			f.Lines = []golden.Line{{Mark: ' ', Text: "as in " + other}}
			continue
		}
		if len(f.Lines) > 0 {
			t.shown[whole] = name
		}
		var lines, change []golden.Line
		var others []string // the cases that show changes of the object
		flush := func() {
			if change == nil {
				return
			}
			text := fmt.Sprint(change)
			if other, ok := t.shown[text]; ok {
				others = append(others, other)
			} else {
				t.shown[text] = name
				lines = append(lines, change...)
			}
			change = nil
		}
		refer := func() {
			flush()
			for _, other := range slices.Compact(slices.Clone(others)) {
				n := len(slices.DeleteFunc(slices.Clone(others), func(name string) bool {
					return name != other
				}))
				lines = append(lines, golden.Line{Mark: ' ',
					Text: fmt.Sprintf("  %s as in %s", report.Count(n, "change"), other)})
			}
			others = nil
		}
		for _, l := range f.Lines {
			switch {
			case l.Mark == ' ' && strings.HasPrefix(l.Text, "  ."):
				flush()
				change = []golden.Line{l}
			case change != nil && strings.HasPrefix(l.Text, "    "):
				change = append(change, l)
			default:
				refer()
				lines = append(lines, l)
			}
		}
		refer()
		f.Lines = lines
	}
}

// failure writes the failures of a case.
func (t *testRun) failure(name string, r *golden.Result) {
	t.printf("%s %s\n", t.paint.Paint(host.Red, "FAIL"), printable.Name(name))
	for _, f := range r.Failures {
		t.printf("  %s: %s\n", printable.Position(f.Position), report.Printable(messageOf(f)))
		for _, l := range f.Lines {
			t.printf("    %s\n", t.paint.Marked(l.Mark, report.Printable(l.String())))
		}
	}
}

// update writes the updated files of a case.
func (t *testRun) update(name string, r *golden.Result) {
	for i := range r.Changes {
		c := &r.Changes[i]
		switch {
		case t.flags.update == updateDiff:
			for line := range strings.Lines(c.Diff()) {
				t.printf("%s\n", t.diffLine(strings.TrimSuffix(line, "\n")))
			}
		case c.New == nil:
			t.printf("removed %s\n", printable.Name(c.File))
		default:
			t.printf("wrote %s\n", printable.Name(c.File))
		}
	}
	if !r.Changed(golden.Findings) {
		return
	}
	for _, f := range r.Expected {
		fmt.Fprintf(t.errs, "%s now expects an error: %s\n", report.Line(printable.Name(name)),
			report.Printable(f.Error()))
	}
}

func (t *testRun) diffLine(line string) string {
	mark := (line + " ")[0]
	if strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") {
		mark = 'a'
	}
	return t.paint.Marked(mark, report.PrintableTabs(line))
}

// end writes the summary, and returns an error with the exit status.
func (t *testRun) end() error {
	if rooted := host.Rooted(); t.flags.format == "github" {
		for i := range t.tests {
			for f := range t.tests[i].Failures {
				at := &t.tests[i].Failures[f].Position
				at.File = rooted(at.File)
			}
		}
	}
	if t.flags.format != "text" {
		t.err = errors.Join(t.err, report.WriteTests(t.out, t.flags.format, t.tests))
	}
	if t.err != nil {
		return t.err
	}
	parts := []string{}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(t.passed, "passed")
	if t.flags.update == updateDiff {
		add(t.changed, "would be updated")
	} else {
		add(t.changed, "updated")
	}
	add(t.failed, "failed")
	add(t.notRun, "could not be run")
	fmt.Fprintf(t.errs, "%s%s: %s\n",
		report.Count(t.passed+t.changed+t.failed+t.notRun, "case"), t.basis,
		strings.Join(parts, ", "))
	switch {
	case t.notRun > 0:
		return exit.Status(exit.Failed)
	case t.failed > 0, t.changed > 0 && t.flags.update == updateDiff:
		return exit.Status(exit.Findings)
	default:
		return nil
	}
}

// messageOf returns the message of a failure, the effect of --update on it, and how to see what it
// masks.
func messageOf(f golden.Failure) string {
	text := f.Message
	if f.Update != "" {
		text += "; --update " + f.Update
	}
	if f.IsMasked {
		text += "; --show-values shows the masked values"
	}
	return text
}

// asTest returns a case in the form of the reports for continuous integration.
func asTest(c testCase, r *golden.Result, err error) report.Test {
	test := report.Test{Suite: c.dir, Name: c.Name}
	if err != nil {
		test.Failures = []report.TestFailure{
			{Position: fieldpath.Position{File: c.path()}, Message: err.Error()}}
		return test
	}
	for _, f := range r.Failures {
		one := report.TestFailure{Position: f.Position, Message: messageOf(f)}
		for _, l := range f.Lines {
			one.Lines = append(one.Lines, l.String())
		}
		test.Failures = append(test.Failures, one)
	}
	return test
}
