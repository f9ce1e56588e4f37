// This file reads the documents of the files that the flags name.

package workspace

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// File is a file with its documents.
type File struct {
	Name      string
	Data      []byte
	Documents []*manifest.Document
}

// Source provides files and a standard input: of the machine, or of a git revision.
type Source interface {
	Inputs() (files fs.FS, stdin io.Reader)
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
	// Step receives the progress of reading; it may be nil.
	Step func(verb string, done, total int)
}

func (ds *Documents) progress(verb string, done, total int) {
	if ds.Step != nil {
		ds.Step(verb, done, total)
	}
}

// Read reads all inputs. It reports each unreadable file as a finding and continues with the next one.
func Read(s Source, flags Flags) *Input {
	in := New(flags)
	for _, d := range in.ReadDocuments(s, flags.Files) {
		in.Add(d, true)
	}
	own := len(in.Files)
	for _, d := range in.ReadDocuments(s, flags.Runtimes) {
		in.Add(d, false)
	}
	in.Files = in.Files[:own]
	in.ReadPatches(s)
	in.DefaultPatches()
	in.Findings = in.Rate(in.WithoutPatchFiles(in.Findings))
	return in
}

// Decoded is the content of one file.
type Decoded struct {
	file      string
	data      []byte
	Documents []*manifest.Document
	Findings  finding.List
	expanded  int // see manifest.DecodeExpanded
}

// aliases limits the expansion of YAML aliases in all files of a run, as manifest limits it in one file.
type aliases struct {
	expanded  int
	exhausted atomic.Bool // set by a file that take has counted: later files with aliases are not decoded
}

// decode decodes a file, unless earlier files have exhausted the limit.
func (a *aliases) decode(ds *Documents, file string, data []byte, named bool) Decoded {
	if a.exhausted.Load() && manifest.HasAliases(data) {
		return Decoded{file: file, data: data, expanded: 1}
	}
	return ds.decode(file, data, named)
}

// limit counts a decoded file, and rejects it beyond the limit. Call it in the order of the files.
func (a *aliases) limit(d Decoded) Decoded {
	if d.expanded == 0 {
		return d
	}
	if a.expanded += d.expanded; a.expanded <= manifest.MaxExpanded {
		return d
	}
	a.exhausted.Store(true)
	return Decoded{file: d.file, data: d.data, Findings: finding.List{{
		Code: codes.Syntax, Severity: finding.Error, Position: fieldpath.Position{File: d.file},
		Message: fmt.Sprintf("the YAML aliases of this run expand its files to more than %d MiB", manifest.MaxExpanded>>20),
		Remedy:  finding.Remedy{Text: "replace YAML aliases by their values"},
	}}}
}

// countDecoded counts a decoded file. Call it in the order of the files.
func (ds *Documents) countDecoded(d Decoded) Decoded {
	d = ds.aliases.limit(d)
	ds.flags.Unread.add(d.Documents)
	return d
}

// ReadDocuments returns the documents of the files that paths name. It records the files and the findings in the input.
func (ds *Documents) ReadDocuments(s Source, paths []string) []*manifest.Document {
	var documents []*manifest.Document
	ds.ReadFiles(s, paths, func(d Decoded) {
		documents = append(documents, d.Documents...)
		ds.Files = append(ds.Files, File{d.file, d.data, d.Documents})
		ds.report(d.Findings...)
	})
	return documents
}

// ReadFiles decodes the files that paths name on all cores, and passes them to take in order. A directory may hold files of
// other kinds. In a file that paths names, a document that is not an object is a mistake.
func (ds *Documents) ReadFiles(s Source, paths []string, take func(Decoded)) {
	fsys, stdin := s.Inputs()
	files := ds.listFiles(fsys, paths)
	parallel.Ordered(len(files), func(i int) Decoded {
		data, unreadable := ds.load(fsys, stdin, files[i])
		if unreadable != nil {
			return Decoded{file: files[i], Findings: finding.List{*unreadable}}
		}
		return ds.aliases.decode(ds, files[i], data, slices.Contains(paths, files[i]))
	}, func(i int, d Decoded) {
		ds.progress("read", i+1, len(files))
		if d.data != nil && !ds.flags.IsBuilt(files[i]) {
			ds.lines.opened(files[i], d.data)
		}
		take(ds.countDecoded(d))
	})
}

// listFiles returns the files that paths name, without those listed before.
func (ds *Documents) listFiles(fsys fs.FS, paths []string) []string {
	ds.addBuilt()
	built := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !ds.flags.IsBuilt(path) })
	files, findings := manifest.Files(fsys, slices.DeleteFunc(slices.Clone(paths), ds.flags.IsBuilt), ds.flags.Recursive)
	files = append(files, built...)
	ds.report(findings...)
	files = ds.withoutParts(fsys, paths, files)
	return ds.withoutConfigs(fsys, slices.DeleteFunc(files, func(file string) bool {
		key := filepath.Clean(file)
		seen := ds.read[key]
		ds.read[key] = true
		return seen
	}))
}

// decode decodes a listed file. If paths names the file itself, it must hold objects only.
func (ds *Documents) decode(file string, data []byte, named bool) Decoded {
	d := Decoded{file: file, data: data}
	d.Documents, d.Findings, d.expanded = ds.settings.byFile[file].Decode(file, data, ds.flags.Kinds)
	d = ds.flags.withoutOthers(d)
	if ds.flags.IsBuilt(file) {
		ds.flags.Built.trace(&d)
	}
	if !named {
		d.Findings = manifest.Tolerate(d.Findings, codes.NotAnObject)
	}
	for i := range d.Findings {
		d.Findings[i].Object = ds.flags.InNamespace(d.Findings[i].Object)
	}
	return d
}
