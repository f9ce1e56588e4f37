package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	eastasian "golang.org/x/text/width"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fieldpath/printable"
	"github.com/trainweld/trainweld/finding"
)

// The widths of a snippet, and of its part before the caret, in terminal columns.
const (
	longestSnippet = 100
	beforeCaret    = 60
	longestMark    = 16 // the characters that a command of a workflow starts with
	// the characters measured on either side, since a long line may have many findings
	nearCaret = 4 * longestSnippet
)

// snippet writes the source line of a finding with a caret under its column. The line starts with
// its number, so that it cannot imitate a line of the report or a workflow command.
func (t textReport) snippet(f finding.Finding) {
	line, ok := t.opts.source(f.Position)
	if !ok {
		return
	}
	at := min(max(f.Position.Column-1, 0), utf8.RuneCountInString(line))
	from := max(at-nearCaret, 0)
	shown, under := cut(visible(runesOf(line, from, at+nearCaret)), at-from)
	number := strconv.Itoa(f.Position.Line)
	fmt.Fprintf(t.w, "  %s | %s\n", number, shown)
	if f.Position.Column > 0 {
		fmt.Fprintf(t.w, "  %s | %s%s\n", strings.Repeat(" ", len(number)), under,
			t.paint(colorOf(f.Severity), "^"))
	}
}

// runesOf returns the characters of a line between two columns. It converts only those.
func runesOf(line string, from, to int) []rune {
	if !utf8.ValidString(line) {
		line = string([]rune(line)) // a replacement character for each invalid byte
	}
	start := offsetOf(line, from)
	return []rune(line[start : start+offsetOf(line[start:], to-from)])
}

// offsetOf returns the offset of a character of a valid text, or the length of a shorter text.
func offsetOf(text string, characters int) int {
	at := 0
	for characters > 0 && at < len(text) {
		to := min(at+characters, len(text)) // a character has a byte at least
		for to < len(text) && !utf8.RuneStart(text[to]) {
			to++
		}
		characters -= utf8.RuneCountInString(text[at:to])
		at = to
	}
	return at
}

// visible replaces each character that a terminal interprets by a visible one, and so keeps the
// columns. It keeps tabs, because the line of the caret repeats them.
func visible(runes []rune) []rune {
	for i, r := range runes {
		switch {
		case r == '\t' || printable.Shows(r):
		case r < ' ':
			runes[i] = '␀' + r
		case r == 0x7f:
			runes[i] = '␡'
		default:
			runes[i] = unicode.ReplacementChar
		}
		if i > 0 && r == '#' &&
			printable.StartsCommand(string(runes[i-1:min(len(runes), i+longestMark)])) {
			runes[i] = unicode.ReplacementChar
		}
	}
	return runes
}

// cut returns the line, or the part of a long one around the character at. It also returns blanks
// as wide as the part before that character.
func cut(line []rune, at int) (shown, under string) {
	from, to := 0, len(line)
	if columns(line) > longestSnippet {
		for before := columns(line[:at]); before > beforeCaret; from++ {
			before -= columnsOf(line[from])
		}
		to = at
		w := columns(line[from:at])
		for ; to < len(line) && w+columnsOf(line[to]) <= longestSnippet; to++ {
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

// Width returns the number of terminal columns of a string.
func Width(text string) int { return columns([]rune(text)) }

func columns(runes []rune) int {
	n := 0
	for _, r := range runes {
		n += columnsOf(r)
	}
	return n
}

// columnsOf returns the columns of a character: two for East Asian characters and emoji, none for
// combining marks. A tab counts with its largest width.
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

// longestLine is the longest line that is shown in part, in bytes. A longer one is not text for
// people, and too slow to process for each finding.
const longestLine = 1 << 16

// source returns the part of a position's line that may be shown, and whether the position lies in
// it.
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
	return line, !masked || p.Column <= utf8.RuneCountInString(line)
}
