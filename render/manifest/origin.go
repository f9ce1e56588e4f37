package manifest

import (
	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
)

// Origin returns the position of a generated object's field in the source of the object. The lines of the generated text help
// nobody: each build writes it again.
type Origin func(d *Document, path fieldpath.Path) fieldpath.Position

// Trace makes Position return positions in the sources of a generated object. It also moves the document's findings there. The
// Origin must not call Position on the same document.
func (d *Document) Trace(o Origin) {
	if d == nil || o == nil {
		return
	}
	d.origin = o
	for i := range d.Findings {
		f := &d.Findings[i]
		f.Position = o(d, f.Path)
		for c := range f.Claims {
			f.Claims[c].Position = o(d, f.Claims[c].Source)
		}
	}
}

// Text returns a scalar of the file as it is written there, without quotes. It returns false for a missing field, a map and a
// list.
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
