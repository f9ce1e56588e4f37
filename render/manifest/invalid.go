package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// diagnose reports the errors of the value at the path, or decodes it after all. It runs after the fast decoding fails. cause is
// the error of the conversion to JSON, or nil.
func (d *decoder) diagnose(s *source.Source, at fieldpath.Path, from origin, cause error) {
	root, err := s.Nodes()
	if errors.Is(err, source.ErrTooLarge) {
		d.tooLarge(s, len(s.Text))
		return
	}
	if err != nil {
		if cause == nil || refuses(err) {
			cause = err
		}
		d.syntax(s, cause)
		return
	}
	if root == nil {
		return
	}
	if cause != nil && strings.HasPrefix(cause.Error(), "yaml: invalid map key") && bytes.Contains(s.Text, []byte("{{")) {
		d.syntax(s, source.ErrTemplate)
		return
	}
	r := source.NewReading(s)
	n := root
	for _, step := range at {
		if _, n = r.Step(n, step); n == nil {
			d.syntax(s, fmt.Errorf("the value at %s cannot be found again", at))
			return
		}
	}
	findings, documents := len(d.findings), len(d.documents)
	d.node(s, r, at, n, from)
	if cause == nil || strings.HasPrefix(cause.Error(), "yaml: unmarshal errors:") || len(d.findings) > findings {
		// Errors of that prefix are duplicate keys, which the walk reports. If it reports none, a key overrides a merged one:
		// the conversion rejects that, Kubernetes accepts it.
		return
	}
	// The two YAML parsers disagree, and Kubernetes uses the one that fails.
	read := false
	for _, document := range d.documents[documents:] {
		if document.Object != nil {
			document.Object, document.Broken, read = nil, true, true
		}
	}
	if read {
		d.syntax(s, cause)
	}
}

// refuses reports whether the text is valid YAML that this package rejects.
func refuses(err error) bool {
	return errors.Is(err, source.ErrTooDeep) || errors.Is(err, source.ErrBomb) || errors.Is(err, source.ErrCycle) || errors.As(err, new(source.TrailingError))
}

// node decodes a value from its nodes.
func (d *decoder) node(s *source.Source, r *source.Reading, at fieldpath.Path, n *yaml.Node, from origin) {
	n = source.Target(n)
	switch {
	case n.Kind == yaml.SequenceNode && from.lists == 0:
		d.items(len(n.Content), at, func(i int, p fieldpath.Path) { d.node(s, r, p, n.Content[i], origin{lists: 1}) })
		return
	case n.Kind != yaml.MappingNode:
		if kind := source.KindOf(n, r); from.lists > 0 || kind != "null" {
			d.notAnObject(s, at, fmt.Sprintf("is %s, not an object", source.Article(kind)))
		}
		return
	}
	own := identityOf(r, n)
	id := own.within(from.identity)
	_, items := r.Lookup(n, "items")
	if is, known := isList(id, nodeItems(items), d.further); is {
		if known {
			d.findings = append(d.findings, diagnose(s, id.object(), n, reflect.TypeFor[list](), d.room())...)
		}
		if from.lists == maxLists {
			d.tooManyLists(s, at)
		} else if items != nil && source.Target(items).Kind == yaml.SequenceNode {
			d.items(len(source.Target(items).Content), at.Append(fieldpath.Field("items")), func(i int, p fieldpath.Path) {
				d.node(s, r, p, source.Target(items).Content[i], origin{id.item(), from.lists + 1})
			})
		}
		return
	}
	_, manager := r.Lookup(n, "manager")
	kind, f := d.recognize(&id, r.Word(manager), func() []string { return nodeKeys(n) })
	walk := newDiagnosis(s, id.object(), d.room())
	if kind != nil && own.apiVersion == "" && own.kind == "" {
		f = cmp.Or(f, walk.fieldless(id.kind, kind.make(), nodeKeys(n)))
	}
	document := d.add(s, at, id, f, nil)
	if kind == nil || document.Broken {
		return
	}
	var j bytes.Buffer
	if err := r.Convert(&j, n); err == nil {
		document.raw, document.read = j.Bytes(), kind
	}
	object, shape := kind.make(), d.api.shapeOf(kind)
	if shape != nil {
		object = shape.make()
	} else if _, ok := object.(*trainer.TrainJob); ok && isOld(r, n) {
		object = new(legacy.TrainJob)
		d.findings = append(d.findings, oldAPI(document))
	}
	walk.api, walk.shape = d.api, shape
	if shape != nil {
		walk.define(shape.fields)
	}
	walk.value(n, reflect.TypeOf(object), "")
	found := walk.findings
	if found.Err() == nil {
		if err := d.decodeNode(r, n, shape, object); err != nil {
			found = append(found, finding.Finding{
				Code: finding.CodeWrongType, Severity: finding.Error, Object: document.ID,
				Position: s.Position(n),
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
		document.take(kind, shape, object)
	}
}

// room returns the number of findings that the file may still have, at least one.
func (d *decoder) room() int { return max(1, maxFindings-len(d.findings)) }

// decodeNode decodes a node strictly.
func (d *decoder) decodeNode(r *source.Reading, n *yaml.Node, shape *shape, into any) error {
	var b bytes.Buffer
	if err := r.Convert(&b, n); err != nil {
		return err
	}
	j := b.Bytes()
	if shape != nil {
		var err error
		if j, err = shape.pruned(j); err != nil {
			return err
		}
	}
	return unmarshalStrict(j, into)
}

// identityOf returns the identity of an object from its nodes.
func identityOf(r *source.Reading, n *yaml.Node) identity {
	field := func(n *yaml.Node, name string) string {
		_, v := r.Lookup(n, name)
		return r.Word(v)
	}
	id := identity{apiVersion: field(n, "apiVersion"), kind: field(n, "kind")}
	if _, meta := r.Lookup(n, "metadata"); meta != nil {
		id.name, id.namespace = field(source.Target(meta), "name"), field(source.Target(meta), "namespace")
	}
	return id
}

func nodeItems(items *yaml.Node) listItems {
	if items == nil {
		return noItems
	}
	items = source.Target(items)
	switch {
	case items.Kind == yaml.ScalarNode && items.Tag == "!!null":
		return noItems
	case items.Kind != yaml.SequenceNode:
		return otherItems
	case len(items.Content) == 0:
		return noItems
	}
	for _, item := range items.Content {
		if source.Target(item).Kind != yaml.MappingNode {
			return otherItems
		}
	}
	return objectItems
}

// syntax reports text that fails to parse.
func (d *decoder) syntax(s *source.Source, err error) {
	line, problem := source.Syntax(err)
	f := finding.Finding{
		Code: finding.CodeSyntax, Severity: finding.Error,
		Position: s.Fault(line, err, problem),
		Message:  "cannot be parsed: " + clip(source.Unquoted(problem)),
		Remedy:   finding.Remedy{Text: "check the indentation and the quotes in this line and the ones before it"},
	}
	switch {
	case errors.Is(err, source.ErrTooDeep), problem == source.ErrTooDeep.Error():
		f.Message, f.Remedy.Text = "is "+problem, "take levels out of it; manifests need fewer than 40"
	case errors.Is(err, source.ErrBomb), errors.Is(err, source.ErrCycle):
		f.Message, f.Remedy.Text = "is refused: "+problem, "write the values out instead of using YAML aliases"
	case errors.Is(err, source.ErrTemplate), source.IsTemplate(s.Text):
		f.Remedy.Text = "if it is a template, render it first"
	case errors.Is(err, source.ErrSeparator):
		f.Message, f.Remedy.Text = problem, `put the content on a line of its own, behind the line of "---"`
	case errors.Is(err, source.ErrJSONStream):
		f.Remedy.Text = "put each object in a file of its own, or use one format for all"
	case problem == "did not find expected <document start>":
		f.Remedy.Text = `remove the directive: kubectl ends the document at the "---" behind it`
	case errors.As(err, new(source.TrailingError)):
		f.Remedy.Text = `put "---" between two documents, and begin the lines of one at the same column`
	case strings.HasPrefix(problem, source.UnknownAnchor):
		f.Remedy.Text = "quote a text that begins with *, or define the anchor before this alias"
	case problem == "control characters are not allowed":
		f.Remedy.Text = "remove the character, or write it as an escape in double quotes"
	case problem == "found character that cannot start any token":
		f.Remedy.Text = "indent with spaces, not tabs, and quote a text that begins with % @ or `"
	case problem == "mapping values are not allowed in this context":
		f.Remedy.Text = `check the indentation, and quote a text that holds ": "`
	}
	d.findings = append(d.findings, f)
}
