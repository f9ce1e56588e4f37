package report

import (
	"fmt"

	"github.com/trainweld/trainweld/finding"
)

const (
	// MaxFindings is the largest number of findings in a report.
	MaxFindings = 100_000
	// MaxShown is the largest number of findings of one code in one file that text and workflow commands show.
	MaxShown = 100
)

// limited returns the first MaxFindings findings, and a finding that counts the others.
func limited(findings finding.List) finding.List {
	if len(findings) <= MaxFindings {
		return findings
	}
	rest := finding.Finding{
		Code: finding.CodeSyntax, Severity: finding.Note,
		Message: fmt.Sprintf("the run has %d findings, and the report the first %d", len(findings), MaxFindings),
		Remedy:  finding.Remedy{Text: "fix these first, or check fewer files in one run"},
	}
	for _, f := range findings[MaxFindings:] {
		rest.Severity = max(rest.Severity, f.Severity)
	}
	return append(findings[:MaxFindings:MaxFindings], rest)
}

type kind struct {
	file string
	code finding.Code
}

// rest counts the hidden findings of a kind.
type rest struct {
	kind
	count int
}

func (r rest) String() string { return Count(r.count, "more finding") + " of " + string(r.code) }

// forPerson returns at most MaxShown findings of one code in one file, and counts the rest.
func forPerson(findings finding.List) (shown finding.List, left []rest) {
	count := map[kind]int{}
	at := map[kind]int{}
	shown = make(finding.List, 0, len(findings))
	for _, f := range findings {
		k := kind{f.Position.File, f.Code}
		if count[k]++; count[k] <= MaxShown {
			shown = append(shown, f)
			continue
		}
		if _, known := at[k]; !known {
			at[k] = len(left)
			left = append(left, rest{kind: k})
		}
		left[at[k]].count++
	}
	return shown, left
}
