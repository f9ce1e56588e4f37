package manifest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/manifest/internal/encode"
	"github.com/trainweld/trainweld/manifest/internal/source"
)

// region is the text of one field: its lines from start up to end, exclusively.
type region struct {
	name       string
	key, value *yaml.Node
	start, end int // line indexes of the source, from 0
	head       []string
}

// yaml rewrites the lines of the fields.
func (w *rewriter) yaml() ([]Edit, error) {
	_, parent := w.node(w.Parent)
	switch {
	case parent == nil, len(parent.Content) == 0:
		return nil, fmt.Errorf("%s is not there", w.Parent)
	case parent.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("%s: %w", w.Parent, errShared)
	case parent.Style&yaml.FlowStyle != 0:
		return nil, fmt.Errorf("%s: %w", w.Parent, errFlow)
	}
	w.first = parent.Content[0]
	s := w.document.source
	lines := linesOf(s.Text)
	var regions []*region
	for _, name := range w.Remove {
		key, value := w.Lookup(parent, name)
		if key == nil {
			continue
		}
		r := &region{name: name, key: key, value: value}
		if !slices.Contains(parent.Content, key) {
			return nil, fmt.Errorf("%s.%s: %w", w.Parent, name, errShared)
		}
		if !r.find(lines) {
			return nil, fmt.Errorf("%s.%s: %w", w.Parent, name, errFlow)
		}
		regions = append(regions, r)
	}
	if err := w.refuseAnchors(regions); err != nil {
		return nil, err
	}
	edits := w.edits(regions, lines, nil)
	if missing := w.missing(edits); len(missing) > 0 {
		edits = w.edits(regions, lines, missing)
	}
	return edits, nil
}

// linesOf splits a text into lines with their line breaks.
func linesOf(text []byte) [][]byte {
	var lines [][]byte
	for i := 0; i < len(text); {
		_, next := source.LineEnd(text, i)
		lines = append(lines, text[i:next])
		i = next
	}
	return lines
}

// find sets the lines of a field, and reports whether it has lines of its own. These are the lines indented deeper than its
// key, and the items of a list at its indentation.
func (r *region) find(lines [][]byte) bool {
	r.start = r.key.Line - 1
	indent := r.key.Column - 1
	if r.start >= len(lines) || len(strings.TrimLeft(string(lines[r.start]), " ")) != len(lines[r.start])-indent {
		return false
	}
	r.end = r.start + 1
	for i := r.end; i < len(lines); i++ {
		line := strings.TrimRight(string(lines[i]), " \t\r\n")
		body := strings.TrimLeft(line, " ")
		deep := len(line) - len(body)
		item := deep == indent && (body == "-" || strings.HasPrefix(body, "- "))
		switch {
		case body == "":
			continue
		case deep > indent || item:
			r.end = i + 1
			continue
		case strings.HasPrefix(body, "#") && deep == indent:
			continue // belongs to this field only if the field continues behind it
		}
		break
	}
	// Comments directly above the key belong to it.
	for i := r.start - 1; i >= 0; i-- {
		line := strings.TrimRight(string(lines[i]), " \t\r\n")
		if strings.TrimLeft(line, " ") != line[min(indent, len(line)):] || !strings.HasPrefix(line[min(indent, len(line)):], "#") {
			break
		}
		r.head = append(r.head, line[indent:])
	}
	slices.Reverse(r.head)
	return true
}

// refuseAnchors returns an error for removing values that other parts of the document refer to.
func (w *rewriter) refuseAnchors(regions []*region) error {
	inside := map[*yaml.Node]*region{}
	var collect func(n *yaml.Node, r *region)
	collect = func(n *yaml.Node, r *region) {
		inside[n] = r
		for _, child := range n.Content {
			collect(child, r)
		}
	}
	for _, r := range regions {
		collect(r.key, r)
		collect(r.value, r)
	}
	root, err := w.document.source.Nodes()
	if err != nil {
		return err
	}
	var walk func(n *yaml.Node) error
	walk = func(n *yaml.Node) error {
		if n.Kind == yaml.AliasNode && inside[n] == nil && inside[n.Alias] != nil {
			return fmt.Errorf("%s.%s: %w", w.Parent, inside[n.Alias].name, errAnchor)
		}
		for _, child := range n.Content {
			if err := walk(child); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(root)
}

// edits returns the edits of the regions. extra holds comments without a place.
func (w *rewriter) edits(regions []*region, lines [][]byte, extra []string) []Edit {
	offsets := make([]int, len(lines)+1)
	for i, line := range lines {
		offsets[i+1] = offsets[i] + len(line)
	}
	there := func(name string) bool {
		return slices.ContainsFunc(regions, func(r *region) bool { return r.name == name })
	}
	place := w.place(there)
	var edits []Edit
	for _, r := range regions {
		start, end := r.start, r.end
		var text []byte
		if r.name == place && w.value != nil {
			text = w.block(r, lines, extra)
			if w.used[r.key] {
				start -= len(r.head) // the new text has them
			}
		} else {
			start -= len(r.head)
			first := r.key == w.first
			if end < len(lines) && isBlankLine(lines[end]) && (first || start > 0 && isBlankLine(lines[start-1])) {
				end++ // one of two blank lines that would meet, or one before the first field
			}
		}
		base := w.document.source.Offset
		edits = append(edits, Edit{base + offsets[start], base + offsets[end], text})
	}
	return edits
}

func isBlankLine(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

// block returns the lines of the new field in place of a region.
func (w *rewriter) block(r *region, lines [][]byte, extra []string) []byte {
	indent := r.key.Column - 1
	b := &bytes.Buffer{}
	root, _ := w.document.source.Nodes() // Rewrite has parsed it
	out := &encode.Writer{Buffer: b, Lists: listIndent(root)}
	out.Indent(indent)
	out.Comments(extra, indent)
	out.Entries(&encode.Value{Kind: encode.Object, Entries: []encode.Member{{Key: w.Field, Value: w.value}}}, indent)
	text := b.Bytes()
	last := lines[r.end-1]
	if bytes.HasSuffix(last, []byte("\r\n")) {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	} else if !bytes.HasSuffix(last, []byte("\n")) {
		text = bytes.TrimRight(text, "\n")
	}
	return text
}

// listIndent returns the indentation of the first list below a node relative to its key.
func listIndent(root *yaml.Node) int {
	found := -1
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i, child := range n.Content {
			if found >= 0 {
				return
			}
			if n.Kind == yaml.MappingNode && i%2 == 1 && child.Kind == yaml.SequenceNode && child.Style&yaml.FlowStyle == 0 && len(child.Content) > 0 {
				if deep := child.Column - n.Content[i-1].Column; deep >= 0 {
					found = deep
					return
				}
			}
			walk(child)
		}
	}
	walk(root)
	return max(found, 0)
}

// missing returns the comments that the edits lose.
func (w *rewriter) missing(edits []Edit) []string {
	s := w.document.source
	local := make([]Edit, len(edits))
	for i, e := range edits {
		local[i] = Edit{e.Start - s.Offset, e.End - s.Offset, e.Text}
	}
	before, after := map[string]int{}, map[string]int{}
	root, err := s.Nodes()
	if err != nil {
		return nil
	}
	lines := comments(root, before)
	edited, _, err := source.ParseYAML(ApplyEdits(s.Text, local))
	if err != nil {
		return nil // decoding the text reports the error
	}
	comments(edited, after)
	var missing []string
	for _, line := range lines {
		if after[line] < before[line] {
			missing = append(missing, line)
			after[line]++
		}
	}
	return missing
}
