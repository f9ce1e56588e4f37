package workspace

import (
	"bytes"
	"encoding/json"
	"iter"

	"github.com/trainweld/trainweld/cmd/internal/origins"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/manifest"
)

// Built is the output of a build, which an input reads like a file.
type Built struct {
	Dir  string // the built directory
	File string // a file of it for positions that are unknown
	// Text is the output. It is nil after an error, and without a directory.
	Text     []byte
	Findings finding.List
	// Origin returns the origin of the object at a line of the text. It may be nil: then only File
	// is known.
	Origin func(line int) manifest.Origin
	// Trace returns the history of each object of the text. With an object, as KIND/NAME, those of
	// others may be nil. It may build again.
	Trace func(object string) (*origins.Trace, error)
	// Source returns a file in which positions of an Origin lie.
	Source func(file string) ([]byte, bool)
}

// Objects yields the objects of the output, each with its text.
func (b *Built) Objects() iter.Seq2[fieldpath.Object, []byte] {
	return func(yield func(fieldpath.Object, []byte) bool) {
		for line := range bytes.Lines(b.Text) {
			var o struct {
				Kind     string
				Metadata struct{ Name, Namespace string }
			}
			_ = json.Unmarshal(line, &o) // kustomize has checked them
			id := fieldpath.Object{Kind: o.Kind, Name: o.Metadata.Name, Namespace: o.Metadata.Namespace}
			if !yield(id, line) {
				return
			}
		}
	}
}

// BuiltObject is an object of the output of a build.
type BuiltObject struct {
	ID   fieldpath.Object
	Text []byte
	Line int // in the output, from 1 on
}

// Asked returns the objects that an argument names, as KIND/NAME: by the name that they have, or
// else by a name that they had before the build changed it.
func (b *Built) Asked(object string) (asked []BuiltObject, err error) {
	var all []BuiltObject
	hasKind := false
	for id, text := range b.Objects() {
		o := BuiltObject{ID: id, Text: text, Line: len(all) + 1}
		all, hasKind = append(all, o), hasKind || origins.Asks(object, id.Kind)
		if origins.Asks(object, id.Kind, id.Name) {
			asked = append(asked, o)
		}
	}
	if asked != nil || !hasKind {
		return asked, nil
	}
	trace, err := b.Trace(object)
	if err != nil {
		return nil, err
	}
	for i, o := range trace.Objects {
		if origins.Asks(object, o.Kind(), o.Names()...) {
			asked = append(asked, all[i])
		}
	}
	return asked, nil
}
