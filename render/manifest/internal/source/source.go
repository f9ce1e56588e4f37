// Package source reads YAML and JSON like Kubernetes, and knows the position of each value.
//
// A File has lines. Split cuts it into chunks, the texts of Sources. Nodes parses a Source into
// nodes with positions. A Reading interprets a node like Kubernetes; Tree makes decoded JSON of it.
//
//	split.go     documents and lines
//	yaml.go      YAML and its limits
//	json.go      JSON
//	scalar.go    scalars, with the library that Kubernetes uses (sigs.k8s.io/yaml)
//	mapping.go   keys, including merged ones
//	position.go  the nodes and positions of paths
//	fault.go     positions of syntax errors
//
// Its first file to read is source.go.
package source

import (
	"bytes"
	"sync"
	"sync/atomic"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
)

// File is the content of one input.
type File struct {
	Name string
	Data []byte

	once   sync.Once
	text   string // the same as Data, so that no line needs a copy
	starts []int  // offset of each line
}

// Line returns a line by number, without its line break, or "" for a missing line.
func (f *File) Line(n int) string {
	f.once.Do(func() {
		f.text = string(f.Data)
		for i := 0; i < len(f.Data); {
			f.starts = append(f.starts, i)
			_, i = LineEnd(f.Data, i)
		}
	})
	if n < 1 || n > len(f.starts) {
		return ""
	}
	start := f.starts[n-1]
	if n == 1 {
		start += bomLength(f.Data)
	}
	end := len(f.Data)
	if n < len(f.starts) {
		end = f.starts[n]
	}
	return f.text[start : end-len(lineBreak(f.Data[start:end]))]
}

// lineBreak returns the line break at the end of a line.
func lineBreak(line []byte) []byte {
	for _, end := range []string{"\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if bytes.HasSuffix(line, []byte(end)) {
			return line[len(line)-len(end):]
		}
	}
	return nil
}

// Source is one YAML document or JSON value in its file.
type Source struct {
	File *File
	Text []byte
	// Offset, Line and Column are the start of Text in the file.
	Offset, Line, Column int
	JSON                 bool
	// Part tells that the text differs from the file's: see Items. It has no limit of its size.
	Part bool

	// InUse counts the documents that are not released.
	InUse atomic.Int64

	mu       sync.Mutex
	Expanded int        // see parseYAML
	root     *yaml.Node // nil before the first use; immutable afterwards
	err      error
	index    *Reading        // an index of looked-up fields and items; nil before the first use
	lacks    map[string]bool // whether the text lacks a searched name
}

// Nodes parses the text into nodes. It caches the result and the error.
func (s *Source) Nodes() (*yaml.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parse()
}

// parse is Nodes for a caller that holds the lock.
func (s *Source) parse() (*yaml.Node, error) {
	if s.root == nil && s.err == nil {
		if len(s.Text) > MaxDocument && !s.Part {
			s.err = ErrTooLarge
		} else if s.JSON {
			s.root, s.err = parseJSON(s.Text)
		} else {
			s.root, s.Expanded, s.err = ParseYAML(s.Text)
		}
	}
	return s.root, s.err
}

// Release frees the nodes. They take a hundred times the memory of the text, and few of thousands
// of documents need positions.
func (s *Source) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.root, s.err, s.index = nil, nil, nil
}

// Position returns the position of a node in the file, or the document's first line for nil.
func (s *Source) Position(n *yaml.Node) fieldpath.Position {
	if n == nil || n.Line == 0 {
		return fieldpath.Position{File: s.File.Name, Line: s.Line}
	}
	p := fieldpath.Position{File: s.File.Name, Line: s.Line + n.Line - 1, Column: n.Column}
	if n.Line == 1 {
		p.Column += s.Column - 1
	}
	return p
}
