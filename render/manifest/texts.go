package manifest

import (
	"cmp"
	"errors"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// Texts finds the objects of a file by their positions, to change their text. It decodes no object, and also finds an object that
// [Decode] rejects.
type Texts struct {
	sources []*source.Source
}

// NewTexts returns the objects of a file with its name and its content.
func NewTexts(file string, data []byte) *Texts {
	t, f := &Texts{}, &source.File{Name: file, Data: data}
	for c := range source.Split(data) {
		s := c.Source(f)
		if c.Err != nil {
			continue
		}
		if c.CheckJSON() != nil {
			t.sources = append(t.sources, s)
			continue
		}
		for v := range source.JSONValues(s) {
			t.json(v, origin{})
		}
	}
	return t
}

// json adds the objects of a JSON value.
func (t *Texts) json(s *source.Source, from origin) {
	if s.Text[0] == '[' && from.lists == 0 {
		for e := range source.Elements(s) {
			t.json(e, origin{lists: 1})
		}
		return
	}
	if head, items, ok := source.Items(s); ok && from.lists <= maxLists {
		if root, err := head.Nodes(); err == nil {
			id := identityOf(source.NewReading(head), root).inList(from.identity)
			if is, _ := isList(id, itemsOf(items), nil); is {
				for e := range items {
					t.json(e, origin{id.item(), from.lists + 1})
				}
				return
			}
		}
	}
	t.sources = append(t.sources, s)
}

// At returns the object whose text holds a position of the file, or nil. It has the ID of the text and no Object.
func (t *Texts) At(p fieldpath.Position) *Document {
	if t == nil {
		return nil
	}
	next, _ := slices.BinarySearchFunc(t.sources, p, func(s *source.Source, p fieldpath.Position) int {
		if s.Line < p.Line || s.Line == p.Line && s.Column <= p.Column {
			return -1
		}
		return 1
	})
	if next == 0 {
		return nil
	}
	s := t.sources[next-1]
	root, err := s.Nodes()
	if err != nil || root == nil {
		return nil
	}
	return objectAt(s, source.NewReading(s), root, nil, origin{}, p)
}

// objectAt returns the object at a position in the value of a node.
func objectAt(s *source.Source, r *source.Reading, n *yaml.Node, at fieldpath.Path, from origin, p fieldpath.Position) *Document {
	n = source.Target(n)
	if n.Kind == yaml.SequenceNode && from.lists == 0 {
		return itemAt(s, r, n, at, origin{lists: 1}, p)
	}
	if n.Kind != yaml.MappingNode {
		return nil
	}
	id := identityOf(r, n).inList(from.identity)
	_, items := r.Lookup(n, "items")
	if is, _ := isList(id, nodeItems(items), nil); is && items != nil && from.lists <= maxLists {
		return itemAt(s, r, source.Target(items), at.Append(fieldpath.Field("items")), origin{id.item(), from.lists + 1}, p)
	}
	return &Document{File: s.File.Name, ID: id.object(), APIVersion: id.apiVersion, source: s, at: at}
}

// itemAt returns the object at a position in a list.
func itemAt(s *source.Source, r *source.Reading, list *yaml.Node, at fieldpath.Path, from origin, p fieldpath.Position) *Document {
	if list.Kind != yaml.SequenceNode {
		return nil
	}
	next, _ := slices.BinarySearchFunc(list.Content, p, func(n *yaml.Node, p fieldpath.Position) int {
		start := s.Position(n)
		if cmp.Or(cmp.Compare(start.Line, p.Line), cmp.Compare(start.Column, p.Column)) <= 0 {
			return -1
		}
		return 1
	})
	if next == 0 {
		return nil
	}
	return objectAt(s, r, list.Content[next-1], at.Append(fieldpath.Index(next-1)), from, p)
}

// Content returns the object of the text as JSON does: with float64 or int64 for numbers. Unlike Fields, it works for a document of
// [Texts], of any kind.
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
