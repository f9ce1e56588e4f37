package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	eastasian "golang.org/x/text/width"

	"github.com/trainweld/trainweld/finding"
)

// The longest part of a source line that is shown, in columns of a terminal, and how much of it
// stands before the place that is meant.
const (
	longestSnippet = 100
	beforeCaret    = 60
	nearCaret      = 4 * longestSnippet // characters on either side that are measured: a long line may have many findings
)

// snippet writes the source line of a finding with a caret under its column. The number of the line
// stands in front so that no line of a file can pass for one of the report, or, in the log of a
// workflow, for a command.
func (t text) snippet(f finding.Finding) {
	line, ok := t.opts.source(f.Position)
	if !ok {
		return
	}
	number := strconv.Itoa(f.Position.Line)
	runes := []rune(line)
	at := min(max(f.Position.Column-1, 0), len(runes))
	from := max(at-nearCaret, 0)
	shown, under := cut(visible(runes[from:min(at+nearCaret, len(runes))]), at-from)
	fmt.Fprintf(t.w, "  %s | %s\n", number, shown)
	if f.Position.Column > 0 {
		fmt.Fprintf(t.w, "  %s | %s%s\n", strings.Repeat(" ", len(number)), under, t.paint(colorOf(f.Severity), "^"))
	}
}

// visible replaces each character that a terminal would act on by one that shows, so that columns
// stay what they are. Tabs stay: the line of the caret repeats them.
func visible(runes []rune) []rune {
	for i, r := range runes {
		switch {
		case r == '\t' || shows(r):
		case r < ' ':
			runes[i] = '␀' + r
		case r == 0x7f:
			runes[i] = '␡'
		default:
			runes[i] = unicode.ReplacementChar
		}
		for _, mark := range marks {
			if i > 0 && r == '#' && strings.HasPrefix(string(runes[i-1:min(len(runes), i-1+len(mark))]), mark) {
				runes[i] = unicode.ReplacementChar
			}
		}
	}
	return runes
}

// cut returns a line, or the part of a long one around the character at, and blanks as wide as what
// stands before that character.
func cut(line []rune, at int) (shown, under string) {
	from, to := 0, len(line)
	if columns(line) > longestSnippet {
		for before := columns(line[:at]); before > beforeCaret; from++ {
			before -= columnsOf(line[from])
		}
		to = at
		for w := columns(line[from:at]); to < len(line) && w+columnsOf(line[to]) <= longestSnippet; to++ {
			w += columnsOf(line[to])
		}
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString(" ")
		shown = "…"
	}
	for _, r := range line[from:at] {
		if r == '\t' {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Repeat(" ", columnsOf(r)))
		}
	}
	shown += string(line[from:to])
	if to < len(line) {
		shown += "…"
	}
	return strings.TrimRight(shown, " \t"), b.String()
}

// width is how many columns of a terminal a text takes.
func width(text string) int { return columns([]rune(text)) }

func columns(runes []rune) int {
	n := 0
	for _, r := range runes {
		n += columnsOf(r)
	}
	return n
}

// columnsOf is how many columns a character takes: two for those of East Asia and for emoji, none for
// marks that go onto the one before. A tab counts as if it took all that it can.
func columnsOf(r rune) int {
	switch {
	case ' ' <= r && r <= '~':
		return 1
	case r == '\t':
		return 8
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch eastasian.LookupRune(r).Kind() {
	case eastasian.EastAsianWide, eastasian.EastAsianFullwidth:
		return 2
	}
	return 1
}
