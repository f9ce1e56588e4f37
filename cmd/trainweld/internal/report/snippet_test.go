package report_test

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/trainweld/internal/report"
	"github.com/trainweld/trainweld/schema"
)

// snippet is the source line and the line of the caret of a finding at a column of the last line of a
// file, without what leads them; "" where there is none.
func snippet(t *testing.T, text string, column int, show bool) string {
	t.Helper()
	lines := strings.Split(text, "\n")
	opts := report.Options{ShowValues: show, Line: func(p schema.Position) string {
		if p.File != "f.yaml" || p.Line < 1 || p.Line > len(lines) {
			t.Errorf("asked for line %d of %s", p.Line, p.File)
			return ""
		}
		return lines[p.Line-1]
	}}
	finding := schema.Finding{Code: schema.CodeSyntax, Severity: schema.Error, Position: schema.Position{File: "f.yaml", Line: len(lines), Column: column}, Message: "m", Help: "h"}
	var shown []string
	for line := range strings.Lines(written(t, "text", schema.Findings{finding}, opts)) {
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
		if got := snippet(t, tc.line, tc.column, false); got != tc.want {
			t.Errorf("%q at %d:\n%s\nwant\n%s: %s", tc.line, tc.column, got, tc.want, tc.reason)
		}
	}
}

func TestSnippetMasksValues(t *testing.T) {
	for _, tc := range []struct {
		text   string
		column int
		want   string
		reason string
	}{
		{"env:\n- name: A\n  value: s3cret", 10, "  value: ***\n         ^\n", "the value of a variable"},
		{"env:\n- value: s3cret", 3, "- value: ***\n  ^\n", "its key is pointed at"},
		{"env:\n- \"value\": s3cret", 12, "- \"value\": ***\n           ^\n", "a quoted key"},
		{"- {name: A, value: s3cret}", 10, "- {name: A, value: ***\n         ^\n", "a flow mapping, before the value"},
		{"- {value: s3cret, nam: A}", 19, "", "a flow mapping, behind the value"},
		{`{"env":[{"name":"A","value":"s3cret"}]}`, 10, `{"env":[{"name":"A","value": ***` + "\n         ^\n", "JSON on one line"},
		{"env:\n- name: A\n  value: |\n    s3cret", 5, "", "a block"},
		{"env:\n- name: A\n  value: |\n    a: b\n\n      c: s3cret", 7, "", "deep in a block that looks like YAML"},
		{"env:\n- value: \"a\n    s3cret", 5, "", "a quoted value over lines"},
		{"env:\n- name: A\n  value: |\n    s3cret\n  kind: x", 3, "  kind: x\n  ^\n", "after the block"},
		{"env:\n- name: A\n  value:\n  kind: x", 3, "  kind: x\n  ^\n", "beside a key without a value"},
		{"{\"env\": [{\"value\":\n5551234}]}", 1, "", "JSON with the value further to the left than its key"},
		{"- {name: A, value:\n s3cret}", 2, "", "a flow mapping over lines"},
		{"- ? value\n  : s3cret", 5, "", "a key of its own line"},
		{"value: |\n  s3cret\n---\n  a: b", 3, "  a: b\n  ^\n", "in another document"},
		{"kind: Secret\nstringData:\n  password: s3cret", 3, "", "the values of a Secret, whatever their keys"},
		{"data: {password: s3cret}", 1, "data: ***\n^\n", "on one line, too"},
		{"nodeSelector:\n  pool: a100", 9, "  pool: a100\n        ^\n", "what is no secret is shown"},
		{"a: the value is", 4, "a: the value is\n   ^\n", "the word alone is no key"},
		{"evalue: x", 9, "evalue: x\n        ^\n", "nor is the end of one"},
		{"tolerations:\n- key: gpu\n  value: yes", 10, "  value: ***\n         ^\n", "rather once too often"},
		{"a:\n" + strings.Repeat("    b\n", 1001) + "    c", 5, "", "too far inside to tell"},
	} {
		if got := snippet(t, tc.text, tc.column, false); got != tc.want {
			t.Errorf("%q at %d:\n%s\nwant\n%s: %s", tc.text, tc.column, got, tc.want, tc.reason)
		}
		if strings.Contains(tc.text, "s3cret") {
			last := tc.text[strings.LastIndex(tc.text, "\n")+1:]
			if got := snippet(t, tc.text, tc.column, true); !strings.HasPrefix(got, last+"\n") {
				t.Errorf("%q is not shown on request: %q", last, got)
			}
		}
	}
}
