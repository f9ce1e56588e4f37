package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable makes text safe for a terminal and for a line of a log: control characters, ends of lines
// and what turns the direction of writing are written as the escapes of Go, and bytes that are no
// UTF-8 as U+FFFD.
func printable(text string) string {
	if isPrintable(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if shows(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(escape(r))
		}
	}
	return b.String()
}

func isPrintable(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !shows(r) }) < 0
}

// The characters that join others without being seen, in emoji and in several scripts.
const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
)

// shows reports whether a character may be written as it is.
func shows(r rune) bool {
	return unicode.IsGraphic(r) || r == zeroWidthNonJoiner || r == zeroWidthJoiner
}

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
