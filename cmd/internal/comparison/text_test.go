package comparison

import (
	"strings"
	"testing"
)

// TestCodeSpan writes code that no text can end.
func TestCodeSpan(t *testing.T) {
	for _, tc := range []struct{ text, want, reason string }{
		{`.spec["a"]`, "`.spec[\"a\"]`", "a path"},
		{"a`b", "`` a`b ``", "one backtick"},
		{"a```b`", "```` a```b` ````", "several"},
		{"a\nb", "`a\\nb`", "a line break"},
	} {
		if got := codeSpan(tc.text); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
		}
	}
}

// TestSummaryOfManyCausesFits shortens a summary that would leave no room in a comment.
func TestSummaryOfManyCausesFits(t *testing.T) {
	for _, causes := range []int{1, 15, 200} {
		var s summary
		for range causes {
			by := &cause{Name: strings.Repeat("m", 250), TrainJobs: jobList{{Name: "a"}}}
			for range 50 {
				by.Changes = append(by.Changes,
					&causeChange{What: strings.Repeat("p", 500), TrainJobs: by.TrainJobs})
			}
			s.Causes = append(s.Causes, by)
		}
		var m comment
		m.add((&Comparison{}).causes(s).block(), mostMarkdown/3)
		if m.shown.Len() > mostMarkdown/3+200 {
			t.Errorf("the summary of %d causes has %d bytes", causes, m.shown.Len())
		}
		if text := m.shown.String(); !strings.Contains(text, "more cause") &&
			!strings.Contains(text, "more change") {
			t.Errorf("the summary of %d causes does not count the omitted ones:\n%s", causes, text)
		}
	}
}
