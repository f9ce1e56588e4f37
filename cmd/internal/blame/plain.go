package blame

import (
	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
)

// FieldStep returns the step to a field of an object without a schema.
func FieldStep(name string) fieldpath.Step {
	for i, c := range []byte(name) {
		isLetter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !isLetter && (i == 0 || c < '0' || c > '9') {
			return fieldpath.Key(name)
		}
	}
	return fieldpath.Field(name)
}

// ItemSteps returns the steps to n items of a list without a schema: by name, if each has its own,
// and otherwise by position. The function returns the name of an item, or "".
func ItemSteps(n int, name func(i int) string) []fieldpath.Step {
	steps := make([]fieldpath.Step, n)
	seen := map[string]bool{"": true}
	for i := range steps {
		text := name(i)
		if seen[text] {
			for j := range steps {
				steps[j] = fieldpath.Index(j)
			}
			return steps
		}
		seen[text], steps[i] = true, fieldpath.Item("name", text)
	}
	return steps
}

// plain assigns the lines of a node of an object without a schema.
func (w *lineWriter) plain(n *yaml.Node, path fieldpath.Path, first, end int) {
	switch {
	case len(n.Content) == 0:
		w.leaf(n, path, first, end)
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			line, until := n.Content[i].Line-1, end
			if i+2 < len(n.Content) {
				until = n.Content[i+2].Line - 1
			}
			at := path.Append(FieldStep(n.Content[i].Value))
			w.lines[line].Field = w.root.at(at)
			w.plain(n.Content[i+1], at, line, until)
		}
	default:
		steps := ItemSteps(len(n.Content), func(i int) string { return nameOf(n.Content[i]) })
		for i, item := range n.Content {
			until := end
			if i+1 < len(n.Content) {
				until = n.Content[i+1].Line - 1
			}
			w.plain(item, path.Append(steps[i]), item.Line-1, until)
		}
	}
}

// nameOf returns the name of an item.
func nameOf(item *yaml.Node) string {
	for i := 0; i+1 < len(item.Content) && item.Kind == yaml.MappingNode; i += 2 {
		if item.Content[i].Value == "name" && item.Content[i+1].ShortTag() == "!!str" {
			return item.Content[i+1].Value
		}
	}
	return ""
}
