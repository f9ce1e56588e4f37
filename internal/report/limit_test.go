package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/report"
)

// many returns n findings of one code in one file.
func many(n int) finding.List {
	all := make(finding.List, n)
	for i := range all {
		all[i] = finding.Finding{
			Code: finding.CodeWrongType, Severity: finding.Error, Message: fmt.Sprintf("m%d", i), Remedy: finding.Remedy{Text: "h"},
			Position: fieldpath.Position{File: "a.yaml", Line: i + 1, Column: 1},
		}
	}
	return all
}

// TestWrite_Limits wants formats for people to count what they do not show, and the others to hold all.
func TestWrite_Limits(t *testing.T) {
	all := append(many(report.MaxShown+20), finding.Finding{
		Code: finding.CodeWrongType, Severity: finding.Error, Message: "other", Remedy: finding.Remedy{Text: "h"}, Position: fieldpath.Position{File: "b.yaml", Line: 1, Column: 1},
	})
	for format, want := range map[string]int{"text": report.MaxShown, "github": report.MaxShown, "json": report.MaxShown + 20, "sarif": report.MaxShown + 20, "junit": report.MaxShown + 20} {
		text := written(t, format, all, report.Options{})
		got := 0
		for i := range all {
			if strings.Contains(text, fmt.Sprintf("m%d", i)) && strings.Contains(text, fmt.Sprintf("m%d\n", i)) || strings.Contains(text, fmt.Sprintf(`m%d"`, i)) || strings.Contains(text, fmt.Sprintf(`m%d\n`, i)) || strings.Contains(text, fmt.Sprintf(`m%d%%0A`, i)) {
				got++
			}
		}
		if got != want {
			t.Errorf("%s shows %d findings, want %d", format, got, want)
		}
		if !strings.Contains(text, "other") {
			t.Errorf("%s does not show the finding of another file", format)
		}
		const rest = "20 more findings of TW103"
		if counts := strings.Contains(text, rest); counts != (want == report.MaxShown) {
			t.Errorf("%s: says %q: %t", format, rest, counts)
		}
	}
}

// TestWrite_LimitOfTheRun wants a last finding that counts the others.
func TestWrite_LimitOfTheRun(t *testing.T) {
	text := written(t, "json", many(report.MaxFindings+7), report.Options{})
	if got := strings.Count(text, `"code"`); got != report.MaxFindings+1 {
		t.Errorf("the report holds %d findings, want %d", got, report.MaxFindings+1)
	}
	if want := fmt.Sprintf("the run has %d findings", report.MaxFindings+7); !strings.Contains(text, want) {
		t.Errorf("the report does not say %q", want)
	}
}
