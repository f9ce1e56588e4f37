package report

import (
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
)

// longestLine is the longest line of which a part is shown, in bytes. Longer ones are no text for a
// person, and not worth the time to go through for each finding.
const longestLine = 1 << 16

// source returns as much of the line of a position as may be shown, and whether the position is on it.
func (o Options) source(p fieldpath.Position) (string, bool) {
	if o.Quote == nil || p.Line <= 0 {
		return "", false
	}
	line, ok := o.Quote(p, o.ShowValues)
	if !ok || len(line) > longestLine || strings.TrimSpace(line) == "" {
		return "", false
	}
	// Behind a masked value there is nothing to point at.
	masked := strings.HasSuffix(line, " ***")
	return line, !masked || p.Column <= len([]rune(line))
}
