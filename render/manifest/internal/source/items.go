package source

import (
	"bytes"
	"iter"
	"slices"
	"unicode/utf8"
)

// Items splits a List in JSON, or in YAML with items on lines of their own, as kubectl writes it. A
// List of a whole cluster exceeds the limit of a document. head is the document without its items.
// Each item is a part of the file; in YAML, blanks replace its dash. It returns false for another
// form and for a head that is too large. It returns false for a text with aliases, which items
// could share.
func Items(s *Source) (head *Source, items iter.Seq[*Source], ok bool) {
	if s.JSON {
		return membersOf(s, "items")
	}
	if MayHaveAliases(s.Text) {
		return nil, nil, false
	}
	start, end, indent, ok := itemLines(s.Text)
	if !ok || len(s.Text)-(end-start) > MaxDocument {
		return nil, nil, false
	}
	head = &Source{File: s.File, Text: append(append([]byte{}, s.Text[:start]...), s.Text[end:]...),
		Offset: s.Offset, Line: s.Line, Column: 1, Part: true}
	firstLine := s.Line + bytes.Count(s.Text[:start], []byte("\n"))
	return head, func(yield func(*Source) bool) {
		line := firstLine
		for at := start; at < end; {
			next := at
			for first := true; next < end; first = false {
				if !first && isDash(s.Text[next:], indent) {
					break
				}
				_, next = LineEnd(s.Text, next)
			}
			item := &Source{File: s.File, Text: bytes.Clone(s.Text[at:next]), Offset: s.Offset + at,
				Line: line, Column: 1, Part: true}
			item.Text[indent] = ' '
			if !yield(item) {
				return
			}
			line += bytes.Count(s.Text[at:next], []byte("\n"))
			at = next
		}
	}, true
}

// itemLines returns the range of the lines of the items, and the indentation of their dashes.
func itemLines(text []byte) (start, end, indent int, ok bool) {
	for i := 0; i < len(text); {
		lineEnd, next := LineEnd(text, i)
		line := bytes.TrimRight(text[i:lineEnd], " \r\n")
		i = next
		if !bytes.Equal(line, []byte("items:")) {
			continue
		}
		start, end = next, len(text)
		indent = len(text[next:]) - len(bytes.TrimLeft(text[next:], " "))
		if !isDash(text[next:], indent) {
			return 0, 0, 0, false
		}
		for i < len(text) {
			_, next = LineEnd(text, i)
			first := bytes.TrimLeft(text[i:next], " ")
			if depth := next - i - len(first); len(bytes.TrimSpace(first)) > 0 && first[0] != '#' &&
				depth <= indent && !isDash(text[i:], indent) {
				end = i
				break
			}
			i = next
		}
		return start, end, indent, true
	}
	return 0, 0, 0, false
}

// isDash reports whether a text starts with an item at an indentation.
func isDash(text []byte, indent int) bool {
	return len(text) > indent+1 && len(bytes.TrimLeft(text[:indent], " ")) == 0 &&
		text[indent] == '-' && text[indent+1] == ' '
}

// membersOf splits a JSON object with a list. White space replaces the items of the head, so that
// the rest keeps its place.
func membersOf(s *Source, name string) (head *Source, items iter.Seq[*Source], ok bool) {
	list := lastMember(s, name)
	if list == nil || len(s.Text)-len(list.Text) > MaxDocument {
		return nil, nil, false
	}
	start := list.Offset - s.Offset
	last := list.Text[bytes.LastIndexByte(list.Text, '\n')+1:]
	gap := bytes.Repeat([]byte("\n"), bytes.Count(list.Text, []byte("\n")))
	gap = append(gap, bytes.Repeat([]byte(" "), max(0, utf8.RuneCount(last)-len("[]")))...)
	head = &Source{File: s.File, Offset: s.Offset, Line: s.Line, Column: s.Column, JSON: true,
		Part: true}
	head.Text = slices.Concat(s.Text[:start], []byte("["), gap, []byte("]"),
		s.Text[start+len(list.Text):])
	return head, Elements(list), true
}
