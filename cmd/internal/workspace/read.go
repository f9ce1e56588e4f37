// This file reads the documents of the files that the flags name.

package workspace

import (
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

// ReadDocuments returns the documents of the files that paths name. It records the files and the
// findings in the input.
func (ds *Documents) ReadDocuments(s Source, paths []string) []*manifest.Document {
	var documents []*manifest.Document
	ds.ReadFiles(s, paths, func(d Decoded) {
		documents = append(documents, d.Documents...)
		ds.Files = append(ds.Files, File{d.file, d.data, d.Documents})
		ds.report(d.Findings...)
	})
	return documents
}

// ReadFiles decodes the files that paths name on all cores, and passes them to take in order. A
// directory may hold files of other kinds. In a file that paths names, a document that is not an
// object is a mistake.
func (ds *Documents) ReadFiles(s Source, paths []string, take func(Decoded)) {
	fsys, stdin := s.Inputs()
	files := ds.listFiles(fsys, paths)
	parallel.Ordered(len(files), func(i int) Decoded {
		data, unreadable := ds.load(fsys, stdin, files[i])
		if unreadable != nil {
			return Decoded{file: files[i], Findings: finding.List{*unreadable}}
		}
		return ds.decode(files[i], data, slices.Contains(paths, files[i]))
	}, func(i int, d Decoded) {
		ds.Step("read", i+1, len(files))
		if d.data != nil && !ds.flags.IsBuilt(files[i]) {
			ds.lines.opened(files[i], d.data)
		}
		take(ds.count(d))
	})
}

// listFiles returns the files that paths name, without those listed before.
func (ds *Documents) listFiles(fsys fs.FS, paths []string) []string {
	ds.addBuilt()
	built := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return !ds.flags.IsBuilt(path)
	})
	files, findings := manifest.Files(
		fsys, slices.DeleteFunc(slices.Clone(paths), ds.flags.IsBuilt), ds.flags.Recursive)
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

// withoutConfigs removes each policy file from the files, and records what holds for the others.
func (ds *Documents) withoutConfigs(fsys fs.FS, files []string) []string {
	var kept []string
	for _, file := range files {
		if !ds.settings.IsConfig(fsys, file) {
			ds.settings.ApplyPolicy(fsys, file, dirOf(file))
			kept = append(kept, file)
		}
	}
	return kept
}

// decode decodes a listed file, unless earlier files have exhausted the limit of aliases. If paths
// names the file itself, it must hold objects only.
func (ds *Documents) decode(file string, data []byte, named bool) Decoded {
	d := Decoded{file: file, data: data}
	if ds.aliases.exhausted.Load() && manifest.HasAliases(data) {
		d.expanded = 1
		return d
	}
	read := ds.settings.byFile[file].Decode
	if ds.flags.Outlines {
		read = ds.settings.byFile[file].Outline
	}
	d.Documents, d.Findings, d.expanded = read(file, data, ds.flags.Kinds)
	d = ds.flags.withoutOthers(d)
	if ds.flags.IsBuilt(file) {
		ds.flags.Built.trace(&d)
	}
	if !named {
		d.Findings = manifest.Tolerate(d.Findings, codes.NotAnObject)
	}
	ds.flags.inNamespace(d.Findings)
	for _, document := range d.Documents {
		ds.flags.inNamespace(document.Findings)
	}
	return d
}
