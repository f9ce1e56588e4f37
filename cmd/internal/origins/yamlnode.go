package origins

import (
	"iter"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
)

// resolved returns the node that an alias stands for.
func resolved(n *yaml.Node) *yaml.Node {
	for n != nil && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// Pairs are the keys and the values of a map. Those of a merged map follow its own.
func Pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) { eachPair(n, map[string]bool{}, yield) }
}

func eachPair(n *yaml.Node, seen map[string]bool, yield func(key, value *yaml.Node) bool) bool {
	if n = resolved(n); n == nil || n.Kind != yaml.MappingNode {
		return true
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolved(n.Content[i+1])
		switch {
		case key.Tag == "!!merge" && value.Kind == yaml.SequenceNode:
			merged = append(merged, value.Content...)
		case key.Tag == "!!merge":
			merged = append(merged, value)
		case !seen[key.Value]:
			seen[key.Value] = true
			if !yield(key, value) {
				return false
			}
		}
	}
	for _, m := range merged {
		if !eachPair(m, seen, yield) {
			return false
		}
	}
	return true
}

// Entry returns the key and the value of a field, or nil. Kustomize ignores the case of a key.
func Entry(n *yaml.Node, name string) (key, value *yaml.Node) {
	for key, value := range Pairs(n) {
		if strings.EqualFold(key.Value, name) {
			return key, value
		}
	}
	return nil, nil
}

// within returns the value of a field within fields, or nil.
func within(n *yaml.Node, names ...string) *yaml.Node {
	for _, name := range names {
		_, n = Entry(n, name)
	}
	return n
}

// keyOf returns the first key of these names in a map, or the map itself.
func keyOf(n *yaml.Node, names ...string) *yaml.Node {
	for _, name := range names {
		if key, _ := Entry(n, name); key != nil {
			return key
		}
	}
	return n
}

// items returns the items of a list.
func items(n *yaml.Node) []*yaml.Node {
	if n = resolved(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	all := slices.Clone(n.Content)
	for i := range all {
		all[i] = resolved(all[i])
	}
	return all
}

// text returns the value of a scalar.
func text(n *yaml.Node) string {
	if n = resolved(n); n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// decoded returns a node as decoded JSON.
func decoded(n *yaml.Node) any {
	var value any
	if n == nil || n.Decode(&value) != nil {
		return nil
	}
	return asJSON(value)
}

// asJSON returns a value as a decoder of JSON would.
func asJSON(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = asJSON(v[key])
		}
	case []any:
		for i := range v {
			v[i] = asJSON(v[i])
		}
	case int:
		return float64(v)
	}
	return value
}

// source is a YAML text within a file: all of it, or a text of a kustomization.
type source struct {
	file      string
	documents []*yaml.Node
	in        *yaml.Node // the scalar that holds the text; nil for a whole file
}

// newSource reads the documents of a text. Documents after an error are left out.
func newSource(file string, data []byte, in *yaml.Node) *source {
	s := &source{file: file, in: in}
	for decoder := yaml.NewDecoder(strings.NewReader(string(data))); ; {
		var document yaml.Node
		if decoder.Decode(&document) != nil {
			return s
		}
		if len(document.Content) > 0 && document.Content[0].ShortTag() != "!!null" {
			s.documents = append(s.documents, document.Content[0])
		}
	}
}

// at returns the position of a node of the source.
func (s *source) at(n *yaml.Node) fieldpath.Position {
	switch {
	case n == nil:
		return fieldpath.Position{File: s.file}
	case s.in == nil:
		return fieldpath.Position{File: s.file, Line: n.Line, Column: n.Column}
	}
	at := fieldpath.Position{File: s.file, Line: s.in.Line, Column: s.in.Column}
	if s.in.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		at.Line, at.Column = at.Line+n.Line, 0
	}
	return at
}
