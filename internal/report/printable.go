package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable makes a string safe for a terminal and for a line of a log. It writes control characters, invisible ones, line
// ends and characters that change the writing direction as Go escapes. It writes invalid UTF-8 as U+FFFD. It breaks the marks
// that workflow runners recognize anywhere in a line.
func printable(text string) string {
	if !isPrintable(text) {
		var b strings.Builder
		for _, r := range text {
			if shows(r) {
				b.WriteRune(r)
			} else {
				b.WriteString(escape(r))
			}
		}
		text = b.String()
	}
	for _, mark := range marks {
		text = strings.ReplaceAll(text, mark, `#\x23`+mark[2:])
	}
	return text
}

// marks start commands of GitHub, Azure Pipelines and TeamCity anywhere in a line.
var marks = [...]string{"##[", "##vso[", "##teamcity["}

// line is printable for the start of a line. Runners skip blanks before the colons of a command.
func line(text string) string {
	text = printable(text)
	if trimmed := strings.TrimLeftFunc(text, unicode.IsSpace); strings.HasPrefix(trimmed, "::") {
		return text[:len(text)-len(trimmed)] + `\x3a` + trimmed[1:]
	}
	return text
}

func isPrintable(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !shows(r) }) < 0
}

// shows reports whether a character may be written unchanged.
func shows(r rune) bool { return unicode.IsGraphic(r) }

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r <= 0xff:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}

// Printable makes a string safe for a terminal and for a line of a log, as all reports do. It writes control characters, line
// ends and characters that change the writing direction as Go escapes. It writes invalid UTF-8 as U+FFFD.
func Printable(text string) string { return printable(text) }

// Line is Printable for the start of a line, where workflow runners recognize commands.
func Line(text string) string { return line(text) }

// Width returns the number of terminal columns that a printable string takes.
func Width(text string) int { return width(text) }

// EncodeJSON writes a value like the JSON reports: indented and without HTML escapes. It escapes characters that a terminal
// interprets.
func EncodeJSON(w io.Writer, value any) error { return encodeJSON(w, value) }

// PrintableTabs is Line for a string that may have tabs.
func PrintableTabs(text string) string {
	parts := strings.Split(text, "\t")
	for i := range parts {
		parts[i] = Printable(parts[i])
	}
	first := len(text) - len(strings.TrimLeft(text, "\t"))
	parts[first] = Line(parts[first])
	return strings.Join(parts, "\t")
}
