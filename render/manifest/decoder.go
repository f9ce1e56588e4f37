package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// maxObjects limits the objects of a file, so that empty ones cannot fill the memory.
const maxObjects = 100_000

// MaxExpanded is the largest number of bytes that YAML aliases may add to one file when expanded.
// It also suits a whole run.
const MaxExpanded = 32 << 20

// origin is the context of a value: the default identity from its List, and the number of lists
// around it.
type origin struct {
	identity
	lists int
}

// maxLists limits the nesting of Lists, because each level reads the inner ones again. More than
// one is unusual.
const maxLists = 8

// decoder reads one file.
type decoder struct {
	file      *source.File
	documents []*Document
	findings  finding.List
	// further holds the kinds to read in addition to this package's kinds.
	further []Kind
	// api is the API to decode by, or nil.
	api *API
	// outlines makes TrainJobs and runtimes with their labels and annotations alone.
	outlines bool
	// from identifies objects without apiVersion and kind.
	from origin
	// patches treats an object without apiVersion and kind as a RuntimePatch.
	patches bool
	// expanded counts the bytes that aliases have added so far.
	expanded int
}

func newDecoder(name string, data []byte) *decoder {
	return &decoder{file: &source.File{Name: name, Data: data}}
}

// full reports whether the file has reached a limit. It adds one finding on the limit.
func (d *decoder) full() bool {
	var f finding.Finding
	switch {
	case len(d.findings) >= maxFindings:
		f.Message = fmt.Sprintf("has more than %d findings: the rest is not read", maxFindings)
		f.Remedy.Text = "fix these first"
	case d.expanded > MaxExpanded:
		f.Message = fmt.Sprintf("aliases expand it above %d MiB: the rest is not read",
			MaxExpanded>>20)
		f.Remedy.Text = "replace YAML aliases by their values"
	case len(d.documents) >= maxObjects:
		f.Message = fmt.Sprintf("has more than %d objects: the rest is not read", maxObjects)
		f.Remedy.Text = "split it into several files"
	default:
		return false
	}
	f.Code, f.Severity, f.Position = codes.Syntax, finding.Error,
		fieldpath.Position{File: d.file.Name}
	if n := len(d.findings); n == 0 || d.findings[n-1].Message != f.Message {
		d.findings = append(d.findings, f)
	}
	return true
}

// remainingFindings returns the number of findings that the file may still have, at least one.
func (d *decoder) remainingFindings() int { return max(1, maxFindings-len(d.findings)) }

// recognize returns the kind of an object. In a file of patches, apiVersion and kind may be
// missing.
func (d *decoder) recognize(id *identity, manager string,
	n *yaml.Node) (*readable, *finding.Finding) {
	if id.apiVersion != "" && id.kind != "" {
		return recognize(*id, d.further)
	}
	if d.patches && id.apiVersion == "" && id.kind == "" {
		*id = identity{kind: patchKind, name: manager}
		return &readable{kind: id.kind, make: func() any { return new(trainer.RuntimePatch) }}, nil
	}
	missing := "apiVersion and kind"
	switch {
	case id.kind != "":
		missing = "apiVersion"
	case id.apiVersion != "":
		missing = "kind"
	}
	f := notAnObject("has no " + missing)
	switch {
	case manager != "" && len(missing) > len("apiVersion"):
		f.Remedy = finding.Remedy{Do: finding.Provide, Options: []string{patchKind},
			Text: "pass the patch"}
	case isKustomize(nodeKeys(n)):
		return nil, nil
	case isForeign(nodeKeys(n)):
		f.Remedy.Do = finding.Omit
	}
	return nil, f
}

// isToolFile reports whether the file belongs to another tool. A file of patches is one of this
// program.
func (d *decoder) isToolFile() bool { return !d.patches && isToolFile(d.file.Name) }

// add appends a document, with a finding on its kind. object is nil for other kinds.
func (d *decoder) add(s *source.Source, at fieldpath.Path, id identity, f *finding.Finding,
	object any) *Document {
	document := &Document{
		File: d.file.Name, ID: id.object(), APIVersion: id.apiVersion, Object: object, source: s,
		at: at, api: d.api,
	}
	if f != nil && (f.Code != codes.NotAnObject || !d.isToolFile()) {
		f.Object = document.ID
		f.Position = s.Position(s.Find(at, f.Path))
		d.findings = append(d.findings, *f)
		document.Broken = f.Severity == finding.Error
	}
	if id.kind != "" {
		s.InUse.Add(1)
		d.documents = append(d.documents, document)
	}
	return document
}

// notAnObject reports a value that is not an object.
func (d *decoder) notAnObject(s *source.Source, at fieldpath.Path, message string) {
	if d.isToolFile() {
		return
	}
	f := notAnObject(message)
	if !bytes.Contains(s.Text, []byte("apiVersion")) {
		f.Remedy.Do = finding.Omit
	}
	if f.Position = s.Position(s.Find(at, nil)); f.Position.Column == 0 {
		// a value that only one of the libraries reads
		f.Position = s.At(len(s.Text) - len(bytes.TrimLeft(s.Text, " \t\r\n")))
	}
	d.findings = append(d.findings, *f)
}

// tooLarge reports a document above the limit of an API server.
func (d *decoder) tooLarge(s *source.Source, size int) bool {
	if size <= source.MaxDocument {
		return false
	}
	d.rejectText(s.Position(nil),
		fmt.Sprintf("the document has %.1f MiB: must have at most 3 MiB, as in the API server",
			float64(size)/(1<<20)),
		`split it with "---", or convert a large List to JSON`)
	return true
}

// rejectText reports text that no object is read from.
func (d *decoder) rejectText(at fieldpath.Position, message, help string) {
	d.findings = append(d.findings, finding.Finding{
		Code: codes.Syntax, Severity: finding.Error, Position: at, Message: message,
		Remedy: finding.Remedy{Text: help},
	})
}

func (d *decoder) tooManyLists(s *source.Source, at fieldpath.Path) {
	d.rejectText(s.Position(s.Find(at, nil)),
		fmt.Sprintf("has Lists nested more than %d deep", maxLists), "use one List")
}

// syntax reports text that fails to parse.
func (d *decoder) syntax(s *source.Source, err error) {
	line, problem := source.Syntax(err)
	f := finding.Finding{
		Code: codes.Syntax, Severity: finding.Error,
		Position: s.Fault(line, err, problem),
		Message:  "cannot be parsed: " + clip(source.Unquoted(problem)),
		Remedy: finding.Remedy{
			Text: "check the indentation and the quotes in this line and the ones before it"},
	}
	switch {
	case errors.Is(err, source.ErrTooDeep), problem == source.ErrTooDeep.Error():
		f.Message, f.Remedy.Text = "is "+problem, "use fewer levels"
	case errors.Is(err, source.ErrBomb), errors.Is(err, source.ErrCycle):
		f.Message, f.Remedy.Text = "is rejected: "+problem, "replace YAML aliases by their values"
	case errors.Is(err, source.ErrTemplate), source.IsTemplate(s.Text):
		f.Remedy.Text = "render the template first"
	case errors.Is(err, source.ErrSeparator):
		f.Message, f.Remedy.Text = problem, `move the content to the line after "---"`
	case errors.Is(err, source.ErrJSONStream):
		f.Remedy.Text = "use one format for all objects"
	case directiveIn(s.Text) >= 0:
		f.Position, f.Remedy.Text = s.At(directiveIn(s.Text)), `remove the directive`
	case errors.As(err, new(source.TrailingError)):
		f.Remedy.Text = `add "---" between documents, and begin their lines in one column`
	case strings.HasPrefix(problem, source.UnknownAnchor):
		f.Remedy.Text = "quote a string that begins with *"
	case problem == "control characters are not allowed":
		f.Remedy.Text = "escape the character in double quotes"
	case problem == "found character that cannot start any token":
		f.Remedy.Text = "indent with spaces, not tabs, and quote a string that begins with % @ or `"
	case problem == "mapping values are not allowed in this context":
		f.Remedy.Text = `check the indentation, and quote a string with ": "`
	}
	d.findings = append(d.findings, f)
}

// directiveIn returns the offset of the directive with which a document begins, or -1. Lines that
// are empty or comments may be before it.
func directiveIn(text []byte) int {
	at := len(text) - len(bytes.TrimPrefix(text, []byte("\ufeff")))
	for line := range bytes.Lines(text[at:]) {
		if start := bytes.TrimSpace(line); len(start) > 0 && start[0] != '#' {
			if line[0] == '%' {
				return at
			}
			break
		}
		at += len(line)
	}
	return -1
}

// notText returns the reason for not reading a file, or nil.
func notText(f *source.File) *finding.Finding {
	finding := &finding.Finding{Code: codes.Syntax, Severity: finding.Error,
		Position: fieldpath.Position{File: f.Name}}
	whole := &source.Source{File: f, Text: f.Data, Line: 1, Column: 1}
	switch nul := bytes.IndexByte(f.Data, 0); {
	case len(f.Data) > maxFile:
		return tooLarge(f.Name)
	case bytes.HasPrefix(f.Data, []byte("\xFF\xFE")) || bytes.HasPrefix(f.Data, []byte("\xFE\xFF")):
		finding.Position = whole.At(0)
		finding.Message = "must be UTF-8, not UTF-16"
		finding.Remedy.Text = "save it as UTF-8"
	case nul >= 0:
		finding.Position = whole.At(nul)
		finding.Message = fmt.Sprintf("must be text: byte %d is NUL", nul+1)
		finding.Remedy.Text = "name a YAML or JSON file"
	case !utf8.Valid(f.Data):
		at := invalidAt(f.Data)
		finding.Position = whole.At(at)
		finding.Message = fmt.Sprintf("must be UTF-8: byte %d is invalid", at+1)
		finding.Remedy.Text = "save it as UTF-8"
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
