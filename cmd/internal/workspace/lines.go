// This file keeps the lines of all files that were read. SARIF needs the length of a line.

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

// Lines holds the lines of all files that a run has read.
type Lines struct {
	Order []string // the files, in the order of reading
	known map[string]func(line int) string
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
		l.known[file] = manifest.Lines(data)
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
	if line := l.known[p.File]; line != nil {
		return line(p.Line)
	}
	return ""
}
