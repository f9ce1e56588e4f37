package manifest

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/manifest/internal/source"
)

// maxObjects is how many objects one file may have, so that a hostile one cannot fill the memory with
// empty ones.
const maxObjects = 100_000

// Decode reads a stream of YAML documents or JSON values: objects, Lists of them (an item is a Document
// of its own), and JSON arrays of them. Empty documents are left out. The file names the input in
// findings; it is not opened.
//
// It returns everything that it could read and every problem that it found, in the order of the
// file. Errors are what an API server refuses under strict field validation: unknown fields,
// duplicate keys, wrong types; besides, text that is not YAML or JSON, a version that is not read,
// and a document without apiVersion and kind ([Tolerate] makes that a warning, for callers that scan
// a directory). A finding about a key stands where the key does, one about a value where the value
// does. Kinds that this package does not read are returned without an Object and without
// judgement. A missing metadata.name is left to callers.
//
// It never panics, and shares memory with data: do not change it.
func Decode(file string, data []byte) ([]*Document, finding.List) {
	d := newDecoder(file, data)
	d.stream()
	return d.documents, d.findings
}

// DecodeKinds is Decode for a caller who reads further kinds, such as those of an earlier API. Documents of
// these have an Object that their New made.
func DecodeKinds(file string, data []byte, further []Kind) ([]*Document, finding.List) {
	documents, findings, _ := DecodeExpanded(file, data, further)
	return documents, findings
}

// DecodeAs is DecodeKinds for one kind, which is that of all objects that say neither apiVersion nor kind. It may be one of
// this package's own, which is then read as its New has it.
func DecodeAs(file string, data []byte, kind Kind) ([]*Document, finding.List) {
	d := newDecoder(file, data)
	d.further = []Kind{kind}
	d.from.identity = identity{apiVersion: strings.TrimPrefix(kind.Group+"/"+kind.Version, "/"), kind: kind.Kind}
	d.stream()
	return d.documents, d.findings
}

// DecodeExpanded is DecodeKinds for a caller who reads many files: expanded is how many bytes its YAML aliases add,
// once they are written out: up to [MaxExpanded] for a file of little text.
func DecodeExpanded(file string, data []byte, further []Kind) (documents []*Document, findings finding.List, expanded int) {
	d := newDecoder(file, data)
	d.further = further
	d.stream()
	return d.documents, d.findings, d.expanded
}

// HasAliases reports whether a file may have YAML aliases. A true may be false.
func HasAliases(data []byte) bool { return source.MayHaveAliases(data) }

// Tolerate returns the findings with the errors of the given codes lowered to warnings. A caller that
// scans a directory tolerates finding.CodeNotAnObject: other files live there too.
func Tolerate(findings finding.List, codes ...finding.Code) finding.List {
	lowered := append(finding.List(nil), findings...)
	for i := range lowered {
		for _, code := range codes {
			if lowered[i].Code == code && lowered[i].Severity == finding.Error {
				lowered[i].Severity = finding.Warning
			}
		}
	}
	return lowered
}

// decoder reads one file.
type decoder struct {
	file      *source.File
	documents []*Document
	findings  finding.List
	// further are kinds to read besides those of this package.
	further []Kind
	// from is what objects are that do not say it.
	from origin
	// patches says that an object without apiVersion and kind is a RuntimePatch.
	patches bool
	// expanded is how many bytes aliases have added so far.
	expanded int
}

func newDecoder(name string, data []byte) *decoder {
	return &decoder{file: &source.File{Name: name, Data: data}}
}

func (d *decoder) stream() {
	if f := refuse(d.file); f != nil {
		d.findings = append(d.findings, *f)
		return
	}
	for c := range source.Split(d.file.Data) {
		if d.full() {
			break
		}
		d.chunk(c)
	}
	d.full()
	d.findings.Sort()
}

// full says whether the file has had its share, and reports it once.
func (d *decoder) full() bool {
	var f finding.Finding
	switch {
	case len(d.findings) >= maxFindings:
		f.Message = fmt.Sprintf("has more than %d findings; the rest of it was not read", maxFindings)
		f.Remedy.Text = "mend these first"
	case d.expanded > MaxExpanded:
		f.Message = fmt.Sprintf("has aliases that expand it to more than %d MiB; the rest of it was not read", MaxExpanded>>20)
		f.Remedy.Text = "write the values out instead of using YAML aliases"
	case len(d.documents) >= maxObjects:
		f.Message = fmt.Sprintf("has more than %d objects; the rest of it was not read", maxObjects)
		f.Remedy.Text = "split it into several files"
	default:
		return false
	}
	f.Code, f.Severity, f.Position = finding.CodeSyntax, finding.Error, fieldpath.Position{File: d.file.Name}
	if n := len(d.findings); n == 0 || d.findings[n-1].Message != f.Message {
		d.findings = append(d.findings, f)
	}
	return true
}

// refuse finds what makes a file unfit to be read at all.
func refuse(f *source.File) *finding.Finding {
	finding := &finding.Finding{Code: finding.CodeSyntax, Severity: finding.Error, Position: fieldpath.Position{File: f.Name}}
	whole := &source.Source{File: f, Text: f.Data, Line: 1, Column: 1}
	switch nul := bytes.IndexByte(f.Data, 0); {
	case len(f.Data) > maxFile:
		return tooLarge(f.Name)
	case bytes.HasPrefix(f.Data, []byte("\xFF\xFE")) || bytes.HasPrefix(f.Data, []byte("\xFE\xFF")):
		finding.Position = whole.At(0)
		finding.Message = "is text in UTF-16, not in UTF-8"
		finding.Remedy.Text = "save it as UTF-8"
	case nul >= 0:
		finding.Position = whole.At(nul)
		finding.Message = fmt.Sprintf("is not text: byte %d is NUL", nul+1)
		finding.Remedy.Text = "name a YAML or JSON file"
	case !utf8.Valid(f.Data):
		at := invalidAt(f.Data)
		finding.Position = whole.At(at)
		finding.Message = fmt.Sprintf("is not text in UTF-8: byte %d is not part of a character", at+1)
		finding.Remedy.Text = "save it as UTF-8, or name a YAML or JSON file"
	default:
		return nil
	}
	return finding
}
func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

func (d *decoder) chunk(c source.Chunk) {
	s := &source.Source{File: d.file, Text: c.Text, Offset: c.Offset, Line: c.Line, Column: 1}
	if start := bytes.TrimLeft(c.Text, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		switch err := source.CheckJSON(c.Text); err {
		case nil:
			for v := range source.JSONValues(s) {
				if d.full() {
					return
				}
				d.value(v, nil, v.Text, d.from)
				v.Release()
			}
			return
		case source.ErrTooDeep:
			d.syntax(s, err)
			return
		}
		// Flow style: YAML that looks like JSON.
	}
	if d.tooLarge(s, len(s.Text)) {
		return
	}
	defer s.Release()
	converted, err := source.ToJSON(s)
	if d.expanded += s.Expanded; d.expanded > MaxExpanded {
		return // full reports it
	}
	if err != nil {
		d.mend(s, nil, d.from, err)
		return
	}
	s.Doubtful = source.HasDoubtfulKeys(s.Text)
	d.value(s, nil, converted, d.from)
}

// MaxExpanded is how many bytes the YAML aliases of one file may add to it, once they are written out. It suits a whole
// run as well.
const MaxExpanded = 32 << 20
