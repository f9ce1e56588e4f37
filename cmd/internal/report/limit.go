package report

import (
	"fmt"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// MaxFindings is the largest number of findings in a report.
const MaxFindings = 100_000

// limitFindings returns the first MaxFindings findings, and a finding that counts the others.
func limitFindings(findings finding.List) finding.List {
	if len(findings) <= MaxFindings {
		return findings
	}
	rest := finding.Finding{
		Code: codes.Syntax, Severity: finding.Note,
		Message: fmt.Sprintf("the run has %d findings, and the report the first %d", len(findings),
			MaxFindings),
		Remedy: finding.Remedy{Text: "fix these first"},
	}
	for _, f := range findings[MaxFindings:] {
		rest.Severity = max(rest.Severity, f.Severity)
	}
	return append(findings[:MaxFindings:MaxFindings], rest)
}
