package report_test

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/page"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
)

// TestWrite_Excerpt holds that the source lines of a card show the value in dispute, and nothing
// that follows it. A line in an element of its own would have an empty line below.
func TestWrite_Excerpt(t *testing.T) {
	long := strings.Repeat("k", 90)
	for _, tc := range []struct {
		name, text string
		line       int
		column     int
		want       string
		reason     string
	}{
		{"one line", "spec:\n  pool: spot\n  zone: a\n", 2, 3, "pool: spot",
			"the value is on the line"},
		{"a long key", "labels: {" + long + ": spot}\n", 1, 10, "labels: {" + long + ": spot}",
			"a page has room for the line"},
		{"a map", "spec:\n  selector:\n    pool: spot\n\n  zone: a\n", 2, 3,
			"selector:|  pool: spot", "the value is below the field"},
		{"a list", "spec:\n  args:\n  - a\n  - b\n  zone: a\n", 2, 3, "args:|- a|- b",
			"items may have the column of the field"},
		{"a list in an item", "- args:\n  - a\n- args:\n  - b\n", 1, 3, "- args:|- a",
			"the next item is another value"},
		{"an item", "args:\n- a: b\n  c: d\n- b\n", 2, 1, "- a: b|  c: d",
			"the position is at the dash"},
		{"a text", "spec:\n  script: |\n    a\n    b\n", 2, 3, "script: ||  a|  b",
			"a text of several lines"},
		{"a long list", "args:\n" + strings.Repeat("- a\n", 20), 1, 1,
			"args:|- a|- a|- a|- a|- a|- a", "six lines are enough"},
	} {
		lines := strings.Split(tc.text, "\n")
		opts := report.Options{Quote: func(p fieldpath.Position, _ bool) (string, bool) {
			return lines[p.Line-1], p.Line < len(lines) && lines[p.Line-1] != ""
		}}
		f := finding.Finding{Code: codes.Overlap, Severity: finding.Error, Message: "m",
			Position: fieldpath.Position{File: "a.yaml", Line: tc.line, Column: tc.column}}
		f.Claims = []merge.Claim{{Owner: "manager/a", Value: "a"}, {Owner: "manager/b", Value: "b"}}
		var body page.Body
		report.Cards(&body, &page.Layers{}, opts, opts.Groups(finding.List{f}))
		var b strings.Builder
		if err := page.Write(&b, page.Document{}, &body); err != nil {
			t.Fatal(err)
		}
		_, source, _ := strings.Cut(b.String(), "<div class=source>")
		source, _, _ = strings.Cut(source, "<table")
		var got []string
		for _, part := range strings.Split(source, "<i>")[1:] {
			_, part, _ = strings.Cut(part, "</i>")
			got = append(
				got, strings.NewReplacer("\n", "", "<mark>", "", "</mark>", "", "</div>",
					"").Replace(part))
		}
		if got := strings.Join(got, "|"); got != tc.want {
			t.Errorf("%s: the excerpt is %q, want %q: %s", tc.name, got, tc.want, tc.reason)
		}
	}
}
