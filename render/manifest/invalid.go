package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// diagnose reports the errors of an object, or decodes it without any. The finding f is on its kind, or nil.
func (d *decoder) diagnose(s *source.Source, at fieldpath.Path, o *objectNode, id identity, f *finding.Finding) {
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

// remainingFindings returns the number of findings that the file may still have, at least one.
func (d *decoder) remainingFindings() int { return max(1, maxFindings-len(d.findings)) }

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

// directiveIn returns the offset of the directive with which a document begins, or -1. Lines that are empty or comments may be before it.
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

// syntax reports text that fails to parse.
func (d *decoder) syntax(s *source.Source, err error) {
	line, problem := source.Syntax(err)
	f := finding.Finding{
		Code: codes.Syntax, Severity: finding.Error,
		Position: s.Fault(line, err, problem),
		Message:  "cannot be parsed: " + clip(source.Unquoted(problem)),
		Remedy:   finding.Remedy{Text: "check the indentation and the quotes in this line and the ones before it"},
	}
	switch {
	case errors.Is(err, source.ErrTooDeep), problem == source.ErrTooDeep.Error():
		f.Message, f.Remedy.Text = "is "+problem, "use fewer levels"
	case errors.Is(err, source.ErrBomb), errors.Is(err, source.ErrCycle):
		f.Message, f.Remedy.Text = "is rejected: "+problem, "replace YAML aliases by their values"
	case errors.Is(err, source.ErrTemplate), source.IsTemplate(s.Text):
		f.Remedy.Text = "if it is a template, render it first"
	case errors.Is(err, source.ErrSeparator):
		f.Message, f.Remedy.Text = problem, `move the content to the line after "---"`
	case errors.Is(err, source.ErrJSONStream):
		f.Remedy.Text = "use one file for each object, or one format for all"
	case directiveIn(s.Text) >= 0:
		f.Position, f.Remedy.Text = s.At(directiveIn(s.Text)), `remove the directive`
	case errors.As(err, new(source.TrailingError)):
		f.Remedy.Text = `add "---" between documents, and begin their lines in one column`
	case strings.HasPrefix(problem, source.UnknownAnchor):
		f.Remedy.Text = "quote a string that begins with *, or define the anchor before this alias"
	case problem == "control characters are not allowed":
		f.Remedy.Text = "remove the character, or escape it in double quotes"
	case problem == "found character that cannot start any token":
		f.Remedy.Text = "indent with spaces, not tabs, and quote a string that begins with % @ or `"
	case problem == "mapping values are not allowed in this context":
		f.Remedy.Text = `check the indentation, and quote a string with ": "`
	}
	d.findings = append(d.findings, f)
}
