// This file returns lines of the files, and the parts of them that a report may show.

package workspace

import (
	"io"
	"io/fs"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/manifest"
)

// Source provides files and a standard input: of the machine, or of a git revision.
type Source interface {
	Inputs() (files fs.FS, stdin io.Reader)
}

// fileLines returns the lines of a file: complete ones to measure, and the part that a report may
// quote.
type fileLines struct {
	data  []byte
	line  func(line int) string
	quote func(line int, values bool) (string, bool)
}

// Lines holds the lines of all files that a run has read.
type Lines struct {
	Order []string // the files, in the order of reading
	known map[string]fileLines
}

// Open returns the data of a file and records its lines.
func (l *Lines) Open(s Source, file string) ([]byte, *finding.Finding) {
	fsys, stdin := s.Inputs()
	data, unreadable := manifest.Read(fsys, stdin, file)
	if unreadable == nil {
		l.opened(file, data)
	}
	return data, unreadable
}

func (l *Lines) opened(file string, data []byte) {
	if _, known := l.known[file]; !known {
		l.Order = append(l.Order, file)
		l.known[file] = fileLines{data, manifest.Lines(data), manifest.Quotes(data)}
	}
}

// AddLines copies the lines of all files that another input has read.
func (l *Lines) AddLines(other *Lines) {
	for _, file := range other.Order {
		if _, known := l.known[file]; !known {
			l.Order = append(l.Order, file)
			l.known[file] = other.known[file]
		}
	}
}

// Line returns the line of a position, or "" if the file is unknown.
func (l *Lines) Line(p fieldpath.Position) string {
	if lines, ok := l.known[p.File]; ok {
		return lines.line(p.Line)
	}
	return ""
}

// Quote returns the part of that line that a report may show.
func (l *Lines) Quote(p fieldpath.Position, values bool) (string, bool) {
	if lines, ok := l.known[p.File]; ok {
		return lines.quote(p.Line, values)
	}
	return "", false
}
