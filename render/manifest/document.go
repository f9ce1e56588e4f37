package manifest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// Document is one object of an input: a YAML document, a JSON value, or an item of a List.
type Document struct {
	// File is the file name passed to Decode.
	File string
	// ID is the object's kind, namespace and name in the input. Missing parts are empty.
	ID fieldpath.Object
	// APIVersion is the apiVersion in the input, even if the object was read as another version.
	APIVersion string
	// Object is a *trainer.TrainJob, *trainer.TrainingRuntime, *trainer.ClusterTrainingRuntime,
	// *jobset.JobSet, *corev1.ConfigMap, or the object of a further Kind. It is nil for other kinds
	// and for a broken object.
	Object any
	// Overrides holds the fields of a TrainJob that Trainer 2.2 removed, or nil without any. Object
	// holds the other fields.
	Overrides *legacy.Overrides
	// Earlier holds further fields of earlier releases, from a decoding by the API of one of these.
	Earlier legacy.Earlier
	// Broken reports that an object of a known kind has errors. It distinguishes a broken runtime
	// from a missing one.
	Broken bool
	// Findings holds the unknown fields, duplicate keys and wrong types of the object. Decode
	// returns them as well.
	Findings finding.List

	source *source.Source
	// from the root of the source to the object: nil, or the path of a List's item
	at fieldpath.Path
	// from an OptimizationJob to the template that this object is; nil for another object
	within fieldpath.Path
	// fields is the object as decoded JSON, and read its kind. Both are nil for other kinds. Never
	// change fields.
	fields map[string]any
	read   *readable
	api    *API
	claim  map[string]any // see Claim
	// origin finds the sources of a generated object; nil for a file of the user.
	origin Origin
}

// Origin returns the claims on a generated object's field in the sources of the object, in the
// order of writing, with their positions. The lines of the generated text help nobody: each build
// writes it again.
type Origin func(path fieldpath.Path) []merge.Claim

// API returns the API by which the document was decoded; it may be nil.
func (d *Document) API() *API {
	if d == nil {
		return nil
	}
	return d.api
}

// Claim returns a ResourceClaim or a ResourceClaimTemplate as decoded JSON, or nil for another
// kind. Never change it.
func (d *Document) Claim() map[string]any {
	if d == nil {
		return nil
	}
	return d.claim
}

// Fields returns the object of the file as decoded JSON. The map includes values that a Go struct
// loses, such as an explicit 0 and unknown fields. Numbers are int64 or float64. The fields
// apiVersion and kind name the decoded kind. For a broken object, Fields returns its JSON, with the
// last value of a duplicate key. After a decoding by an API, it omits the fields that the API
// lacks. Otherwise it omits the fields of a TrainJob in Overrides.
//
// It returns an error for other kinds, and for an object without a JSON form. Each call returns a
// new map.
func (d *Document) Fields() (map[string]any, error) {
	fields, err := d.ReadFields()
	return runtime.DeepCopyJSON(fields), err
}

// withoutOld removes these fields from a TrainJob. It changes a copy of spec.
func withoutOld(fields map[string]any, read *readable) {
	if read.group != trainerGroup || read.kind != trainer.TrainJobKind {
		return
	}
	if spec, ok := fields["spec"].(map[string]any); ok {
		spec = maps.Clone(spec)
		fields["spec"] = spec
		for _, name := range legacy.Fields() {
			delete(spec, name)
		}
	}
}

// ReadFields returns what Fields returns, without a copy of its values. Never change them. It is
// safe for concurrent use.
func (d *Document) ReadFields() (map[string]any, error) {
	if d == nil {
		return nil, errNoText
	}
	if d.fields == nil {
		return nil, fmt.Errorf("%s: %s cannot be read as JSON; see what Decode found in it", d.File,
			d.ID)
	}
	fields := maps.Clone(d.fields)
	if shape := d.api.shapeOf(d.read); shape != nil {
		fields = runtime.DeepCopyJSON(fields)
		shape.prune(fields, shape.fields, unstored)
	} else {
		withoutOld(fields, d.read)
	}
	if d.read.kind != patchKind {
		fields["apiVersion"], fields["kind"] = d.read.apiVersion(), d.read.kind
	}
	return fields, nil
}

// Position returns the position of a field in the file. It is the position of the key, or the first
// character of a list item. The empty path returns the position of the object. A missing field
// returns the position of its nearest parent. A field from a YAML merge key (<<) has its original
// position.
//
// The first call parses the document again and keeps an index. Later calls take as many steps as
// the path has. It is safe for concurrent use.
//
// After Trace, it is the position in the source of the object.
func (d *Document) Position(p fieldpath.Path) fieldpath.Position {
	if claims := d.History(p); len(claims) > 0 {
		return claims[len(claims)-1].Position
	}
	s, at := d.place()
	return s.Position(s.Find(at, p))
}

// History returns the claims on a generated object's field in the sources of the object: every
// value that it had. It returns nil for a file of the user.
func (d *Document) History(p fieldpath.Path) []merge.Claim {
	if d == nil || d.origin == nil {
		return nil
	}
	return d.origin(slices.Concat(d.within, p))
}

// Has reports whether the file has the field, even with an empty value, which a Go value does not
// show.
func (d *Document) Has(p fieldpath.Path) bool {
	s, at := d.place()
	return s.Value(at, p) != nil
}

// Sets reports whether the file sets the field to a value other than null. The API server treats
// null as unset.
func (d *Document) Sets(p fieldpath.Path) bool {
	s, at := d.place()
	value := s.Value(at, p)
	return value != nil && source.KindOf(value, source.NewReading(s)) != "null"
}

// Format returns the format of the document.
func (d *Document) Format() Format {
	if s, _ := d.place(); s.JSON {
		return JSON
	}
	return YAML
}

// Trace makes Position return positions in the sources of a generated object. It also moves the
// document's findings there.
func (d *Document) Trace(o Origin) {
	if d == nil || o == nil {
		return
	}
	d.origin = o
	for i := range d.Findings {
		f := &d.Findings[i]
		f.Position = d.Position(f.Path)
		for c := range f.Claims {
			f.Claims[c].Position = d.Position(f.Claims[c].At)
		}
	}
}

// Text returns a scalar of the file as it is written there, without quotes. It returns false for a
// missing field, a map and a list.
func (d *Document) Text(p fieldpath.Path) (string, bool) {
	s, at := d.place()
	value := s.Value(at, p)
	if value == nil {
		return "", false
	}
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	return value.Value, value.Kind == yaml.ScalarNode
}

// Release frees the index of Position and Has, which takes a hundred times the memory of the text.
// The index is freed once all objects of the text are released; a YAML List has many. Later calls
// parse the text again. It is safe for concurrent use.
func (d *Document) Release() {
	if s, _ := d.place(); s.InUse.Add(-1) <= 0 {
		s.Release()
	}
}

// errNoText is the error of a document that this package did not create.
var errNoText = errors.New("the document has no text")

// place returns the source and the path of the document's object, or an empty source.
func (d *Document) place() (*source.Source, fieldpath.Path) {
	if d == nil || d.source == nil {
		return &source.Source{File: &source.File{}}, nil
	}
	return d.source, d.at
}

// Lines returns a function that returns the lines of a file by number, without their line breaks,
// or "" for a missing line. Lines count from 1 and end by the rules of YAML. The function is safe
// for concurrent use.
func Lines(data []byte) func(line int) string { return (&source.File{Data: data}).Line }

// Content returns the object of the text as JSON does: with float64 or int64 for numbers. Unlike
// Fields, it works for a document of any kind.
//
// It returns an error for text that is not YAML or JSON.
func (d *Document) Content() (map[string]any, error) {
	s, at := d.place()
	n := s.Value(at, nil)
	if n == nil {
		return nil, errNoText
	}
	tree, _, err := source.NewReading(s).Tree(n)
	content, ok := tree.(map[string]any)
	if !ok {
		return nil, errors.Join(errNoText, err)
	}
	return content, nil
}
