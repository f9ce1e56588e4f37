package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

var (
	errNotJSON = errors.New("not JSON")
	// ErrTooDeep is the error for values nested deeper than maxDepth.
	ErrTooDeep = errors.New("nested deeper than 1000 levels")
)

// maxDepth limits the nesting of values. Real manifests stay below 40. The libraries have a limit
// of 10,000, which aliases could exceed.
const maxDepth = 1000

// jsonReader reads JSON values with their positions. A YAML parser would reject JSON's surrogate
// pairs and long keys.
type jsonReader struct {
	text []byte
	pos  int
	// The position of the offset counted. The cache avoids counting one long line again for every
	// value.
	counted, line, column int
	// build creates nodes. Otherwise values are only skipped.
	build bool
}

func newJSONReader(text []byte, build bool) *jsonReader {
	return &jsonReader{text: text, line: 1, column: 1, build: build}
}

// parseJSON parses a text with exactly one value.
func parseJSON(text []byte) (*yaml.Node, error) {
	return newJSONReader(text, true).value(0)
}

// CheckJSON checks that the text is a sequence of JSON values. It returns nil, errNotJSON or
// ErrTooDeep.
func CheckJSON(text []byte) error {
	r := newJSONReader(text, false)
	for r.space(); r.pos < len(text); r.space() {
		if _, err := r.value(0); err != nil {
			return err
		}
	}
	return nil
}

// CheckJSON checks that a chunk has JSON values only. It returns the results of the function
// CheckJSON. Unless the stream starts as JSON, kubectl reads an object of JSON as YAML. So the
// object must be valid in both.
func (c Chunk) CheckJSON() error {
	start := bytes.TrimLeft(c.Text, " \t\r\n")
	if c.Err != nil || len(start) == 0 || start[0] != '{' && start[0] != '[' {
		return errNotJSON
	}
	err := CheckJSON(c.Text)
	if err == nil && !c.JSON && start[0] == '{' {
		if _, _, invalid := ParseYAML(c.Text); invalid != nil || !json.Valid(c.Text) {
			return errNotJSON
		}
	}
	return err
}

// JSONValues yields the values of a text that CheckJSON accepts, each as a source.
func JSONValues(s *Source) iter.Seq[*Source] {
	return func(yield func(*Source) bool) {
		r := newJSONReader(s.Text, false)
		for r.space(); r.pos < len(s.Text); r.space() {
			if !yield(r.part(s)) {
				return
			}
		}
	}
}

// Elements yields the elements of a JSON array, each as a source. So a long array needs only the
// memory of its largest element. It yields none for another value.
func Elements(s *Source) iter.Seq[*Source] {
	return func(yield func(*Source) bool) {
		r := newJSONReader(s.Text, false)
		if !r.consume('[') || r.consume(']') {
			return
		}
		for yield(r.part(s)) && r.consume(',') {
		}
	}
}

// lastMember returns the list of a key of a JSON object, or nil. It returns the last of duplicate
// keys.
func lastMember(s *Source, name string) *Source {
	var found *Source
	r := newJSONReader(s.Text, false)
	if !r.consume('{') || r.consume('}') {
		return nil
	}
	for {
		var key string
		if json.Unmarshal(r.part(s).Text, &key) != nil || !r.consume(':') {
			return nil
		}
		if v := r.part(s); key == name && v.Text[0] == '[' {
			found = v
		}
		if !r.consume(',') {
			return found
		}
	}
}

// part returns the next value of a checked text as a source.
func (r *jsonReader) part(s *Source) *Source {
	r.space()
	start := r.pos
	p := &Source{File: s.File, JSON: true}
	line, column := r.place()
	p.Line, p.Column = s.Line+line-1, column
	if line == 1 {
		p.Column += s.Column - 1
	}
	if _, err := r.value(0); err != nil {
		r.pos = len(r.text)
	}
	p.Text, p.Offset = r.text[start:r.pos], s.Offset+start
	return p
}

// place counts lines and characters up to the current offset.
func (r *jsonReader) place() (line, column int) {
	before := r.text[:r.pos]
	for r.counted < r.pos {
		end, next := LineEnd(before, r.counted)
		if end == next {
			r.column += utf8.RuneCount(before[r.counted:])
		} else {
			r.line++
			r.column = 1
		}
		r.counted = next
	}
	return r.line, r.column
}

func (r *jsonReader) space() {
	for r.pos < len(r.text) {
		switch r.text[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// consume skips white space, and consumes c if it follows.
func (r *jsonReader) consume(c byte) bool {
	r.space()
	if r.pos < len(r.text) && r.text[r.pos] == c {
		r.pos++
		return true
	}
	return false
}

func (r *jsonReader) node(kind yaml.Kind, tag string) *yaml.Node {
	if !r.build {
		return nil
	}
	n := &yaml.Node{Kind: kind, Tag: tag}
	n.Line, n.Column = r.place()
	return n
}

// value reads the next value. depth is the number of collections around it.
func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	r.space()
	if r.pos == len(r.text) {
		return nil, errNotJSON
	}
	switch c := r.text[r.pos]; {
	case c == '{' || c == '[':
		if depth == maxDepth {
			return nil, ErrTooDeep
		}
		return r.collection(c, depth)
	case c == '"':
		return r.str()
	case c == '-' || '0' <= c && c <= '9':
		return r.number()
	}
	for _, word := range [...]struct{ text, tag string }{{"true", "!!bool"}, {"false", "!!bool"},
		{"null", "!!null"}} {
		if len(r.text)-r.pos >= len(word.text) &&
			string(r.text[r.pos:r.pos+len(word.text)]) == word.text {
			n := r.node(yaml.ScalarNode, word.tag)
			r.pos += len(word.text)
			if n != nil {
				n.Value = word.text
			}
			return n, nil
		}
	}
	return nil, errNotJSON
}

func (r *jsonReader) collection(open byte, depth int) (*yaml.Node, error) {
	kind, tag, closing := yaml.MappingNode, "!!map", byte('}')
	if open == '[' {
		kind, tag, closing = yaml.SequenceNode, "!!seq", ']'
	}
	n := r.node(kind, tag)
	r.pos++
	if r.consume(closing) {
		return n, nil
	}
	for {
		if kind == yaml.MappingNode {
			if r.space(); r.pos == len(r.text) || r.text[r.pos] != '"' {
				return nil, errNotJSON
			}
			key, err := r.str()
			if err != nil {
				return nil, err
			}
			if !r.consume(':') {
				return nil, errNotJSON
			}
			if n != nil {
				n.Content = append(n.Content, key)
			}
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if n != nil {
			n.Content = append(n.Content, v)
		}
		if r.consume(closing) {
			return n, nil
		}
		if !r.consume(',') {
			return nil, errNotJSON
		}
	}
}

func (r *jsonReader) str() (*yaml.Node, error) {
	n := r.node(yaml.ScalarNode, "!!str")
	start := r.pos
	for r.pos++; r.pos < len(r.text); r.pos++ {
		switch c := r.text[r.pos]; {
		case c == '\\':
			r.pos++ // encoding/json checks the escape
		case c < ' ':
			return nil, errNotJSON
		case c == '"':
			r.pos++
			if n != nil {
				n.Style = yaml.DoubleQuotedStyle
				if err := json.Unmarshal(r.text[start:r.pos], &n.Value); err != nil {
					return nil, errNotJSON
				}
			}
			return n, nil
		}
	}
	return nil, errNotJSON
}

func (r *jsonReader) number() (*yaml.Node, error) {
	n := r.node(yaml.ScalarNode, "!!float")
	start := r.pos
	for ; r.pos < len(r.text); r.pos++ {
		switch c := r.text[r.pos]; {
		case '0' <= c && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
			continue
		}
		break
	}
	text := r.text[start:r.pos]
	if !json.Valid(text) {
		return nil, errNotJSON
	}
	if n != nil {
		n.Value = string(text)
	}
	return n, nil
}
