package report

import (
	"regexp"
	"strings"
	"sync"

	"github.com/trainweld/trainweld/schema"
)

// farthest is how many lines before a position are looked at for what it is part of. Deeper into a
// value no line is shown.
const farthest = 1000

// longestLine is the longest line of which a part is shown, in bytes. Longer ones are no text for a
// person, and not worth the time to go through for each finding.
const longestLine = 1 << 16

// secretKey matches a key whose value may be a secret: value, of a variable; data and stringData, of a
// Secret. Other fields of these names are hidden along with them.
var secretKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[\s{\[,?-])["']?(value|data|stringData)["']?\s*:`)
})

// source returns the line of a position, and whether it may be shown. Without ShowValues what follows a
// key of a secret on it is masked, and a line within a secret's value is not shown. This reads lines
// and not YAML on purpose: it has to hold for files that are no YAML, too, which is what the finding
// may be about.
func (o Options) source(p schema.Position) (string, bool) {
	if o.Line == nil || p.Line <= 0 {
		return "", false
	}
	line := o.Line(p)
	if len(line) > longestLine || isBlank(line) {
		return "", false
	}
	if o.ShowValues {
		return line, true
	}
	if o.insideSecret(p, line) || strings.IndexAny(strings.TrimLeft(line, " \t-"), "?:") == 0 {
		return "", false // the latter is a key or a value by itself, and the other half elsewhere
	}
	key := secretKey().FindStringIndex(line)
	if key == nil || isBlank(line[key[1]:]) {
		return line, true
	}
	// Behind the key there is nothing to point at but the value itself.
	masked := line[:key[1]] + " ***"
	return masked, p.Column <= len([]rune(masked))
}

// insideSecret reports whether the line is part of the value of a secret's key on a line before it: one
// that stands further to the left than all lines between, or, for a line without a key of its own, the
// one right before it.
func (o Options) insideSecret(p schema.Position, line string) bool {
	left, next := indent(line), !strings.Contains(line, ":")
	for n := p.Line - 1; n > 0 && (left > 0 || next); n-- {
		if p.Line-n > farthest {
			return true
		}
		above := o.Line(schema.Position{File: p.File, Line: n, Column: 1})
		if isBlank(above) {
			continue
		}
		if strings.HasPrefix(above, "---") {
			return false
		}
		if key := secretKey().FindStringSubmatchIndex(above); key != nil && (key[4] < left || next && isBlank(above[key[1]:])) {
			return true
		}
		left, next = min(left, indent(above)), false
	}
	return false
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// indent is how far to the right a line begins.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
