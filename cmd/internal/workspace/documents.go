// This file has the documents of the files and of a build, and the limit of their aliases.

package workspace

import (
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// File is a file with its documents.
type File struct {
	Name      string
	Data      []byte
	Documents []*manifest.Document
}

// Documents reads the files that the flags name, each once.
type Documents struct {
	reporter
	flags      Flags
	lines      *Lines
	settings   *Settings
	Files      []File          // the files of -f, for commands that rewrite them
	read       map[string]bool // files of -f; -r may name them again
	aliases    aliases
	builtAdded bool // the findings of the build are among the input's
	// Step receives the progress of reading.
	Step func(verb string, done, total int)
}

// Decoded is the content of one file.
type Decoded struct {
	file      string
	data      []byte
	Documents []*manifest.Document
	Findings  finding.List
	expanded  int // see manifest.DecodeExpanded
}

// aliases limits the expansion of YAML aliases in all files of a run, as manifest limits it in one
// file.
type aliases struct {
	expanded int
	// set by a file that is counted: later files with aliases are not decoded
	exhausted atomic.Bool
}

// Name returns the name under which an input reads the text. No file has that name.
func (b *Built) Name() string { return filepath.Join(b.Dir, "<build>") }

// IsBuilt reports whether a file is the output of the build.
func (flags Flags) IsBuilt(file string) bool {
	b := flags.Built
	return b != nil && b.Text != nil && file == b.Name()
}

// load reads a file of the input.
func (ds *Documents) load(fsys fs.FS, stdin io.Reader, file string) ([]byte, *finding.Finding) {
	if ds.flags.IsBuilt(file) {
		return ds.flags.Built.Text, nil
	}
	return manifest.Read(fsys, stdin, file)
}

// addBuilt adds the findings of the build. It does so once.
func (ds *Documents) addBuilt() {
	if b := ds.flags.Built; b != nil && !ds.builtAdded {
		ds.builtAdded = true
		for _, f := range b.Findings {
			f.Build = b.Dir
			ds.report(f)
		}
	}
}

// trace moves the positions of a decoded build to the sources.
func (b *Built) trace(d *Decoded) {
	origins := make([]manifest.Origin, len(d.Documents))
	owners := map[codes.Key]int{}
	for i, document := range d.Documents {
		origins[i] = b.origin(document.Position(nil).Line)
		for _, f := range document.Findings {
			owners[codes.KeyOf(f)] = i
		}
	}
	for i, document := range d.Documents {
		for j := range document.Findings {
			removeLineNumbers(&document.Findings[j])
			document.Findings[j].Build = b.Dir
		}
		document.Trace(origins[i])
	}
	for i := range d.Findings {
		f := &d.Findings[i]
		if owner, known := owners[codes.KeyOf(*f)]; known {
			f.Position = d.Documents[owner].Position(f.Path)
		} else {
			f.Position = b.origin(f.Position.Line)(nil)[0].Position
		}
		removeLineNumbers(f)
		f.Build = b.Dir
	}
}

// removeLineNumbers removes the lines of the generated text from a message. An output that is not a
// stream of objects is a fault of the build.
func removeLineNumbers(f *finding.Finding) {
	switch f.Code {
	case codes.DuplicateKey:
		f.Message, _, _ = strings.Cut(f.Message, " in line ")
	case codes.Syntax, codes.NotAnObject:
		f.Code, f.Severity = codes.BuildOutput, finding.Error
		f.Message = "a document of the build " + f.Message
		f.Remedy.Text = "use a build that prints objects as YAML or JSON, and nothing else"
	}
}

func (b *Built) origin(line int) manifest.Origin {
	if b.Origin == nil {
		return func(fieldpath.Path) []merge.Claim {
			return []merge.Claim{{Position: fieldpath.Position{File: b.File}}}
		}
	}
	return b.Origin(line)
}
