package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/fieldpath"
)

// Test is the outcome of a test.
type Test struct {
	// Suite is the suite of the test, and Name its name there, as of a file.
	Suite, Name string
	// Failures holds all failures. A test without any has passed.
	Failures []TestFailure
}

// TestFailure is a failure of a test.
type TestFailure struct {
	// Position is the file of the failure, with its line if known. Message states the problem.
	Position fieldpath.Position
	Message  string
	// Lines hold details.
	Lines []string
}

// TestFormats returns the names of the formats of WriteTests.
func TestFormats() []string { return []string{"github", "junit"} }

// WriteTests writes the outcome of tests. JUnit gets a suite for each Suite, in the order of the
// tests. GitHub gets a workflow command for each failure. It returns an error for an unknown
// format, and the errors of w.
func WriteTests(w io.Writer, format string, tests []Test) error {
	switch format {
	case "github":
		return testsGitHub(w, tests)
	case "junit":
		return testsJUnit(w, tests)
	default:
		return fmt.Errorf("unsupported value %q: supported values: %s", format,
			strings.Join(TestFormats(), ", "))
	}
}

func testsGitHub(w io.Writer, tests []Test) error {
	out := bufio.NewWriter(w)
	for _, t := range tests {
		for _, f := range t.Failures {
			properties := "file=" + githubProperty.Replace(printable.Name(slashed(f.Position.File)))
			if f.Position.Line > 0 {
				properties += fmt.Sprintf(",line=%d,col=%d", f.Position.Line, f.Position.Column)
			}
			fmt.Fprintf(out, "::error %s,title=%s::%s\n", properties,
				githubProperty.Replace(printable.Name(t.Name)), githubData.Replace(f.text()))
		}
	}
	return out.Flush()
}

// text returns the message and the lines, safe for a log.
func (f TestFailure) text() string {
	lines := []string{Printable(f.Message)}
	for _, l := range f.Lines {
		lines = append(lines, Line(l))
	}
	return strings.Join(lines, "\n")
}

func testsJUnit(w io.Writer, tests []Test) error {
	report := junitReport{Name: "trainweld test", index: map[string]int{}}
	for _, t := range tests {
		name := printable.Name(slashed(t.Suite))
		c := junitCase{Name: printable.Name(t.Name), Class: name}
		var texts []string
		for _, f := range t.Failures {
			texts = append(texts, Line(slashed(printable.Position(f.Position)))+": "+f.text())
		}
		if len(t.Failures) > 0 {
			first := t.Failures[0]
			c.File, c.Line = printable.Name(slashed(first.Position.File)), first.Position.Line
			c.Failure = &junitOutcome{Message: Printable(first.Message),
				Text: strings.Join(texts, "\n")}
		}
		report.suite(name).add(c)
	}
	return report.write(w)
}
