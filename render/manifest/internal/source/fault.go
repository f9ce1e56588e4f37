package source

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
)

// Fault returns the position of a problem. The parameter line comes from the YAML library, which
// reports no columns and often no line (0).
func (s *Source) Fault(line int, err error, problem string) fieldpath.Position {
	text := s.Text
	var m []int
	var trailing TrailingError
	var node nodeError
	switch {
	case errors.As(err, &node):
		return s.Position(node.at)
	case errors.As(err, &trailing):
		if m = startOfTemplate().FindSubmatchIndex(text); m != nil &&
			bytes.Count(text[:m[2]], []byte("\n")) < trailing.line {
			return s.At(m[2]) // a template's line parses as a value of its own
		}
		m = nil
		if trailing.column > 0 {
			return s.Position(&yaml.Node{Line: trailing.line, Column: trailing.column})
		}
		line = trailing.line
	case problem == "control characters are not allowed":
		return s.At(max(0, indexUnreadable(text)))
	case strings.HasPrefix(problem, UnknownAnchor):
		m = regexp.MustCompile(`(?:^|[\s\[{,])(\*` + regexp.QuoteMeta(anchorName(problem)) +
			`)(?:[\s,\[\]{}]|$)`).FindSubmatchIndex(text)
	default:
		m = startOfTemplate().FindSubmatchIndex(text)
	}
	if m != nil {
		return s.At(m[2])
	}
	start := 0
	for range min(max(line, 1), CountLines(text)) - 1 {
		_, start = LineEnd(text, start)
	}
	end, _ := LineEnd(text, start)
	return s.At(start + columnOf(text[start:end], problem))
}

// At returns the position of a byte of the text.
func (s *Source) At(offset int) fieldpath.Position {
	line, column := 1, 1
	for i := 0; ; line++ {
		end, next := LineEnd(s.Text, i)
		if offset < next || next == len(s.Text) {
			column += utf8.RuneCount(bytes.TrimPrefix(s.Text[i:min(offset, end)], []byte("\uFEFF")))
			break
		}
		i = next
	}
	if line == 1 {
		column += s.Column - 1
	}
	return fieldpath.Position{File: s.File.Name, Line: s.Line + line - 1, Column: column}
}

// columnOf returns the column of a problem on a line. It searches the cause of the scanner's
// message. If it finds none, it returns the first character of the line.
func columnOf(line []byte, problem string) int {
	first := len(line) - len(bytes.TrimLeft(line, " \t"))
	var m []int
	switch problem {
	case "found character that cannot start any token":
		if tab := bytes.IndexByte(line[:first], '\t'); tab >= 0 {
			return tab
		}
		m = regexp.MustCompile("(?:^\\s*|[:,\\[{-]\\s+|[\\[{,])([@`%\\t])").FindSubmatchIndex(line)
	case "mapping values are not allowed in this context":
		m = regexp.MustCompile(`:\s.*?(:)(?:\s|$)`).FindSubmatchIndex(line)
	case "found unknown escape character":
		m = regexp.MustCompile(
			`"(?:[^"\\]|\\[0abtnvfre "/\\N_LPxuU\t])*(\\[^0abtnvfre "/\\N_LPxuU\t])`).FindSubmatchIndex(line)
	case "found unexpected end of stream", "found unexpected document indicator":
		m = regexp.MustCompile(`(?:^|.*[\s\[{,])(["'])`).FindSubmatchIndex(line)
	default:
		open := 0
		for i, c := range line {
			switch c {
			case '{', '[':
				open++
			case '}', ']':
				if open--; open < 0 {
					return i
				}
			}
		}
	}
	if m == nil {
		return first
	}
	return m[2]
}

// startOfTemplate matches template braces at the start of a value or a line.
func startOfTemplate() *regexp.Regexp {
	return regexp.MustCompile(
		`(?m)^[ \t]*(?:- +)*(?:[^\s#'"{][^:\n#]*:[ \t]+|"[^"\n]*":[ \t]+|'[^'\n]*':[ \t]+)?(?:\[[ \t]*)?(\{\{)`)
}

// IsTemplate reports whether a text may be a template.
func IsTemplate(text []byte) bool { return startOfTemplate().Match(text) }

// UnknownAnchor starts the library's message for an alias without an anchor.
const UnknownAnchor = "unknown anchor '"

func anchorName(problem string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(problem, UnknownAnchor), "' referenced")
	return name
}

// indexUnreadable returns the index of the first character that YAML forbids (YAML 1.1,
// c-printable), or -1.
func indexUnreadable(text []byte) int {
	return bytes.IndexFunc(text, func(r rune) bool {
		switch {
		case r == '\t', r == '\n', r == '\r', r == 0x85, 0x20 <= r && r < 0x7f,
			0xa0 <= r && r <= 0xfffd, r > 0xffff:
			return false
		}
		return true
	})
}

// Unquoted returns a library's message without quotes from the file, which may hold a password.
func Unquoted(problem string) string {
	for _, known := range []string{"unknown anchor", "invalid map key"} {
		if strings.HasPrefix(problem, known) {
			return known
		}
	}
	problem = regexp.MustCompile("(?s)`.*`").ReplaceAllString(problem, "a value")
	return regexp.MustCompile(`(cannot unmarshal number) \S+ into`).ReplaceAllString(
		problem, "$1 into")
}
