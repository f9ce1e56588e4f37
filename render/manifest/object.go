package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge/quantity"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// header identifies an object, and holds the items of a List.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Manager string            `json:"manager"` // of a RuntimePatch
	Items   []json.RawMessage `json:"items"`
}

// list is a List with undecoded items.
type list struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []later `json:"items"`
}

// later is a value to decode separately.
type later struct{ json.RawMessage }

// origin is the context of a value: the default identity from its List, and the number of lists around it.
type origin struct {
	identity
	lists int
}

// maxLists limits the nesting of Lists, because each level reads the inner ones again. More than one is unusual.
const maxLists = 8

// value reads the JSON value of the source's node at a path.
func (d *decoder) value(s *source.Source, at fieldpath.Path, j []byte, from origin) {
	j = bytes.TrimLeft(j, " \t\r\n")
	switch {
	case j[0] == '{':
		d.object(s, at, j, from)
	case j[0] == '[' && from.lists > 0:
		d.notAnObject(s, at, "is a list, not an object")
	case j[0] == '[' && s.JSON:
		n, before := 0, len(d.documents)
		for item := range source.Elements(s) {
			if d.full() {
				return
			}
			d.value(item, nil, item.Text, origin{lists: 1})
			item.Release()
			n++
		}
		d.list(s, at, n, d.documents[before:])
	case j[0] == '[':
		before := len(d.documents)
		var items []json.RawMessage
		if err := json.Unmarshal(j, &items); err != nil {
			d.syntax(s, err)
			return
		}
		d.items(len(items), at, func(i int, p fieldpath.Path) { d.value(s, p, items[i], origin{lists: 1}) })
		d.list(s, at, len(items), d.documents[before:])
	case j[0] == 'n' && from.lists == 0:
		// An empty document.
	default:
		d.notAnObject(s, at, "is a bare value, not an object")
	}
}

// list reports a list that is no document for kubectl: an empty one, and one with objects that this program reads.
func (d *decoder) list(s *source.Source, at fieldpath.Path, n int, items []*Document) {
	switch {
	case d.patches:
	case n == 0:
		d.notAnObject(s, at, "is an empty list, not an object")
	case slices.ContainsFunc(items, func(o *Document) bool { return o.Object != nil || o.Broken }):
		d.findings = append(d.findings, finding.Finding{
			Code: finding.CodeSyntax, Severity: finding.Error, Position: s.Position(s.Find(at, nil)),
			Message: "is a list of objects: kubectl reads one object in each document, or a v1 List",
			Remedy:  finding.Remedy{Text: "write a document for each object"},
		})
	}
}

// items reads the items of a list until a limit is reached.
func (d *decoder) items(n int, at fieldpath.Path, read func(i int, p fieldpath.Path)) {
	for i := range n {
		if d.full() {
			return
		}
		read(i, at.Append(fieldpath.Index(i)))
	}
}

// object decodes an object from JSON. If that fails, it calls diagnose.
func (d *decoder) object(s *source.Source, at fieldpath.Path, j []byte, from origin) {
	var h header
	if err := kjson.UnmarshalCaseSensitivePreserveInts(j, &h); err != nil {
		d.diagnose(s, at, from, nil)
		return
	}
	id := identity{h.APIVersion, h.Kind, h.Metadata.Namespace, h.Metadata.Name}.within(from.identity)
	if is, known := isList(id, jsonItems(h.Items), d.further); is {
		if known && unmarshalSafe(j, new(list)) != nil {
			d.diagnose(s, at, from, nil)
			return
		}
		item := origin{id.item(), from.lists + 1}
		switch {
		case from.lists == maxLists:
			d.tooManyLists(s, at)
		case s.JSON:
			for e := range source.Elements(source.LastMember(s, "items")) {
				if d.full() {
					return
				}
				d.value(e, nil, e.Text, item)
				e.Release()
			}
		default:
			d.items(len(h.Items), at.Append(fieldpath.Field("items")), func(i int, p fieldpath.Path) {
				d.value(s, p, h.Items[i], item)
			})
		}
		return
	}
	if d.tooLarge(s, len(j)) {
		return
	}
	kind, f := d.recognize(&id, h.Manager, func() []string { return jsonKeys(j) })
	if kind == nil {
		d.add(s, at, id, f, nil)
		return
	}
	object, shape := kind.make(), d.api.shapeOf(kind)
	if shape != nil {
		object = shape.make()
	}
	if s.Doubtful || !decodes(j, object) && (shape != nil || !d.decodesOld(j, &object)) || shape != nil && shape.lacks(j) {
		d.diagnose(s, at, from, nil)
		return
	}
	document := d.add(s, at, id, f, nil)
	if _, ok := object.(*legacy.TrainJob); ok {
		d.findings = append(d.findings, oldAPI(document))
	}
	document.raw, document.read = j, kind
	document.take(kind, shape, object)
}

// take sets the decoded object of a document.
func (document *Document) take(kind *readable, shape *shape, object any) {
	switch o := object.(type) {
	case *legacy.TrainJob:
		object, document.Overrides = o.Split()
	case *earlierTrainJob:
		object, document.Overrides, document.Earlier = o.split()
	case *earlierRuntime:
		object, document.Earlier = o.split(kind.kind, shape.fields)
	}
	kind.name(object)
	document.Object = object
}

func jsonItems(items []json.RawMessage) listItems {
	for _, item := range items {
		if item[0] != '{' {
			return otherItems
		}
	}
	if len(items) == 0 {
		return noItems
	}
	return objectItems
}

// decodes reports whether JSON decodes strictly and case-sensitively, as in an API server. For the first object of a kind the decoder
// of JSON analyzes all types below it. That took a third of a short run, so it decodes only what jsonvalue does not convert.
func decodes(j []byte, into any) bool {
	var value any
	if strict, err := kjson.UnmarshalStrict(j, &value); err == nil && len(strict) == 0 && tree.Decode(value, into) {
		return true
	}
	return unmarshalSafe(j, into) == nil
}

// unmarshalSafe is unmarshalStrict, and returns an error for a quantity that takes too long.
func unmarshalSafe(j []byte, into any) error { return quantity.Unmarshal(j, into, unmarshalStrict) }

// patchKind is the kind of a RuntimePatch, which has none in the API.
const patchKind = "RuntimePatch"

// recognize returns the kind of an object with these keys. In a file of patches, apiVersion and kind may be missing.
func (d *decoder) recognize(id *identity, manager string, keys func() []string) (*readable, *finding.Finding) {
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
		f.Remedy.Do, f.Remedy.Options = finding.Provide, []string{patchKind}
	case isKustomize(keys()):
		return nil, nil
	case isForeign(keys()):
		f.Remedy.Do = finding.Omit
	}
	return nil, f
}

func notAnObject(message string) *finding.Finding {
	return &finding.Finding{
		Code: finding.CodeNotAnObject, Severity: finding.Error, Message: message,
		Remedy: finding.Remedy{Text: "give it the apiVersion and kind of a Kubernetes object, or leave the file out"},
	}
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
		f.Position = s.At(len(s.Text) - len(bytes.TrimLeft(s.Text, " \t\r\n"))) // a value that only one of the libraries reads
	}
	d.findings = append(d.findings, *f)
}

// isToolFile reports whether the file belongs to another tool. A file of patches is one of this program.
func (d *decoder) isToolFile() bool { return !d.patches && isToolFile(d.file.Name) }

// add appends a document, with a finding on its kind. object is nil for other kinds.
func (d *decoder) add(s *source.Source, at fieldpath.Path, id identity, f *finding.Finding, object any) *Document {
	document := &Document{
		File: d.file.Name, ID: id.object(), APIVersion: id.apiVersion, Object: object, source: s, at: at, api: d.api,
	}
	if f != nil && (f.Code != finding.CodeNotAnObject || !d.isToolFile()) {
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

// tooLarge reports a document above the limit of an API server.
func (d *decoder) tooLarge(s *source.Source, size int) bool {
	if size <= source.MaxDocument {
		return false
	}
	d.findings = append(d.findings, finding.Finding{
		Code: finding.CodeSyntax, Severity: finding.Error, Position: s.Position(nil),
		Message: fmt.Sprintf("a document of %.1f MiB is larger than the 3 MiB that an API server takes", float64(size)/(1<<20)),
		Remedy:  finding.Remedy{Text: `split it with "---" lines, or write a large List as JSON`},
	})
	return true
}

func (d *decoder) tooManyLists(s *source.Source, at fieldpath.Path) {
	d.findings = append(d.findings, finding.Finding{
		Code: finding.CodeSyntax, Severity: finding.Error, Position: s.Position(s.Find(at, nil)),
		Message: fmt.Sprintf("has Lists in each other, more than %d deep", maxLists),
		Remedy:  finding.Remedy{Text: "write the items into one List"},
	})
}
