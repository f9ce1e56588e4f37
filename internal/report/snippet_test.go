package report_test

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/report"
)

// snippet is the source line and the line of the caret of a finding at a column of the last line of a
// file, without what leads them; "" where there is none.
func snippet(t *testing.T, text string, column int) string {
	t.Helper()
	lines := strings.Split(text, "\n")
	opts := report.Options{Quote: func(p fieldpath.Position, _ bool) (string, bool) {
		if p.File != "f.yaml" || p.Line < 1 || p.Line > len(lines) {
			t.Errorf("asked for line %d of %s", p.Line, p.File)
			return "", false
		}
		return lines[p.Line-1], true
	}}
	found := finding.Finding{Code: finding.CodeSyntax, Severity: finding.Error, Position: fieldpath.Position{File: "f.yaml", Line: len(lines), Column: column}, Message: "m", Remedy: finding.Remedy{Text: "h"}}
	var shown []string
	for line := range strings.Lines(written(t, "text", finding.List{found}, opts)) {
		if _, rest, ok := strings.Cut(line, " | "); ok {
			shown = append(shown, rest)
		}
	}
	return strings.Join(shown, "")
}

func TestSnippet(t *testing.T) {
	long := strings.Repeat("x", 150)
	for _, tc := range []struct {
		line   string
		column int
		want   string
		reason string
	}{
		{"a: b", 4, "a: b\n   ^\n", "under the character"},
		{"a: b", 1, "a: b\n^\n", "the first one"},
		{"a: b", 5, "a: b\n    ^\n", "behind the last one"},
		{"a: b", 99, "a: b\n    ^\n", "farther than the line goes"},
		{"a: b", 0, "a: b\n", "no column, no caret"},
		{"a:\tb", 4, "a:\tb\n  \t^\n", "a tab is as wide as the tab above"},
		{"\ta", 2, "\ta\n\t^\n", "also in front"},
		{"日本: x", 5, "日本: x\n      ^\n", "characters of two columns"},
		{"🚀: x", 4, "🚀: x\n    ^\n", "emoji, too"},
		{"e\u0301: x", 5, "e\u0301: x\n   ^\n", "a mark goes onto the character before"},
		{"ä: x", 4, "ä: x\n   ^\n", "characters, not bytes"},
		{"\x1b[0m: x", 7, "␛[0m: x\n      ^\n", "what a terminal would act on shows, and is one character still"},
		{"a: b\r", 4, "a: b␍\n   ^\n", "the end of a line of another system"},
		{strings.Repeat("x", 1<<16+1), 9, "", "no line for a person"},
		{"", 1, "", "nothing to show"},
		{" \t ", 1, "", "nothing to show"},
		{long, 1, strings.Repeat("x", 100) + "…\n^\n", "a long line, cut behind"},
		{long, 151, "…" + strings.Repeat("x", 60) + "\n" + strings.Repeat(" ", 61) + "^\n", "cut in front"},
		{long, 80, "…" + strings.Repeat("x", 100) + "…\n" + strings.Repeat(" ", 61) + "^\n", "cut on both sides"},
		{strings.Repeat("日", 75), 40, "…" + strings.Repeat("日", 50) + "…\n" + strings.Repeat(" ", 61) + "^\n", "wide characters, cut by columns"},
		{strings.Repeat("x", 100), 100, strings.Repeat("x", 100) + "\n" + strings.Repeat(" ", 99) + "^\n", "just short enough"},
	} {
		if got := snippet(t, tc.line, tc.column); got != tc.want {
			t.Errorf("%q at %d:\n%s\nwant\n%s: %s", tc.line, tc.column, got, tc.want, tc.reason)
		}
	}
}

func TestSnippet_Masked(t *testing.T) {
	quote := func(_ fieldpath.Position, values bool) (string, bool) {
		if values {
			return "value: s3cret", true
		}
		return "value: ***", true
	}
	for _, tc := range []struct {
		column int
		show   bool
		want   string
		reason string
	}{
		{8, false, "  1 | value: ***\n    |        ^\n", "the value begins there"},
		{12, false, "", "behind it there is nothing to point at"},
		{12, true, "  1 | value: s3cret\n    |            ^\n", "shown on request"},
	} {
		found := finding.Finding{Code: finding.CodeSyntax, Severity: finding.Error, Position: fieldpath.Position{File: "f", Line: 1, Column: tc.column}, Message: "m"}
		got := written(t, "text", finding.List{found}, report.Options{ShowValues: tc.show, Quote: quote})
		if _, got, _ = strings.Cut(got, "\n"); got != tc.want {
			t.Errorf("at %d:\n%s\nwant\n%s: %s", tc.column, got, tc.want, tc.reason)
		}
	}
}
