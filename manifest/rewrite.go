package manifest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/manifest/internal/encode"
	"github.com/trainweld/trainweld/manifest/internal/jsonfields"
	"github.com/trainweld/trainweld/manifest/internal/source"
)

// Rewrite says how fields of an object in a file are to be replaced by another one.
type Rewrite struct {
	// Parent is the path of the object whose fields these are.
	Parent fieldpath.Path
	// Remove are the names of the fields to take out. Those that the object lacks are ignored.
	Remove []string
	// Field is the name of the field that takes the place of the last of them, and Value its value; nil for
	// none.
	Field string
	Value any
	// Origins are the places in the object where a field of the new value may have been said before, the one
	// that is in force first: from there it takes its comments, the order of its keys and the quotes around its
	// text. The path starts at the object, as those that it returns do.
	Origins func(fieldpath.Path) []fieldpath.Path
}

var (
	errFlow   = errors.New("it is written in braces; write the object and its fields on lines of their own")
	errAnchor = errors.New("it has an anchor that other parts of the file refer to; write the value out there first")
	errShared = errors.New("it comes from a merge key or an alias; write the field out where it is meant")
)

// Rewrite is the edits that replace fields in the object's text, and touch nothing else: not the order of other
// fields, nor their comments, quotes and indentation. Comments of what is taken out go with the values to which they
// belong, and else before the new field; where there is none, they go with what they are about. JSON keeps its order, and is written with the indentation that it has.
//
// It refuses, with the path of the field, what cannot be edited so: an object in braces, and values that other
// parts of the file share. Whether the file now says what was meant, the caller sees by decoding it.
func (d *Document) Rewrite(r Rewrite) ([]Edit, error) {
	if s, _ := d.place(); s.Text == nil {
		return nil, errNoText
	}
	e := &encode.Encoder{Structs: jsonfields.Structs{}}
	var v *encode.Value
	if r.Value != nil {
		var err error
		if v, err = e.Value(reflect.ValueOf(r.Value)); err != nil {
			return nil, err
		}
	}
	root, err := d.source.Nodes()
	if err != nil || root == nil {
		return nil, fmt.Errorf("the text cannot be parsed again: %w", err)
	}
	w := &rewriter{Rewrite: r, document: d, Reading: source.NewReading(d.source), value: v, used: map[*yaml.Node]bool{}}
	if v != nil {
		w.arrange(v, r.Parent.Append(fieldpath.Field(r.Field)), r.Field)
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
	used     map[*yaml.Node]bool // the keys and items whose comments have a place in the new text
}

// node is the node of a path in the object: the key of a field and its value, or the item twice.
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

// place is the field whose place the new one takes: the last to be taken out that is there.
func (w *rewriter) place(has func(name string) bool) string {
	for _, name := range slices.Backward(w.Remove) {
		if has(name) {
			return name
		}
	}
	return ""
}
