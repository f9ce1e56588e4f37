package manifest

import (
	"errors"
	"fmt"

	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/legacy"
	"github.com/trainweld/trainweld/manifest/internal/source"
)

// Document is one object of an input: a document of a YAML stream, a JSON value, or an item of a List.
type Document struct {
	// File is the name that was given to Decode.
	File string
	// ID is the object's kind, namespace and name as they are written; what is missing is empty.
	ID fieldpath.Object
	// APIVersion is the apiVersion as it is written, also where it was read as another.
	APIVersion string
	// Object is a *trainer.TrainJob, *trainer.TrainingRuntime, *trainer.ClusterTrainingRuntime,
	// *jobset.JobSet or *corev1.ConfigMap, or what a further Kind makes. It is nil for kinds that are not
	// read, and for a broken object.
	Object any
	// Overrides are what a TrainJob says in the fields that Trainer 2.2 took away: nil for an object that
	// has none of them. Object is the rest of it.
	Overrides *legacy.Overrides
	// Broken says that the object is of a kind that this package reads and has findings of severity
	// Error. So a caller that looks for a runtime can tell a broken one from none.
	Broken bool
	// Findings are the unknown fields, duplicate keys and wrong types of the object. Decode returns them as well.
	Findings finding.List

	source *source.Source
	at     fieldpath.Path // from the root of the source to the object: nil, or the way to an item of a List
	// raw is the object's JSON, and read the kind that it is read as; empty for kinds that are not read.
	raw  []byte
	read *readable
}

// Fields is the object as its file has it, decoded anew from JSON: what a Go value cannot tell, such as a
// number that is explicitly 0, and fields that its type does not have are there. Numbers are int64 or
// float64. apiVersion and kind are those that the object was read as. A broken object is returned as far as
// it is JSON; of a key that stands twice the last one counts. The fields of a TrainJob that Overrides has are left
// out.
//
// It refuses kinds that this package does not read, and an object that has no JSON at all. Each call
// returns a new map, and the document keeps none.
func (d *Document) Fields() (map[string]any, error) {
	if d == nil {
		return nil, errNoText
	}
	if d.raw == nil {
		return nil, fmt.Errorf("%s: %s cannot be read as JSON; see what Decode found in it", d.File, d.ID)
	}
	var fields map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(d.raw, &fields); err != nil {
		return nil, fmt.Errorf("%s: %s: %w; see what Decode found in it", d.File, d.ID, err)
	}
	withoutOld(fields, d.read)
	if d.read.kind != patchKind {
		fields["apiVersion"], fields["kind"] = d.read.apiVersion(), d.read.kind
	}
	return fields, nil
}

// Position is where the field stands in the file: for a field or a map key the position of its key, for
// an item or element of a list the position of its first character, for the empty path that of the
// object. Of a field that the file does not have it is the position of the nearest parent that it has.
// Fields that come from a YAML merge key (<<) stand where they are written.
//
// It parses the document again when first asked, and keeps an index: a further position takes as many steps as
// the path has. It is safe to call from several goroutines.
func (d *Document) Position(p fieldpath.Path) fieldpath.Position {
	s, at := d.place()
	return s.Position(s.Find(at, p))
}

// Has reports whether the file has the field, be its value empty: what a Go value cannot tell from
// a field that is absent.
func (d *Document) Has(p fieldpath.Path) bool {
	s, at := d.place()
	return s.Value(at, p) != nil
}

// Sets reports whether the file has the field with another value than null, which the API server takes for none.
func (d *Document) Sets(p fieldpath.Path) bool {
	s, at := d.place()
	value := s.Value(at, p)
	return value != nil && source.KindOf(value, source.NewReading(s)) != "null"
}

// Format is how the document is written: JSON, or YAML.
func (d *Document) Format() Format {
	if s, _ := d.place(); s.JSON {
		return JSON
	}
	return YAML
}

// SourceLine is the text of a line of the document's file, without its line break; empty when the
// file has no such line. Lines count from 1 and end where YAML ends them.
func (d *Document) SourceLine(line int) string {
	s, _ := d.place()
	return s.File.Line(line)
}

// Release says that the caller is done with the document's places: what Position and Has keep of the text
// that they parsed takes a hundred times its room. It is forgotten when all objects of the text are
// released, of which a YAML List has many; asked again, they parse it again. It is safe to call from
// several goroutines.
func (d *Document) Release() {
	if s, _ := d.place(); s.InUse.Add(-1) <= 0 {
		s.Release()
	}
}

// errNoText says that a document was not made by this package, which knows the text of the others.
var errNoText = errors.New("the document has no text")

// place returns where the document's object stands: an empty text if nothing was decoded.
func (d *Document) place() (*source.Source, fieldpath.Path) {
	if d == nil || d.source == nil {
		return &source.Source{File: &source.File{}}, nil
	}
	return d.source, d.at
}

// Lines returns a function that gives the lines of a file by their numbers, as Document.SourceLine does,
// also where the file holds no document. It is safe to call from several goroutines.
func Lines(data []byte) func(line int) string { return (&source.File{Data: data}).Line }
