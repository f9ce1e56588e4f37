package report_test

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
)

// suites is a JUnit report as its readers understand it.
type suites struct {
	counts
	Suites []struct {
		counts
		Name  string `xml:"name,attr"`
		Cases []struct {
			Name    string `xml:"name,attr"`
			File    string `xml:"file,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

type counts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

// parseJUnit reads a report and compares the counts that it states with its cases.
func parseJUnit(t *testing.T, text string) suites {
	t.Helper()
	var all suites
	if err := xml.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var total counts
	for _, s := range all.Suites {
		var got counts
		for _, c := range s.Cases {
			got.Tests++
			if c.Failure != nil {
				got.Failures++
			}
			if c.Error != nil {
				got.Errors++
			}
			if c.Skipped != nil {
				got.Skipped++
			}
		}
		if got != s.counts {
			t.Errorf("the suite %s says that it has %v, and has %v", s.Name, s.counts, got)
		}
		total = counts{total.Tests + got.Tests, total.Failures + got.Failures,
			total.Errors + got.Errors, total.Skipped + got.Skipped}
	}
	if total != all.counts {
		t.Errorf("the report says that it has %v, and has %v", all.counts, total)
	}
	return all
}

// tests hold what would end a line, a command or an element, if it were written as it is.
var tests = []report.Test{
	{Suite: "a", Name: "passes"},
	{Suite: "a", Name: "x,y::z", Failures: []report.TestFailure{
		{Position: fieldpath.Position{File: "a/x,y.yaml", Line: 3, Column: 5},
			Message: "first\n::error::not me", Lines: []string{"- \x1b[31m</failure>", "+ 100%"}},
		{Position: fieldpath.Position{File: "a/z"}, Message: "second"},
	}},
	{Suite: "b", Name: "passes"},
}

func TestWriteTestsJUnit(t *testing.T) {
	var b strings.Builder
	if err := report.WriteTests(&b, "junit", tests); err != nil {
		t.Fatal(err)
	}
	all := parseJUnit(t, b.String())
	if all.Tests != 3 || all.Failures != 1 || len(all.Suites) != 2 {
		t.Errorf("%d tests, %d failures, %d suites; want 3, 1, 2", all.Tests, all.Failures,
			len(all.Suites))
	}
	failed := all.Suites[0].Cases[1]
	if failed.File != "a/x,y.yaml" || failed.Failure == nil ||
		!strings.Contains(failed.Failure.Text, "</failure>") ||
		!strings.Contains(failed.Failure.Text, "a/z: second") {
		t.Errorf("the failed case is %+v", failed)
	}
	if strings.ContainsRune(b.String(), '\x1b') {
		t.Error("an escape got through")
	}
}

func TestWriteTestsGitHub(t *testing.T) {
	var b strings.Builder
	if err := report.WriteTests(&b, "github", tests); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 2 ||
		!strings.HasPrefix(
			lines[0], "::error file=a/x%2Cy.yaml,line=3,col=5,title=x%2Cy%3A%3Az::first") ||
		!strings.HasSuffix(lines[0], "%0A+ 100%25") {
		t.Errorf("want a line for each failure, escaped:\n%s", b.String())
	}
	if strings.ContainsRune(b.String(), '\x1b') {
		t.Error("an escape got through")
	}
}

func TestWriteTests_OtherFormats(t *testing.T) {
	var b strings.Builder
	if err := report.WriteTests(&b, "sarif", tests); err == nil || b.Len() > 0 {
		t.Errorf("%v, %q; want an error and nothing written", err, b.String())
	}
}
