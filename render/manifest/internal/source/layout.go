package source

import (
	"bytes"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Layout knows the bytes of the nodes of a text.
type Layout struct {
	Data   []byte
	isJSON bool
	starts []int         // offset of each line
	marks  map[int][]int // by long lines, from 0: the offset of every column at a distance of markEach
}

// markEach is the distance of the known columns of a line. A line may hold a whole object.
const markEach = 256

// Layout returns the layout of the text. It caches the result.
func (s *Source) Layout() *Layout {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.layout == nil {
		s.layout = &Layout{Data: s.Text, isJSON: s.JSON}
		for i := 0; i < len(s.Text); {
			s.layout.starts = append(s.layout.starts, i)
			end, next := LineEnd(s.Text, i)
			s.layout.mark(i, end)
			i = next
		}
	}
	return s.layout
}

// mark notes columns of the last line, which lies between two offsets.
func (l *Layout) mark(at, end int) {
	if end-at < markEach {
		return
	}
	var marks []int
	for column := 0; at < end; column++ {
		if column%markEach == 0 {
			marks = append(marks, at)
		}
		_, size := utf8.DecodeRune(l.Data[at:])
		at += size
	}
	if l.marks == nil {
		l.marks = map[int][]int{}
	}
	l.marks[len(l.starts)-1] = marks
}

// Start returns the offset of a node, including its anchor and its tag.
func (l *Layout) Start(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(l.starts) {
		return len(l.Data)
	}
	at, columns := l.starts[n.Line-1], n.Column-1
	if marks := l.marks[n.Line-1]; marks != nil {
		i := min(columns/markEach, len(marks)-1)
		at, columns = marks[i], columns-i*markEach
	}
	for range columns {
		_, size := utf8.DecodeRune(l.Data[at:])
		at += size
	}
	return at
}

// LineStart returns the start of the offset's line.
func (l *Layout) LineStart(at int) int {
	if i := l.line(at); i >= 0 {
		return l.starts[i]
	}
	return 0
}

// line returns the number of the offset's line, from 0, or -1 for an empty text.
func (l *Layout) line(at int) int { return sort.SearchInts(l.starts, at+1) - 1 }

// NextLine returns the start of the line after the offset's.
func (l *Layout) NextLine(at int) int {
	if i := l.line(at); at < len(l.Data) && i+1 < len(l.starts) {
		return l.starts[i+1]
	}
	return len(l.Data)
}

// LineEnd returns the end of the offset's line, before its line break.
func (l *Layout) LineEnd(at int) int {
	const longest = 3 // bytes of a line break
	end, _ := LineEnd(l.Data, max(at, l.NextLine(at)-longest))
	return end
}

// Before returns the text of the line before the offset. It is a part of Data, since a line may be long.
func (l *Layout) Before(at int) []byte { return l.Data[l.LineStart(at):at] }

// Indent returns the number of spaces at the start of the offset's line.
func (l *Layout) Indent(at int) int {
	line := l.Data[l.LineStart(at):]
	return len(line) - len(bytes.TrimLeft(line, " "))
}

// Content returns the offset of a node's content, behind its anchor and its tag.
func (l *Layout) Content(n *yaml.Node) int {
	at := l.Start(n)
	for !l.isJSON && at < len(l.Data) && (l.Data[at] == '&' || l.Data[at] == '!') {
		if n.Anchor == "" && n.Style&yaml.TaggedStyle == 0 {
			break
		}
		at += len(l.Data[at:]) - len(bytes.TrimLeftFunc(l.Data[at:], func(r rune) bool { return !unicode.IsSpace(r) }))
		at += len(l.Data[at:]) - len(bytes.TrimLeft(l.Data[at:], " \t"))
	}
	return at
}

// End returns the offset behind the last character of a node. Its key or its dash has the indentation indent.
func (l *Layout) End(n *yaml.Node, indent int) int {
	at := l.Content(n)
	if at >= len(l.Data) {
		return len(l.Data)
	}
	switch first := l.Data[at]; {
	case n.Kind == yaml.AliasNode:
		return at + len("*") + len(n.Value)
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return l.blockEnd(at, indent)
	case n.Kind == yaml.ScalarNode && (first == '"' || first == '\''):
		return l.quotedEnd(at)
	case n.Kind == yaml.ScalarNode:
		return l.plainEnd(at, n.Value)
	case l.IsFlow(n):
		return l.flowEnd(at)
	case len(n.Content) == 0:
		return at
	}
	last := n.Content[len(n.Content)-1]
	if n.Kind == yaml.MappingNode {
		return l.End(last, n.Content[len(n.Content)-2].Column-1)
	}
	dash := l.Dash(last)
	return l.End(last, dash-l.LineStart(dash))
}

// Dash returns the offset of the dash of an item in block style.
func (l *Layout) Dash(item *yaml.Node) int {
	for at := l.Start(item); at > 0; at = l.LineStart(at) - 1 {
		line := l.Data[l.LineStart(at):at]
		if rest, comment := bytes.TrimLeft(line, " \t-"), bytes.IndexByte(line, '#'); len(rest) > 0 && rest[0] == '#' {
			line = line[:comment]
		}
		if line = bytes.TrimRight(line, " \t\r\n"); len(line) > 0 {
			return l.LineStart(at) + len(line) - 1
		}
	}
	return 0
}

// IsFlow reports whether a collection is in brackets.
func (l *Layout) IsFlow(n *yaml.Node) bool { return l.isJSON || n.Style&yaml.FlowStyle != 0 }

// plainEnd returns the end of a plain scalar, which has no escapes.
func (l *Layout) plainEnd(at int, value string) int {
	end := at
	for _, r := range value {
		if unicode.IsSpace(r) {
			continue
		}
		for at < len(l.Data) {
			got, size := utf8.DecodeRune(l.Data[at:])
			if at += size; got == r {
				end = at
				break
			}
			if !unicode.IsSpace(got) {
				return end
			}
		}
	}
	return end
}

func (l *Layout) quotedEnd(at int) int {
	quote := l.Data[at]
	for at++; at < len(l.Data); at++ {
		switch c := l.Data[at]; {
		case c == '\\' && quote == '"':
			at++
		case c == quote && quote == '\'' && at+1 < len(l.Data) && l.Data[at+1] == quote:
			at++
		case c == quote:
			return at + 1
		}
	}
	return len(l.Data)
}

// flowEnd returns the end of a collection in brackets.
func (l *Layout) flowEnd(at int) int {
	depth := 0
	for at < len(l.Data) {
		switch c := l.Data[at]; {
		case (c == '"' || c == '\'') && l.opens(at):
			at = l.quotedEnd(at)
			continue
		case c == '#' && l.isComment(at):
			at = l.LineEnd(at)
			continue
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
		at++
	}
	return len(l.Data)
}

// opens reports whether a quote starts a scalar, instead of standing within a plain one.
func (l *Layout) opens(at int) bool {
	return at == 0 || strings.IndexByte(" \t\r\n,[]{}:", l.Data[at-1]) >= 0
}

func (l *Layout) isComment(at int) bool {
	return !l.isJSON && (at == 0 || strings.IndexByte(" \t\r\n", l.Data[at-1]) >= 0)
}

// Skip returns the offset of the next character that is neither white space nor in a comment.
func (l *Layout) Skip(at int) int {
	for at < len(l.Data) {
		switch c := l.Data[at]; {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			at++
		case c == '#' && l.isComment(at):
			at = l.LineEnd(at)
		default:
			return at
		}
	}
	return at
}

// blockEnd returns the end of a block scalar: the end of its last line that is not blank.
func (l *Layout) blockEnd(at, indent int) int {
	end := l.LineEnd(at)
	for line := l.NextLine(at); line < len(l.Data); line = l.NextLine(line) {
		stop := l.LineEnd(line)
		if len(bytes.TrimSpace(l.Data[line:stop])) == 0 {
			continue
		}
		if l.Indent(line) <= indent {
			break
		}
		end = stop
	}
	return end
}

// Region returns the end of the lines of a value that ends at the offset. Comments indented deeper than indent belong to it.
func (l *Layout) Region(end, indent int) int {
	region := l.NextLine(end)
	for line := region; line < len(l.Data); line = l.NextLine(line) {
		body := bytes.TrimLeft(l.Data[line:l.LineEnd(line)], " \t")
		if len(body) == 0 {
			continue
		}
		if body[0] != '#' || l.Indent(line) <= indent {
			break
		}
		region = l.NextLine(line)
	}
	return region
}
