// Package source reads the text of YAML and JSON as Kubernetes does, and knows where each value stands.
//
// A File has lines. Split cuts it into chunks, each the text of a Source. ToJSON reads a Source at once; Nodes parses it into nodes with
// positions. A Reading says what Kubernetes reads a node as.
//
//	split.go     documents and lines
//	yaml.go      YAML, and the limits of it
//	json.go      JSON
//	doubtful.go  keys that may not mean what they say
//	scalar.go    scalars, with the library that Kubernetes uses (sigs.k8s.io/yaml)
//	mapping.go   keys, and those that a merge key brings
//	position.go  where a path leads
//	fault.go     where a text that cannot be parsed is broken
package source

import (
	"bytes"
	"sync"
	"sync/atomic"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
)

// File is one input, as text.
type File struct {
	Name string
	Data []byte

	once   sync.Once
	starts []int // offset of each line
}

// Line returns a line by its number, without its break; "" if there is none.
func (f *File) Line(n int) string {
	f.once.Do(func() {
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
	return string(bytes.TrimSuffix(f.Data[start:end], lineBreak(f.Data[start:end])))
}

// lineBreak returns what ends a line.
func lineBreak(line []byte) []byte {
	for _, end := range []string{"\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if bytes.HasSuffix(line, []byte(end)) {
			return line[len(line)-len(end):]
		}
	}
	return nil
}

// Source is one YAML document or JSON value as it stands in its file.
type Source struct {
	File *File
	Text []byte
	// Offset, line and column are where text begins in the file.
	Offset, Line, Column int
	JSON                 bool
	// Doubtful says that the text may have a key that is read as another text than it shows.
	Doubtful bool

	// InUse counts the documents that have not been released.
	InUse atomic.Int64

	mu       sync.Mutex
	Expanded int        // see parseYAML
	root     *yaml.Node // nil until asked for; never changed afterwards
	err      error
	index    *Reading        // the fields and items that were looked up, nil until asked for
	lacks    map[string]bool // the names that were sought in the text, and whether it lacks them
}

// Nodes parses the text into nodes, once.
func (s *Source) Nodes() (*yaml.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parse()
}

// parse is nodes for a caller who holds the lock.
func (s *Source) parse() (*yaml.Node, error) {
	if s.root == nil && s.err == nil {
		if len(s.Text) > MaxDocument {
			s.err = ErrTooLarge
		} else if s.JSON {
			s.root, s.err = parseJSON(s.Text)
		} else {
			s.root, s.Expanded, s.err = ParseYAML(s.Text)
		}
	}
	return s.root, s.err
}

// Release forgets the nodes: of thousands of documents few are ever asked for positions, and nodes
// take a hundred times the room of the text.
func (s *Source) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.root, s.err, s.index = nil, nil, nil
}

// Position is the place of a node in the file; of nil it is the document's first line.
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
