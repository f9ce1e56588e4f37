// This file answers what one line of a file holds, and how much of it a report may show.

package workspace

import (
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/manifest"
)

// fileLines are the lines of a file: to be measured, and as far as they may be shown.
type fileLines struct {
	line  func(line int) string
	quote func(line int, values bool) (string, bool)
}

// Open returns the text of a file, and notes its lines.
func (in *Input) Open(s Source, file string) ([]byte, *finding.Finding) {
	fsys, stdin := s.Inputs()
	data, unreadable := manifest.Read(fsys, stdin, file)
	if unreadable == nil {
		in.opened(file, data)
	}
	return data, unreadable
}

func (in *Input) opened(file string, data []byte) {
	if _, known := in.lines[file]; !known {
		in.Order = append(in.Order, file)
		in.lines[file] = fileLines{manifest.Lines(data), manifest.Quotes(data)}
	}
}

// Learn takes over the lines of the files that another input has read.
func (in *Input) Learn(other *Input) {
	for _, file := range other.Order {
		if _, known := in.lines[file]; !known {
			in.Order = append(in.Order, file)
			in.lines[file] = other.lines[file]
		}
	}
}

// Line is the line of a file in which a position is.
func (in *Input) Line(p fieldpath.Position) string {
	if lines, ok := in.lines[p.File]; ok {
		return lines.line(p.Line)
	}
	return ""
}

// Quote is as much of that line as a report may show.
func (in *Input) Quote(p fieldpath.Position, values bool) (string, bool) {
	if lines, ok := in.lines[p.File]; ok {
		return lines.quote(p.Line, values)
	}
	return "", false
}
