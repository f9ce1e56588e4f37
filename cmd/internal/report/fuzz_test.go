package report_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
)

// FuzzFormats puts any text into every part of a finding. Each report has to be valid, to hold one
// finding, and to mask characters that a terminal acts on.
func FuzzFormats(f *testing.F) {
	for _, text := range []string{"", "plain", hostile, "%", "::", "]]>", "\n", "\x00\xff",
		"\u2028", "\U000e0001", "\ufeff"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, column int) {
		position := fieldpath.Position{File: text, Line: 2, Column: column}
		found := finding.Finding{
			Code: codes.Syntax, Severity: finding.Error,
			Object:   fieldpath.Object{Kind: "TrainJob", Name: text},
			Path:     fieldpath.Fields("metadata", "labels").Append(fieldpath.Key(text)),
			Position: position,
			Claims: []merge.Claim{
				{Owner: merge.Manager(text), Value: text, At: fieldpath.Fields(text),
					Position: position}},
			Message: text, Remedy: finding.Remedy{Text: "h" + text},
		}
		opts := report.Options{Line: func(fieldpath.Position) string {
			return strings.ReplaceAll(text, "\n", " ")
		}, Version: text, Files: []string{text}}
		for _, format := range report.Formats() {
			got := written(t, format, finding.List{found}, opts)
			if !utf8.ValidString(got) {
				t.Errorf("%s writes invalid UTF-8: %q", format, got)
			}
			if i := strings.IndexFunc(got, acts); i >= 0 {
				t.Errorf("%s writes %q", format, got[i:])
			}
			switch format {
			case "json":
				var all struct{ Findings []struct{ Message string } }
				if err := json.Unmarshal([]byte(got), &all); err != nil || len(all.Findings) != 1 ||
					all.Findings[0].Message != valid(text) {
					t.Errorf("the message does not read back: %v %v", err, all)
				}
			case "sarif":
				if results := parseSARIF(t, got).Runs[0].Results; len(results) != 1 {
					t.Errorf("%d results", len(results))
				}
			case "github":
				commands := parseGitHub(t, got)
				if len(commands) != 1 || len(strings.Split(commands[0].text, "\n")) != 4 {
					t.Errorf("not one command with four lines: %q", commands)
				}
			case "junit":
				if all := parseJUnit(t, got); all.counts != (counts{Tests: 1, Failures: 1}) {
					t.Errorf("not one failure: %v", all.counts)
				}
			}
		}
	})
}

// acts reports whether a terminal may act on a character, or show others in another order for it.
func acts(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf) ||
		r == '\u2028' || r == '\u2029')
}

// valid is a text as JSON can hold it: each byte that is not UTF-8 is U+FFFD.
func valid(text string) string { return string([]rune(text)) }
