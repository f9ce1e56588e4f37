package report_test

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/report"
)

// tests hold what would end a line, a command or an element, if it were written as it is.
var tests = []report.Test{
	{Suite: "a", Name: "passes"},
	{Suite: "a", Name: "x,y::z", Failures: []report.TestFailure{
		{Position: fieldpath.Position{File: "a/x,y.yaml", Line: 3, Column: 5}, Message: "first\n::error::not me", Lines: []string{"- \x1b[31m</failure>", "+ 100%"}},
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
		t.Errorf("%d tests, %d failures, %d suites; want 3, 1, 2", all.Tests, all.Failures, len(all.Suites))
	}
	failed := all.Suites[0].Cases[1]
	if failed.File != "a/x,y.yaml" || failed.Failure == nil || !strings.Contains(failed.Failure.Text, "</failure>") || !strings.Contains(failed.Failure.Text, "a/z: second") {
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
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "::error file=a/x%2Cy.yaml,line=3,col=5,title=x%2Cy%3A%3Az::first") || !strings.HasSuffix(lines[0], "%0A+ 100%25") {
		t.Errorf("want a line for each failure, escaped:\n%s", b.String())
	}
	if strings.ContainsRune(b.String(), '\x1b') {
		t.Error("an escape got through")
	}
}

func TestWriteTestsRefusesOtherFormats(t *testing.T) {
	var b strings.Builder
	if err := report.WriteTests(&b, "sarif", tests); err == nil || b.Len() > 0 {
		t.Errorf("%v, %q; want an error and nothing written", err, b.String())
	}
}
