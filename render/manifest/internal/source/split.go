package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"unicode"
	"unicode/utf8"
)

// Chunk is one document of a stream, or the JSON values at its start.
type Chunk struct {
	Text         []byte
	Line, Column int // the position of its start, from 1
	Offset       int // the offset of its start in the file
	JSON         bool
	// Err tells that kubectl cannot read the stream from here on. Text is then the rest of the
	// line.
	Err error
}

// The errors of streams.
var (
	ErrSeparator  = errors.New("invalid Yaml document separator: only a comment may follow \"---\"")
	ErrJSONStream = errors.New("not JSON, and kubectl reads no YAML here")
)

// sniffed is the length of the start of a stream by which kubectl recognizes JSON.
const sniffed = 4096

// Split yields the documents of a stream that have content, as kubectl separates them
// (k8s.io/apimachinery v0.36.3 pkg/util/yaml). A stream that begins with { has JSON values. After
// at most one of them it may go on as YAML.
//
// In YAML, every line that begins with --- ends a document. It does not after a line break of YAML
// other than a line feed. Nothing but a comment may follow on the line. Content there, and a
// directive, are a document in YAML, but not for kubectl. After an error, Split yields the rest of
// the stream as YAML reads it.
func Split(data []byte) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		s := splitter{data: data, yield: yield, line: 1, column: 1}
		if start := bytes.TrimLeftFunc(data[:min(len(data), sniffed)], unicode.IsSpace); len(
			start) > 0 && start[0] == '{' && !s.json() {
			return
		}
		s.yaml()
	}
}

// splitter splits one stream. It stands at an offset, which has a line and a column.
type splitter struct {
	data         []byte
	yield        func(Chunk) bool
	at           int
	line, column int
}

// Source returns the text of a chunk as one source of its file.
func (c Chunk) Source(f *File) *Source {
	return &Source{File: f, Text: c.Text, Offset: c.Offset, Line: c.Line, Column: c.Column}
}

// chunk returns the text up to an offset.
func (s *splitter) chunk(end int) Chunk {
	return Chunk{Text: s.data[s.at:end], Line: s.line, Column: s.column, Offset: s.at}
}

// advance moves to an offset.
func (s *splitter) advance(to int) {
	before := s.data[:to]
	for s.at < to {
		end, next := LineEnd(before, s.at)
		if end == next {
			s.column += utf8.RuneCount(before[s.at:])
		} else {
			s.line, s.column = s.line+1, 1
		}
		s.at = next
	}
}

// json yields the JSON values at the start of a stream. It reports whether YAML may follow.
func (s *splitter) json() bool {
	decoder, values, end := json.NewDecoder(bytes.NewReader(s.data)), 0, 0
	var err error
	for value := (json.RawMessage)(nil); ; values++ {
		if err = decoder.Decode(&value); err != nil {
			break
		}
		end = int(decoder.InputOffset())
	}
	if values > 0 {
		c := s.chunk(end)
		if c.JSON = true; !s.yield(c) {
			return false
		}
		s.advance(end)
	}
	if errors.Is(err, io.EOF) {
		return false
	}
	start, ok := lineStart(s.data, s.at)
	if s.advance(start); values < 2 && ok {
		return true
	}
	lineEnd, _ := LineEnd(s.data, s.at)
	c := s.chunk(lineEnd)
	c.Err = ErrJSONStream
	s.yield(c)
	return false
}

// lineStart returns the offset behind white space, and at most one line feed. It returns false
// where kubectl gives up at the end of the stream. The reason is that kubectl looks at four bytes
// at a time.
func lineStart(data []byte, at int) (start int, ok bool) {
	const look = utf8.UTFMax
	for start = at; start+look <= len(data); {
		r, n := utf8.DecodeRune(data[start:])
		if !unicode.IsSpace(r) {
			return start, true
		}
		if start += n; r == '\n' {
			return start, true
		}
	}
	return start, false
}

// yaml yields the documents from the current offset on.
func (s *splitter) yaml() {
	first, line, column := s.at, s.line, s.column
	begun := false   // kubectl has a line of the document
	content := false // the document has content
	head := s.chunk(s.at)
	skip := func(to int) {
		if s.at, s.line, s.column = to, line, column; !begun {
			head = s.chunk(to)
		}
	}
	document := func(end int) bool {
		c := s.chunk(end)
		// what precedes the content decides how a parser reads it
		if all := s.data[head.Offset:end]; mayEnd(all) || bomLength(c.Text) > 0 {
			c, c.Text = head, all
		}
		return !content || s.yield(c)
	}
	for i := s.at; i < len(s.data); {
		end, next := LineEnd(s.data, i)
		text := s.data[i:end]
		// each of several concatenated files may start with a byte order mark
		if n := bomLength(text); n > 0 && !begun {
			s.at, text = i+n, text[n:]
		}
		isLine := i == first || s.data[i-1] == '\n'
		if !isLine || !bytes.HasPrefix(s.data[i:], []byte("---")) {
			content, begun = content || !IsBlank(text) || hasTab(text), true
		} else {
			if !document(i) {
				return
			}
			content, begun = false, !begun // a separator at the start belongs to the document
			skip(i)
			rest, _, _ := bytes.Cut(s.data[i+3:], []byte("\n"))
			if rest = bytes.TrimSpace(rest); len(rest) > 0 && rest[0] != '#' {
				c := s.chunk(end)
				if c.Err = ErrSeparator; !s.yield(c) {
					return
				}
				content = IsMarker(text) // YAML reads the rest of the line
			} else {
				content = begun && (!IsMarker(text) || !IsBlank(text[3:])) // it is a string in YAML
				// the line of kubectl goes on
				for next < len(s.data) && s.data[next-1] != '\n' {
					line++
					from := next
					end, next = LineEnd(s.data, next)
					content = content ||
						begun && (!IsBlank(s.data[from:end]) || hasTab(s.data[from:end]))
				}
			}
		}
		if i, line, column = next, line+1, 1; !content {
			skip(i)
		}
	}
	document(len(s.data))
}

// IsMarker reports whether a line is a document marker of YAML, with or without content behind it.
func IsMarker(line []byte) bool {
	return len(line) >= 3 && (string(line[:3]) == "---" || string(line[:3]) == "...") &&
		(len(line) == 3 || line[3] == ' ' || line[3] == '\t')
}

// IsBlank reports whether the line has no content except white space or a comment.
func IsBlank(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	return len(line) == 0 || line[0] == '#'
}

// hasTab reports whether a tab indents a line. Outside of content, a parser may reject it.
func hasTab(line []byte) bool {
	space := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	return bytes.IndexByte(space, '\t') >= 0
}

// LineEnd returns the end of the line at offset i, and the start of the next line. It uses the line
// breaks of YAML 1.1. Other rules than the scanner's would lose documents.
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

// CountLines returns the number of lines of a text, at least one.
func CountLines(text []byte) int {
	n := 0
	for i := 0; i < len(text) || n == 0; n++ {
		_, i = LineEnd(text, i)
	}
	return n
}
