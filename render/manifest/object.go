package manifest

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
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

// node reads the value of a node, which stands at a path.
func (d *decoder) node(s *source.Source, r *source.Reading, at fieldpath.Path, n *yaml.Node,
	from origin) {
	n = source.Target(n)
	switch {
	case n.Kind == yaml.SequenceNode && from.lists == 0:
		before := len(d.documents)
		d.items(len(n.Content), at, func(i int, p fieldpath.Path) {
			d.node(s, r, p, n.Content[i], origin{lists: 1})
		})
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
			d.findings = append(
				d.findings, diagnose(s, id.object(), n, reflect.TypeFor[list](),
					d.remainingFindings())...)
		}
		if from.lists == maxLists {
			d.tooManyLists(s, at)
		} else if items != nil && source.Target(items).Kind == yaml.SequenceNode {
			items = source.Target(items)
			d.items(len(items.Content), at.Append(fieldpath.Field("items")),
				func(i int, p fieldpath.Path) {
					d.node(s, r, p, items.Content[i], origin{id.item(), from.lists + 1})
				})
		}
		return
	}
	if from.name != "" && identityOf(r, n).name == "" {
		n = named(r, n, id)
	}
	template, broken := trialOf(r, n, id)
	if broken != nil {
		broken.Position = s.Position(s.Find(at, broken.Path))
		d.findings = append(d.findings, *broken)
	}
	if template != nil {
		within := fieldpath.Fields("spec", "trainJobTemplate")
		at := at.Append(within...)
		if own := identityOf(r, template); own.name+own.namespace != "" {
			d.namedTemplate(s, at, id)
		}
		before := len(d.documents)
		d.node(s, r, at, template, origin{id.trial(r, n), from.lists})
		for _, trial := range d.documents[before:] {
			trial.within = within
		}
		return
	}
	d.object(s, r, at, n, id)
	if broken != nil && len(d.documents) > 0 {
		d.documents[len(d.documents)-1].Broken = true
	}
}

// trialOf returns the template of the trials of an OptimizationJob, or a finding without a position
// if it has none. Both are nil for another object.
func trialOf(r *source.Reading, n *yaml.Node, id identity) (*yaml.Node, *finding.Finding) {
	if id.apiVersion != trainerGroup+"/v1alpha1" || !slices.Contains(unread, id.kind) {
		return nil, nil
	}
	broken := &finding.Finding{
		Code: codes.MissingField, Severity: finding.Error, Object: id.object(),
		Message: "Required value",
		Remedy:  finding.Remedy{Text: "set spec.trainJobTemplate.spec to that of a TrainJob"},
	}
	for _, field := range []string{"spec", "trainJobTemplate"} {
		_, value := r.Lookup(n, field)
		broken.Path = append(broken.Path, fieldpath.Field(field))
		if value == nil || r.IsNull(source.Target(value)) {
			return nil, broken
		}
		if n = source.Target(value); n.Kind != yaml.MappingNode {
			broken.Code, broken.Message = codes.WrongType, "must be an object"
			return nil, broken
		}
	}
	return n, nil
}

// namedTemplate reports the name or the namespace of a template, which each trial gets itself.
func (d *decoder) namedTemplate(s *source.Source, at fieldpath.Path, id identity) {
	metadata := fieldpath.Fields("spec", "trainJobTemplate", "metadata")
	d.findings = append(d.findings, finding.Finding{
		Code: codes.BrokenRule, Severity: finding.Error, Object: id.object(), Path: metadata,
		Position: s.Position(s.Find(at, metadata[2:])),
		Message:  "must not have a name or a namespace: each trial gets its own",
		Remedy:   finding.Remedy{Text: "remove both from the template"},
	})
}

// named returns a copy of an object with the name and the namespace.
func named(r *source.Reading, n *yaml.Node, id identity) *yaml.Node {
	set := func(n *yaml.Node, field string, value *yaml.Node) *yaml.Node {
		copied := *n
		copied.Content = slices.Clone(n.Content)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == field {
				copied.Content[i+1] = value
				return &copied
			}
		}
		key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: field, Line: n.Line,
			Column: n.Column}
		copied.Content = append(copied.Content, key, value)
		return &copied
	}
	metadata := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column}
	if _, own := r.Lookup(n, "metadata"); own != nil {
		if metadata = source.Target(own); metadata.Kind != yaml.MappingNode {
			return n
		}
	}
	for _, part := range [][2]string{{"name", id.name}, {"namespace", id.namespace}} {
		if part[1] != "" {
			metadata = set(metadata, part[0], &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str",
				Value: part[1], Line: n.Line, Column: n.Column})
		}
	}
	return set(n, "metadata", metadata)
}

// list reports a list that is not a document for kubectl. Such a list is empty, or has objects that
// this program reads.
func (d *decoder) list(s *source.Source, at fieldpath.Path, n int, items []*Document) {
	switch {
	case d.patches:
	case n == 0:
		d.notAnObject(s, at, "must be an object, not an empty list")
	case slices.ContainsFunc(items, func(o *Document) bool { return o.Object != nil || o.Broken }):
		d.rejectText(s.Position(s.Find(at, nil)),
			"must be one object or a v1 List, not a list of objects",
			"write a document for each object")
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
func (d *decoder) object(s *source.Source, r *source.Reading, at fieldpath.Path, n *yaml.Node,
	id identity) {
	if len(s.Text)+s.Expanded > source.MaxDocument/largestEscape {
		var j bytes.Buffer
		if r.Convert(&j, n) == nil && d.tooLarge(s, j.Len()) {
			return
		}
	}
	_, manager := r.Lookup(n, "manager")
	kind, f := d.recognize(&id, r.Word(manager), n)
	if kind == nil {
		if document := d.add(s, at, id, f, nil); id.isClaim() {
			value, _, _ := r.Tree(n)
			document.claim, _ = value.(map[string]any)
		}
		return
	}
	o := &objectNode{Reading: r, node: n, kind: kind, shape: d.api.shapeOf(kind)}
	var doubtful bool
	var err error
	o.tree, doubtful, err = r.Tree(n)
	object := o.outline(d.outlines)
	if object == nil {
		object = o.decode()
	}
	if doubtful || err != nil || object == nil {
		d.diagnose(s, at, o, id, f)
		return
	}
	document := d.add(s, at, id, f, nil)
	if _, ok := object.(*legacy.TrainJob); ok && o.shape == nil {
		d.findings = append(d.findings, oldAPI(document))
	}
	document.fields, document.read = o.fields(), kind
	document.setObject(kind, o.shape, object)
}

// diagnose reports the errors of an object, or decodes it without any. The finding f is on its
// kind, or nil.
func (d *decoder) diagnose(s *source.Source, at fieldpath.Path, o *objectNode, id identity,
	f *finding.Finding) {
	walk := newDiagnosis(s, id.object(), d.remainingFindings())
	if own := identityOf(o.Reading, o.node); own.apiVersion == "" && own.kind == "" {
		f = cmp.Or(f, walk.fieldless(id.kind, o.kind.make(), nodeKeys(o.node)))
	}
	document := d.add(s, at, id, f, nil)
	if document.Broken {
		return
	}
	if fields := o.fields(); fields != nil {
		document.fields, document.read = fields, o.kind
	}
	object := o.kind.make()
	if o.shape != nil {
		object = o.shape.make()
	} else if o.isTrainJob() && isOld(o.Reading, o.node) {
		object = new(legacy.TrainJob)
		d.findings = append(d.findings, oldAPI(document))
	}
	walk.api, walk.shape = d.api, o.shape
	if o.shape != nil {
		walk.define(o.shape.fields)
	}
	walk.value(o.node, reflect.TypeOf(object), "")
	found := walk.findings
	if found.Err() == nil {
		if err := o.decodePruned(object); err != nil {
			found = append(found, finding.Finding{
				Code: codes.WrongType, Severity: finding.Error, Object: document.ID,
				Position: s.Position(o.node),
				Message:  "cannot be decoded: " + firstLine(source.Unquoted(err.Error())),
				Remedy:   finding.Remedy{Text: "compare it with the API reference of " + id.kind},
			})
		}
	}
	document.Broken = document.Broken || found.Err() != nil
	found = append(walk.lacking, found...)
	d.findings = append(d.findings, found...)
	document.Findings = found
	if !document.Broken {
		document.setObject(o.kind, o.shape, object)
	}
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

// outline returns an object of the kind with its labels, its annotations and the managers of its
// patches, if the caller needs no more of it and the object decodes. Else it returns nil.
func (o *objectNode) outline(isEnough bool) any {
	if !isEnough || o.shape != nil || o.kind.group != trainerGroup {
		return nil
	}
	object := o.kind.make()
	of, ok := object.(metav1.Object)
	if !ok || !tree.Fits(o.tree, object) {
		return nil
	}
	metadata, _ := o.fields()["metadata"].(map[string]any)
	texts := func(field string) map[string]string {
		texts := map[string]string{}
		values, _ := metadata[field].(map[string]any)
		for name, value := range values {
			texts[name], _ = value.(string)
		}
		return texts
	}
	of.SetLabels(texts("labels"))
	of.SetAnnotations(texts("annotations"))
	if job, ok := object.(*trainer.TrainJob); ok {
		spec, _ := o.fields()["spec"].(map[string]any)
		patches, _ := spec["runtimePatches"].([]any)
		for _, patch := range patches {
			entry, _ := patch.(map[string]any)
			manager, _ := entry["manager"].(string)
			job.Spec.RuntimePatches = append(job.Spec.RuntimePatches,
				trainer.RuntimePatch{Manager: manager})
		}
	}
	return object
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
	} else if object := o.shape.make(); !o.shape.prune(o.tree, o.shape.fields, nothing) &&
		o.decodes(object) {
		return object
	}
	return nil
}

// isTrainJob reports whether the object is read as a TrainJob of today's API.
func (o *objectNode) isTrainJob() bool {
	_, ok := o.kind.make().(*trainer.TrainJob)
	return ok
}

// decodes reports whether the object decodes strictly and case-sensitively, as in an API server.
// For the first object of a kind, the decoder of JSON analyzes all types below it. That took a
// third of a short run, so it decodes only what package tree does not convert.
func (o *objectNode) decodes(into any) bool {
	if tree.Decode(o.tree, into) {
		return true
	}
	var j bytes.Buffer
	return o.Convert(&j, o.node) == nil && unmarshalSafe(j.Bytes(), into) == nil
}

// decodePruned decodes the object strictly, without the fields that its shape lacks.
func (o *objectNode) decodePruned(into any) error {
	var b bytes.Buffer
	if err := o.Convert(&b, o.node); err != nil {
		return err
	}
	j := b.Bytes()
	if o.shape != nil {
		var err error
		if j, err = o.shape.pruned(j); err != nil {
			return err
		}
	}
	return unmarshalStrict(j, into)
}

// setObject sets the decoded object of a document.
func (document *Document) setObject(kind *readable, shape *shape, object any) {
	if o, ok := object.(*legacy.TrainJob); ok {
		object, document.Overrides = o.Split()
		if shape != nil && reflect.ValueOf(o.Spec.Overrides).IsZero() {
			document.Overrides = nil // of a release that reads them, and this TrainJob has none
		}
	}
	switch {
	case shape == nil || len(shape.beside) == 0:
	case kind.kind == patchKind:
		document.Earlier.TakePatch(document.fields)
	default:
		document.Earlier.Take(document.fields)
		document.Earlier.TakeNumbers(document.fields, shape.fields)
	}
	kind.name(object)
	document.Object = object
}
