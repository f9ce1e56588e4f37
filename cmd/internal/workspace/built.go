package workspace

import (
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// Built is the output of a build, which an input reads like a file.
type Built struct {
	Dir  string // the built directory
	File string // a file of it for positions that are unknown
	// Text is the output. It is nil after an error, and without a directory.
	Text     []byte
	Findings finding.List
	// Origin returns the origin of the object at a line of the text. It may be nil: then only File is known.
	Origin func(line int) manifest.Origin
	// Source returns a file in which positions of an Origin lie.
	Source func(file string) ([]byte, bool)
}

// Name returns the name under which an input reads the text. No file has that name.
func (b *Built) Name() string { return filepath.Join(b.Dir, "<build>") }

// Build returns the built directory of the part, or "" for a part without a build.
func (in *Input) Build() string {
	if in.flags.Built == nil {
		return ""
	}
	return in.flags.Built.Dir
}

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
	for i := range d.Findings {
		f := &d.Findings[i]
		if owner, known := owners[codes.KeyOf(*f)]; known {
			f.Position = origins[owner](d.Documents[owner], f.Path)
		} else {
			f.Position = b.origin(f.Position.Line)(nil, nil)
		}
		removeLineNumbers(f)
		f.Build = b.Dir
	}
	for i, document := range d.Documents {
		for j := range document.Findings {
			removeLineNumbers(&document.Findings[j])
			document.Findings[j].Build = b.Dir
		}
		document.Trace(origins[i])
	}
}

// removeLineNumbers removes the lines of the generated text from a message. An output that is not a stream of objects is a fault of
// the build.
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
		return func(*manifest.Document, fieldpath.Path) fieldpath.Position { return fieldpath.Position{File: b.File} }
	}
	return b.Origin(line)
}

// Label names the build in findings, and records the lines of the sources that they name. A finding on a shared runtime names no
// build, so that it is the same in each part. Without a build, Label does nothing.
func (in *Input) Label(found finding.List) {
	b := in.flags.Built
	if b == nil {
		return
	}
	for i := range found {
		f := &found[i]
		if f.Object.Name != "" && (!IsRuntime(f.Object) || in.built[f.Object]) {
			f.Build = b.Dir
		}
		f.Position = in.sourceOf(f.Position)
		f.Claims = slices.Clone(f.Claims)
		for c := range f.Claims {
			f.Claims[c].Position = in.sourceOf(f.Claims[c].Position)
		}
	}
}

// sourceOf returns a position that the user knows, and records the lines of its file.
func (in *Input) sourceOf(p fieldpath.Position) fieldpath.Position {
	b := in.flags.Built
	if b.Text != nil && p.File == b.Name() {
		p = fieldpath.Position{File: b.File}
	}
	if _, known := in.Lines.known[p.File]; !known && p.Line > 0 && b.Source != nil {
		if data, ok := b.Source(p.File); ok {
			in.opened(p.File, data)
		}
	}
	return p
}
