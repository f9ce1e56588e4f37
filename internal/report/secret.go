package report

import (
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
)

// longestLine is the longest line that is shown in part, in bytes. A longer one is not text for people, and too slow to
// process for each finding.
const longestLine = 1 << 16

// source returns the part of a position's line that may be shown, and whether the position lies in it.
func (o Options) source(p fieldpath.Position) (string, bool) {
	if o.Quote == nil || p.Line <= 0 {
		return "", false
	}
	line, ok := o.Quote(p, o.ShowValues)
	if !ok || len(line) > longestLine || strings.TrimSpace(line) == "" {
		return "", false
	}
	// Behind a masked value, a caret would point at nothing.
	masked := strings.HasSuffix(line, " ***")
	return line, !masked || p.Column <= len([]rune(line))
}
