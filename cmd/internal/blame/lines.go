package blame

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/runtimepatch"
	"github.com/trainweld/trainweld/schema"
)

// Line is one line of an object's YAML.
type Line struct {
	// Text is the line, without its end.
	Text string
	// Field is the field that the line shows. The first line of a list's item shows the item's
	// first field. The line of its merge key shows the item itself. Field is nil for apiVersion,
	// kind and a required null list, which no layer sets.
	Field *Field
	// Layer is the layer that set the field. It is "" for a line that only leads to others, unless
	// one layer set them all.
	Layer merge.Owner
	// Continued means that the line continues the value of the previous line.
	Continued bool
}

// write encodes the object, and finds the field of every line.
func (o *Object) write(object any, opts Options) error {
	var b bytes.Buffer
	if err := manifest.Encode(&b, manifest.YAML, object); err != nil {
		return err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(b.Bytes(), &document); err != nil {
		return fmt.Errorf("reading back what was encoded: %w", err)
	}
	w := lineWriter{text: strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n"), root: o.root,
		show: opts.ShowValues}
	w.lines = make([]Line, len(w.text))
	if opts.Plain {
		w.plain(document.Content[0], nil, 0, len(w.text))
	} else {
		w.value(document.Content[0], o.typ, nil, 0, len(w.text))
	}
	for i, line := range w.lines {
		line.Text = w.text[i]
		if f := line.Field; f != nil && !(opts.Plain && f.Claims == nil && f.replaces()) {
			line.Layer = f.layer()
		}
		if !w.dropped[i] {
			o.lines = append(o.lines, line)
		}
	}
	return nil
}

// lineWriter assigns lines to fields.
type lineWriter struct {
	text    []string
	lines   []Line
	dropped map[int]bool // lines of a masked value after its first one
	root    *Field
	show    bool
}

// value assigns the lines of a node, which start at the line of its key and end before end. It does
// nothing for a field outside the schema.
func (w *lineWriter) value(n *yaml.Node, t *schema.Type, path fieldpath.Path, first, end int) {
	if t != nil && t.Kind == schema.Untyped {
		t = typeFromJSON(t, n)
	}
	switch {
	case t == nil:
		return
	case n.Kind == yaml.MappingNode && t.Merges():
		w.mapping(n, t, path, end)
	case n.Kind == yaml.SequenceNode && t.Merges():
		w.items(n, t, path, end)
	default:
		w.leaf(n, path, first, end)
	}
}

// typeFromJSON returns the merge type of a value without a Go type, according to its JSON.
func typeFromJSON(t *schema.Type, n *yaml.Node) *schema.Type {
	switch n.Kind {
	case yaml.MappingNode:
		return t.Object
	case yaml.SequenceNode:
		return t.List
	default:
		return t
	}
}

// mapping assigns the lines of the entries of a struct or a map.
func (w *lineWriter) mapping(n *yaml.Node, t *schema.Type, path fieldpath.Path, end int) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, first := n.Content[i].Value, n.Content[i].Line-1
		until := end
		if i+2 < len(n.Content) {
			until = n.Content[i+2].Line - 1
		}
		child, at := t.Inner(name), path.Append(t.Step(name))
		if child != nil {
			w.lines[first].Field = w.root.at(at)
		}
		w.value(n.Content[i+1], child, at, first, until)
		if v := n.Content[i+1]; child != nil && w.lines[first].Field == nil &&
			len(v.Content) == 0 && (v.Kind == yaml.MappingNode || v.Value == "") {
			// a required empty value comes with the struct around it
			w.lines[first].Field = w.root.at(path)
		}
	}
}

// items assigns the lines of the items of a list-map or the elements of a set.
func (w *lineWriter) items(n *yaml.Node, t *schema.Type, path fieldpath.Path, end int) {
	seen := map[fieldpath.Step]bool{}
	for i, item := range n.Content {
		first, until := item.Line-1, end
		if i+1 < len(n.Content) {
			until = n.Content[i+1].Line - 1
		}
		if t.Kind == schema.Set {
			w.leaf(item, path.Append(fieldpath.Element(item.Value)), first, until)
			continue
		}
		step, line := stepByKeys(item, t)
		at := path.Append(step)
		if seen[step] {
			at = path.Append(fieldpath.Index(i))
		}
		w.value(item, t.Elem, at, first, until)
		if !seen[step] {
			w.lines[line].Field = w.root.at(at)
		}
		seen[step] = true
	}
}

// stepByKeys returns the step to an item by its merge keys, and the line of the first key.
func stepByKeys(item *yaml.Node, t *schema.Type) (step fieldpath.Step, line int) {
	keys, line := map[string]any{}, item.Line-1
	for i := len(item.Content) - 2; i >= 0; i -= 2 {
		if name := item.Content[i].Value; name == t.Key || slices.Contains(t.Keys, name) {
			keys[name], line = scalarOf(item.Content[i+1]), item.Content[i].Line-1
		}
	}
	step, ok := t.Item(keys)
	if !ok {
		step = fieldpath.Item(t.Key, "")
	}
	return step, line
}

// scalarOf returns a scalar as JSON decodes it.
func scalarOf(n *yaml.Node) any {
	var value any
	if n.Decode(&value) != nil {
		return n.Value
	}
	if i, ok := value.(int); ok {
		return int64(i)
	}
	return value
}

// leaf assigns all lines of a value to its field, and masks a secret value.
func (w *lineWriter) leaf(n *yaml.Node, path fieldpath.Path, first, end int) {
	field := w.root.at(path)
	for i := first; i < end; i++ {
		w.lines[i].Field, w.lines[i].Continued = field, i > first
	}
	var layer merge.Owner
	if field != nil {
		layer = field.layer()
	}
	if !w.show {
		w.mask(n, layer, path, end)
	}
}

// mask masks possible passwords in a value whose lines end before end.
func (w *lineWriter) mask(n *yaml.Node, layer merge.Owner, path fieldpath.Path, end int) {
	if !runtimepatch.IsSecretOf(layer, path) {
		for i, child := range n.Content {
			step, until := fieldpath.Index(i), end
			if n.Kind == yaml.MappingNode {
				if i%2 == 0 {
					continue // a key
				}
				step = fieldpath.Key(n.Content[i-1].Value)
			}
			if i+1 < len(n.Content) {
				until = n.Content[i+1].Line - 1
			}
			w.mask(child, layer, path.Append(step), until)
		}
		return
	}
	line := []rune(w.text[n.Line-1])
	w.text[n.Line-1] = string(line[:n.Column-1]) +
		strconv.Quote(finding.FormatValue(path, n.Value, false))
	for i := n.Line; i < end; i++ {
		if w.dropped == nil {
			w.dropped = map[int]bool{}
		}
		w.dropped[i] = true
	}
}

// replaces reports whether a field within it replaced another value. Then the layer of this value
// did not add what is around it.
func (f *Field) replaces() bool {
	for field := range f.All() {
		if field.Overrides() {
			return true
		}
	}
	return false
}

// layer returns the layer that set the field, or the only layer of all fields within it.
func (f *Field) layer() merge.Owner {
	if at := f.InForce(); at >= 0 {
		return f.Claims[at].Owner
	}
	one := merge.Owner("")
	for field := range f.All() {
		at := field.Claims[field.InForce()]
		switch {
		case at.Value == nil:
		case one == "":
			one = at.Owner
		case one != at.Owner:
			return ""
		}
	}
	return one
}

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
