package manifest

import (
	"bytes"
	"sync"
	"sync/atomic"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
)

// file is one input, as text.
type file struct {
	name string
	data []byte

	once   sync.Once
	starts []int // offset of each line
}

func (f *file) line(n int) string {
	f.once.Do(func() {
		for i := 0; i < len(f.data); {
			f.starts = append(f.starts, i)
			_, i = lineEnd(f.data, i)
		}
	})
	if n < 1 || n > len(f.starts) {
		return ""
	}
	start := f.starts[n-1]
	if n == 1 {
		start += bomLength(f.data)
	}
	end := len(f.data)
	if n < len(f.starts) {
		end = f.starts[n]
	}
	return string(bytes.TrimSuffix(f.data[start:end], lineBreak(f.data[start:end])))
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

// source is one YAML document or JSON value as it stands in its file.
type source struct {
	file *file
	text []byte
	// offset, line and column are where text begins in the file.
	offset, line, column int
	json                 bool
	// doubtful says that the text may have a key that is read as another text than it shows.
	doubtful bool

	// inUse counts the documents that have not been released.
	inUse atomic.Int64

	mu       sync.Mutex
	expanded int        // see parseYAML
	root     *yaml.Node // nil until asked for; never changed afterwards
	err      error
	index    *reading        // the fields and items that were looked up, nil until asked for
	lacks    map[string]bool // the names that were sought in the text, and whether it lacks them
}

// nodes parses the text into nodes, once.
func (s *source) nodes() (*yaml.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parse()
}

// parse is nodes for a caller who holds the lock.
func (s *source) parse() (*yaml.Node, error) {
	if s.root == nil && s.err == nil {
		if len(s.text) > maxDocument {
			s.err = errTooLarge
		} else if s.json {
			s.root, s.err = parseJSON(s.text)
		} else {
			s.root, s.expanded, s.err = parseYAML(s.text)
		}
	}
	return s.root, s.err
}

// isParsed reports whether the nodes are there.
func (s *source) isParsed() bool { return s.root != nil }

// release forgets the nodes: of thousands of documents few are ever asked for positions, and nodes
// take a hundred times the room of the text.
func (s *source) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.root, s.err, s.index = nil, nil, nil
}

// position is the place of a node in the file; of nil it is the document's first line.
func (s *source) position(n *yaml.Node) fieldpath.Position {
	if n == nil || n.Line == 0 {
		return fieldpath.Position{File: s.file.name, Line: s.line}
	}
	p := fieldpath.Position{File: s.file.name, Line: s.line + n.Line - 1, Column: n.Column}
	if n.Line == 1 {
		p.Column += s.column - 1
	}
	return p
}
