package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge/quantity"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// list is a List with undecoded items.
type list struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []deferredValue `json:"items"`
}

// deferredValue is a value to decode separately.
type deferredValue struct{ json.RawMessage }

// origin is the context of a value: the default identity from its List, and the number of lists around it.
type origin struct {
	identity
	lists int
}

// maxLists limits the nesting of Lists, because each level reads the inner ones again. More than one is unusual.
const maxLists = 8

// node reads the value of a node, which stands at a path.
func (d *decoder) node(s *source.Source, r *source.Reading, at fieldpath.Path, n *yaml.Node, from origin) {
	n = source.Target(n)
	switch {
	case n.Kind == yaml.SequenceNode && from.lists == 0:
		before := len(d.documents)
		d.items(len(n.Content), at, func(i int, p fieldpath.Path) { d.node(s, r, p, n.Content[i], origin{lists: 1}) })
		d.list(s, at, len(n.Content), d.documents[before:])
		return
	case n.Kind == yaml.SequenceNode:
		d.notAnObject(s, at, "must be an object, not a list")
		return
	case n.Kind != yaml.MappingNode:
		if from.lists > 0 || !r.IsNull(n) {
			d.notAnObject(s, at, "must be an object, not a scalar")
		}
		return
	}
	id := identityOf(r, n).inList(from.identity)
	_, items := r.Lookup(n, "items")
	if is, known := isList(id, nodeItems(items), d.further); is {
		if known {
			d.findings = append(d.findings, diagnose(s, id.object(), n, reflect.TypeFor[list](), d.remainingFindings())...)
		}
		if from.lists == maxLists {
			d.tooManyLists(s, at)
		} else if items != nil && source.Target(items).Kind == yaml.SequenceNode {
			items = source.Target(items)
			d.items(len(items.Content), at.Append(fieldpath.Field("items")), func(i int, p fieldpath.Path) {
				d.node(s, r, p, items.Content[i], origin{id.item(), from.lists + 1})
			})
		}
		return
	}
	d.object(s, r, at, n, id)
}

// list reports a list that is not a document for kubectl. Such a list is empty, or has objects that this program reads.
func (d *decoder) list(s *source.Source, at fieldpath.Path, n int, items []*Document) {
	switch {
	case d.patches:
	case n == 0:
		d.notAnObject(s, at, "must be an object, not an empty list")
	case slices.ContainsFunc(items, func(o *Document) bool { return o.Object != nil || o.Broken }):
		d.rejectText(s.Position(s.Find(at, nil)), "must be one object or a v1 List, not a list of objects", "write a document for each object")
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

// object decodes an object. If that fails, it walks the nodes for the reasons.
func (d *decoder) object(s *source.Source, r *source.Reading, at fieldpath.Path, n *yaml.Node, id identity) {
	if len(s.Text)+s.Expanded > source.MaxDocument/largestEscape {
		var j bytes.Buffer
		if r.Convert(&j, n) == nil && d.tooLarge(s, j.Len()) {
			return
		}
	}
	_, manager := r.Lookup(n, "manager")
	kind, f := d.recognize(&id, r.Word(manager), n)
	if kind == nil {
		d.add(s, at, id, f, nil)
		return
	}
	o := &objectNode{Reading: r, node: n, kind: kind, shape: d.api.shapeOf(kind)}
	var doubtful bool
	var err error
	o.tree, doubtful, err = r.Tree(n)
	object := o.decode()
	if doubtful || err != nil || object == nil {
		d.diagnose(s, at, o, id, f)
		return
	}
	document := d.add(s, at, id, f, nil)
	if _, ok := object.(*legacy.TrainJob); ok {
		d.findings = append(d.findings, oldAPI(document))
	}
	document.fields, document.read = o.fields(), kind
	document.setObject(kind, o.shape, object)
}

// largestEscape is the number of bytes in JSON for the longest escape of a byte.
const largestEscape = 6

// objectNode is an object of a known kind in a document.
type objectNode struct {
	*source.Reading
	node  *yaml.Node
	kind  *readable
	shape *shape // of the kind, or nil
	tree  any    // the value of the node, or nil for one without a JSON form
}

func (o *objectNode) fields() map[string]any {
	fields, _ := o.tree.(map[string]any)
	return fields
}

// decode returns the decoded object, or nil for one with errors.
func (o *objectNode) decode() any {
	if o.tree == nil {
		return nil
	}
	if o.shape == nil {
		if object := o.kind.make(); o.decodes(object) {
			return object
		}
		if old := new(legacy.TrainJob); o.isTrainJob() && o.decodes(old) {
			return old
		}
	} else if object := o.shape.make(); !o.shape.prune(o.tree, o.shape.fields, false) && o.decodes(object) {
		return object
	}
	return nil
}

// isTrainJob reports whether the object is read as a TrainJob of today's API.
func (o *objectNode) isTrainJob() bool {
	_, ok := o.kind.make().(*trainer.TrainJob)
	return ok
}

// decodes reports whether the object decodes strictly and case-sensitively, as in an API server. For the first object of a kind, the
// decoder of JSON analyzes all types below it. That took a third of a short run, so it decodes only what package tree does not convert.
func (o *objectNode) decodes(into any) bool {
	if tree.Decode(o.tree, into) {
		return true
	}
	var j bytes.Buffer
	return o.Convert(&j, o.node) == nil && unmarshalSafe(j.Bytes(), into) == nil
}

// setObject sets the decoded object of a document.
func (document *Document) setObject(kind *readable, shape *shape, object any) {
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

// itemsOf classifies the items of a JSON List.
func itemsOf(items iter.Seq[*source.Source]) listItems {
	kind := noItems
	for item := range items {
		if kind = objectItems; item.JSON && item.Text[0] != '{' {
			return otherItems
		}
	}
	return kind
}

// unmarshalSafe is unmarshalStrict, and returns an error for a quantity that takes too long.
func unmarshalSafe(j []byte, into any) error { return quantity.Unmarshal(j, into, unmarshalStrict) }

// patchKind is the kind of a RuntimePatch, which has none in the API.
const patchKind = "RuntimePatch"

// recognize returns the kind of an object. In a file of patches, apiVersion and kind may be missing.
func (d *decoder) recognize(id *identity, manager string, n *yaml.Node) (*readable, *finding.Finding) {
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
	case isKustomize(nodeKeys(n)):
		return nil, nil
	case isForeign(nodeKeys(n)):
		f.Remedy.Do = finding.Omit
	}
	return nil, f
}

func notAnObject(message string) *finding.Finding {
	return &finding.Finding{
		Code: codes.NotAnObject, Severity: finding.Error, Message: message,
		Remedy: finding.Remedy{Text: "set apiVersion and kind, or remove the file"},
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

// tooLarge reports a document above the limit of an API server.
func (d *decoder) tooLarge(s *source.Source, size int) bool {
	if size <= source.MaxDocument {
		return false
	}
	d.rejectText(s.Position(nil), fmt.Sprintf("the document has %.1f MiB: must have at most 3 MiB, as in the API server", float64(size)/(1<<20)),
		`split it with "---", or convert a large List to JSON`)
	return true
}

// rejectText reports text that no object is read from.
func (d *decoder) rejectText(at fieldpath.Position, message, help string) {
	d.findings = append(d.findings, finding.Finding{
		Code: codes.Syntax, Severity: finding.Error, Position: at, Message: message, Remedy: finding.Remedy{Text: help},
	})
}
func (d *decoder) tooManyLists(s *source.Source, at fieldpath.Path) {
	d.rejectText(s.Position(s.Find(at, nil)), fmt.Sprintf("has Lists nested more than %d deep", maxLists), "use one List")
}
