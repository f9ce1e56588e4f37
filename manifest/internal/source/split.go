package source

import (
	"bytes"
	"iter"
)

// Chunk is one document of a YAML stream: YAML, or one or more JSON values.
type Chunk struct {
	Text   []byte
	Line   int // the line number of its start, from 1
	Offset int // the offset of its start in the file
}

// Split yields the documents of a YAML stream that have content. Like the YAML scanner, it requires a marker in the first
// column with white space behind it. So a --- in a block scalar, which is always indented, does not split. A document includes
// its separator line only if the line has content.
func Split(data []byte) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		start, startLine := 0, 1
		content := false   // the document has content
		directive := false // it has a directive, which keeps its separator
		marked := false    // it has its separator
		reset := func(at, line int, mark bool) {
			start, startLine = at, line
			content, directive, marked = false, false, mark
		}
		line := 1
		for i := 0; i < len(data); line++ {
			if n := bomLength(data[i:]); n > 0 && !content {
				// Each of several concatenated files may start with a byte order mark.
				i += n
				start, startLine = i, line
				if i == len(data) {
					break
				}
			}
			end, next := LineEnd(data, i)
			text := data[i:end]
			switch rest, kind := Marker(text); {
			case kind == separator:
				if content && !yield(Chunk{data[start:i], startLine, start}) {
					return
				}
				if directive && !content {
					marked = true
				} else {
					reset(next, line+1, true)
				}
				if !IsBlank(rest) {
					if !directive {
						start, startLine = i, line
					}
					content = true
				}
			case kind == terminator:
				if content && !yield(Chunk{data[start:i], startLine, start}) {
					return
				}
				reset(next, line+1, false)
			case IsBlank(text):
			case text[0] == '%' && !content && !marked:
				if harmlessDirective(text) && !directive {
					start, startLine = next, line+1
				} else {
					directive = true
				}
			default:
				content = true
			}
			i = next
		}
		if content {
			yield(Chunk{data[start:], startLine, start})
		}
	}
}

type markerKind int

const (
	NoMarker   markerKind = iota
	separator             // ---
	terminator            // ...
)

// Marker recognizes a document marker at the start of a line, and returns the rest of the line.
func Marker(line []byte) (rest []byte, kind markerKind) {
	if len(line) < 3 || len(line) > 3 && line[3] != ' ' && line[3] != '\t' {
		return nil, NoMarker
	}
	switch string(line[:3]) {
	case "---":
		return line[3:], separator
	case "...":
		return line[3:], terminator
	}
	return nil, NoMarker
}

// IsBlank reports whether the line has no content except white space or a comment.
func IsBlank(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	return len(line) == 0 || line[0] == '#'
}

// harmlessDirective recognizes %YAML 1.1 and 1.2. Kubernetes' reader rejects the second one, although it reads YAML 1.1 in
// both cases.
func harmlessDirective(line []byte) bool {
	fields := bytes.Fields(line)
	if len(fields) < 2 || string(fields[0]) != "%YAML" {
		return false
	}
	version := string(fields[1])
	return (version == "1.1" || version == "1.2") && (len(fields) == 2 || fields[2][0] == '#')
}

// LineEnd returns the end of the line at offset i, and the start of the next line. It uses the line breaks of YAML 1.1. Other
// rules than the scanner's would lose documents.
func LineEnd(data []byte, i int) (end, next int) {
	for ; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\n':
			return i, i + 1
		case c == '\r':
			if i+1 < len(data) && data[i+1] == '\n' {
				return i, i + 2
			}
			return i, i + 1
		case c == 0xC2 && i+1 < len(data) && data[i+1] == 0x85: // NEL
			return i, i + 2
		case c == 0xE2 && i+2 < len(data) && data[i+1] == 0x80 && data[i+2]&^1 == 0xA8: // LS, PS
			return i, i + 3
		}
	}
	return len(data), len(data)
}

func bomLength(data []byte) int {
	if bytes.HasPrefix(data, []byte("\uFEFF")) {
		return len("\uFEFF")
	}
	return 0
}

// IsBlockAtMargin reports whether the content is a block collection in the first column. Such a collection ends only with the
// document. Other content may have more text behind it, which a YAML library does not read.
func IsBlockAtMargin(text []byte) bool {
	for i := 0; i < len(text); {
		end, next := LineEnd(text, i)
		if line := text[i:end]; !IsBlank(line) {
			return !bytes.ContainsRune([]byte(" \t{[&!*|>%"), rune(line[0])) && !bytes.HasPrefix(line, []byte("---"))
		}
		i = next
	}
	return false
}

// CountLines returns the number of lines of a text, at least one.
func CountLines(text []byte) int {
	n := 0
	for i := 0; i < len(text) || n == 0; n++ {
		_, i = LineEnd(text, i)
	}
	return n
}
