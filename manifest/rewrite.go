package manifest

import (
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/legacy"
	"github.com/trainweld/trainweld/manifest/internal/encode"
	"github.com/trainweld/trainweld/manifest/internal/source"
)

// Rewrite replaces fields of an object in a file by one new field.
type Rewrite struct {
	// Parent is the path of the object with the fields.
	Parent fieldpath.Path
	// Remove lists the fields to remove. Missing fields are ignored.
	Remove []string
	// Field is the name of the new field, which replaces the last removed one. Value is its value, or nil for none.
	Field string
	Value any
	// Origins returns the earlier places of a field of the new value, the one in force first. The new field takes its
	// comments, key order and quotes from there. All paths start at the object. Origins returns false for a field that was at
	// the same step within the places of the field around it.
	Origins func(fieldpath.Path) ([]fieldpath.Path, bool)
}

// Migration returns the rewrite that puts patches in the place of a TrainJob's overrides.
func (d *Document) Migration(patches []trainer.RuntimePatch) Rewrite {
	var overrides *legacy.Overrides
	if d != nil {
		overrides = d.Overrides
	}
	r := Rewrite{Parent: fieldpath.Fields("spec"), Remove: legacy.Fields(), Field: "runtimePatches", Origins: overrides.Origins()}
	if len(patches) > 0 {
		r.Value = patches
	}
	return r
}

var (
	errFlow   = errors.New("it is written in braces; write the object and its fields on lines of their own")
	errAnchor = errors.New("it has an anchor that other parts of the file refer to; write the value out there first")
	errShared = errors.New("it comes from a merge key or an alias; write the field out where it is meant")
)

// Rewrite returns the edits that replace fields in the object's text. All other fields keep their order, comments, quotes and
// indentation. Comments of removed fields move along with their values, or else stand before the new field. Without a new
// field, they are removed. JSON keeps its order and its indentation.
//
// It returns an error with the path of a field that it cannot edit. Such a field is an object in braces, or a value that other
// parts of the file share. Callers decode the new text to check the result.
func (d *Document) Rewrite(r Rewrite) ([]Edit, error) {
	if s, _ := d.place(); s.Text == nil {
		return nil, errNoText
	} else if s.Part {
		return nil, errPart
	}
	var v *encode.Value
	if r.Value != nil {
		var err error
		if v, err = encoded(r.Value); err != nil {
			return nil, err
		}
	}
	root, err := d.source.Nodes()
	if err != nil || root == nil {
		return nil, fmt.Errorf("the text cannot be parsed again: %w", err)
	}
	w := &rewriter{Rewrite: r, document: d, Reading: source.NewReading(d.source), value: v, used: map[*yaml.Node]bool{}}
	if v != nil {
		w.arrange(v, r.Parent.Append(fieldpath.Field(r.Field)), r.Field, nil)
	}
	if d.source.JSON {
		return w.json()
	}
	return w.yaml()
}

// rewriter rewrites one object.
type rewriter struct {
	Rewrite
	*source.Reading
	document *Document
	value    *encode.Value
	first    *yaml.Node          // the first key of the parent
	used     map[*yaml.Node]bool // the keys and items whose comments are in the new text
}

// node returns the nodes of a path in the object: a field's key and its value, or an item as both.
func (w *rewriter) node(path fieldpath.Path) (place, value *yaml.Node) {
	value, err := w.document.source.Nodes()
	if err != nil {
		return nil, nil
	}
	for _, step := range w.document.at.Append(path...) {
		if place, value = w.Step(value, step); value == nil {
			return nil, nil
		}
	}
	return place, value
}

// place returns the field that the new one replaces: the last existing one of Remove.
func (w *rewriter) place(has func(name string) bool) string {
	for _, name := range slices.Backward(w.Remove) {
		if has(name) {
			return name
		}
	}
	return ""
}
