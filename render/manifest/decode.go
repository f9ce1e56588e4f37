package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// Decode reads a stream of YAML documents or JSON values: objects, and Lists of objects. Each item
// is a Document. It also reads arrays of objects, and reports them: kubectl rejects them. Decode
// skips empty documents. file names the input in findings; Decode does not open it.
//
// It returns all readable documents and all problems, in the order of the file. Input that an API
// server rejects under strict field validation is an error: unknown fields, duplicate keys and
// wrong types. Other errors are invalid YAML or JSON, an unknown version, and a document without
// apiVersion and kind. With [Tolerate], the last one is a warning, for callers that scan a
// directory. A finding has the position of its key or of its value. Documents of other kinds have
// no Object and no findings. Callers check for a missing metadata.name. An OptimizationJob with a
// template is read as the TrainJob of one trial, in its place.
//
// It never panics. The documents share memory with data, so do not change it.
func Decode(file string, data []byte) ([]*Document, finding.List) {
	d := newDecoder(file, data)
	d.stream()
	return d.documents, d.findings
}

// DecodeKinds is Decode for a caller that reads further kinds, such as kinds of an earlier API.
// Their New creates the Object of such documents.
func DecodeKinds(file string, data []byte, further []Kind) ([]*Document, finding.List) {
	documents, findings, _ := DecodeExpanded(file, data, further)
	return documents, findings
}

// DecodeAs is DecodeKinds for one kind, which objects without apiVersion and kind have. It may
// replace a kind of this package, which is then decoded into the object of its New.
func DecodeAs(file string, data []byte, kind Kind) ([]*Document, finding.List) {
	d := newDecoder(file, data)
	d.further = []Kind{kind}
	d.from.identity = identity{apiVersion: strings.TrimPrefix(kind.Group+"/"+kind.Version, "/"),
		kind: kind.Kind}
	d.stream()
	return d.documents, d.findings
}

// As decodes the document by another API. The copy has its own Findings, and shares the text. As
// returns the document itself for its own API, and for a kind that the releases do not define.
func (d *Document) As(api *API) *Document {
	if d == nil || d.api == api || d.fields == nil || api.shapeOf(d.read) == nil &&
		d.api.shapeOf(d.read) == nil {
		return d
	}
	again := newDecoder(d.File, d.source.File.Data)
	again.api, again.patches = api, d.read.kind == patchKind
	from := origin{identity: identity{apiVersion: d.APIVersion, kind: d.ID.Kind,
		namespace: d.ID.Namespace, name: d.ID.Name}}
	if again.patches {
		from = origin{} // a patch has no kind of its own
	}
	if n := d.source.Value(d.at, nil); n != nil {
		again.node(d.source, source.NewReading(d.source), d.at, n, from)
		d.source.Release() // the copy needs the nodes no longer than Decode does
	}
	if len(again.documents) != 1 {
		return d
	}
	other := again.documents[0]
	other.within = d.within
	if other.Findings = again.findings; d.origin != nil {
		other.Trace(d.origin)
	}
	return other
}

// DecodeExpanded is DecodeKinds for a caller that reads many files. It also returns the number of
// bytes that YAML aliases add when expanded, up to [MaxExpanded] for a small file.
func DecodeExpanded(file string, data []byte,
	further []Kind) (documents []*Document, findings finding.List, expanded int) {
	return (*API)(nil).Decode(file, data, further)
}

// Decode is DecodeExpanded by the API.
func (a *API) Decode(file string, data []byte,
	further []Kind) (documents []*Document, findings finding.List, expanded int) {
	d := newDecoder(file, data)
	d.further, d.api = further, a
	d.stream()
	return d.documents, d.findings, d.expanded
}

// Outline is Decode for a caller that needs the mistakes of TrainJobs and runtimes, and their text.
// Such an Object without mistakes has its labels, its annotations and the managers of its patches.
func (a *API) Outline(file string, data []byte,
	further []Kind) (documents []*Document, findings finding.List, expanded int) {
	d := newDecoder(file, data)
	d.further, d.api, d.outlines = further, a, true
	d.stream()
	return d.documents, d.findings, d.expanded
}

// HasAliases reports whether a file may have YAML aliases. A true may be wrong.
func HasAliases(data []byte) bool { return source.MayHaveAliases(data) }

// IsBounded reports whether a decoder that expands aliases may read a text. Such a text has no YAML
// aliases, or is one document within the limits.
func IsBounded(data []byte) bool {
	if !HasAliases(data) || json.Valid(data) {
		return true
	}
	_, _, err := source.ParseYAML(data)
	return err == nil
}

// Tolerate returns the findings, with errors of the given codes as warnings. It drops such an error
// on a document that has nothing of a Kubernetes object, whose remedy is finding.Omit. A caller
// that scans a directory tolerates codes.NotAnObject, because directories hold other files.
func Tolerate(findings finding.List, codes ...finding.Code) finding.List {
	var tolerated finding.List
	for _, f := range findings {
		if slices.Contains(codes, f.Code) && f.Severity == finding.Error {
			if f.Remedy.Do == finding.Omit {
				continue
			}
			f.Severity = finding.Warning
		}
		tolerated = append(tolerated, f)
	}
	return tolerated
}

func (d *decoder) stream() {
	if f := notText(d.file); f != nil {
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

func (d *decoder) chunk(c source.Chunk) {
	s := c.Source(d.file)
	if c.Err != nil {
		d.syntax(s, c.Err)
		return
	}
	switch err := c.CheckJSON(); err {
	case nil:
		for v := range source.JSONValues(s) {
			if d.full() {
				return
			}
			d.document(v, d.from)
		}
	case source.ErrTooDeep:
		d.syntax(s, err)
	default:
		d.document(s, d.from)
	}
}

// document reads a document or a JSON value.
func (d *decoder) document(s *source.Source, from origin) {
	defer s.Release()
	if s.JSON && s.Text[0] == '[' && from.lists == 0 {
		d.elements(s)
		return
	}
	if (s.JSON || len(s.Text) > source.MaxDocument) && d.splitList(s, from) ||
		d.tooLarge(s, len(s.Text)) {
		return
	}
	root, err := s.Nodes()
	if d.expanded += s.Expanded; d.expanded > MaxExpanded {
		return // full reports it
	}
	var rejection error
	if err != nil && !rejects(err) || err == nil && s.IsUnusual() {
		rejection = s.Rejection()
	}
	switch {
	case err != nil:
		d.syntax(s, cmp.Or(rejection, err)) // kubectl's error is nearer to the fault
	case root == nil:
		if rejection != nil {
			d.syntax(s, rejection)
		}
	case rejection != nil && strings.HasPrefix(rejection.Error(), "yaml: invalid map key") &&
		bytes.Contains(s.Text, []byte("{{")):
		d.syntax(s, source.ErrTemplate)
	default:
		findings, documents := len(d.findings), len(d.documents)
		d.node(s, source.NewReading(s), nil, root, from)
		if rejection == nil || strings.HasPrefix(rejection.Error(), "yaml: unmarshal errors:") ||
			len(d.findings) > findings {
			// Errors of that prefix are duplicate keys, which the walk reports. If it reports none,
			// a key overrides a merged one: the library rejects that, Kubernetes accepts it.
			return
		}
		d.reject(s, d.documents[documents:], rejection)
	}
}

// rejects reports whether the text is valid YAML that this package rejects.
func rejects(err error) bool {
	return errors.Is(err, source.ErrTooDeep) || errors.Is(err, source.ErrBomb) ||
		errors.Is(err, source.ErrCycle) || errors.As(err, new(source.TrailingError))
}

// reject drops the objects of a text that only kubectl cannot read. It reports a text of other
// kinds only by their findings.
func (d *decoder) reject(s *source.Source, documents []*Document, rejection error) {
	read := len(documents) == 0
	for _, document := range documents {
		if document.Object != nil {
			document.Object, document.Broken, read = nil, true, true
		}
	}
	if read {
		d.syntax(s, rejection)
	}
}

// elements reads the elements of an array, each as a document.
func (d *decoder) elements(s *source.Source) {
	n, before := 0, len(d.documents)
	for item := range source.Elements(s) {
		if d.full() {
			return
		}
		d.document(item, origin{lists: 1})
		n++
	}
	d.list(s, nil, n, d.documents[before:])
}

// splitList reads the items of a List, each as a document. It returns false for another document.
func (d *decoder) splitList(s *source.Source, from origin) bool {
	head, items, ok := source.Items(s)
	if !ok {
		return false
	}
	root, err := head.Nodes()
	if err != nil || root == nil {
		return false
	}
	r := source.NewReading(head)
	id := identityOf(r, root).inList(from.identity)
	is, known := isList(id, itemsOf(items), d.further)
	if !is {
		return false
	}
	if known {
		d.findings = append(
			d.findings, diagnose(head, id.object(), root, reflect.TypeFor[list](),
				d.remainingFindings())...)
	}
	if from.lists == maxLists {
		d.tooManyLists(s, nil)
		return true
	}
	for item := range items {
		if d.full() {
			break
		}
		if !d.tooLarge(item, len(item.Text)) {
			d.document(item, origin{id.item(), from.lists + 1})
		}
	}
	return true
}
