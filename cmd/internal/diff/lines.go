package diff

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/schema"
)

// Line is a line of an object as YAML.
type Line struct {
	// Text is the line with its indentation, without a line break.
	Text string
	// Path is the innermost field of the line. For a list that is one value, it is the list. For
	// the line with an item's merge key, it is the item.
	Path fieldpath.Path
}

// Lines returns both objects as lines of YAML. A missing object has no lines. An item starts with
// its merge key; the other fields are sorted by name. It returns an error for a value that YAML
// cannot hold.
func (p Pair) Lines() (old, new []Line, err error) {
	var before, after printer
	before.fields(p.typ, nil, -2, entries(p.Old))
	after.fields(p.typ, nil, -2, entries(p.New))
	return before.lines, after.lines, cmp.Or(before.err, after.err)
}

type printer struct {
	lines []Line
	err   error
}

// dash starts an item of a list.
const dash = "- "

// value writes a field with its key, or an item with its dash.
func (p *printer) value(t *schema.Type, path fieldpath.Path, indent int, lead string, v any) {
	fields, items, isItem := entries(v), asList(v), lead == dash
	if len(fields)+len(items) == 0 {
		for _, text := range p.scalar(lead, v) {
			p.line(path, indent, text)
		}
		return
	}
	first := len(p.lines)
	if !isItem {
		p.line(path, indent, p.key(lead)+":")
	}
	if len(fields) > 0 {
		p.fields(t, path, indent, fields)
	} else if isItem {
		p.items(t, path, indent+2, items)
	} else {
		p.items(t, path, indent, items)
	}
	if text := &p.lines[first].Text; isItem && len(*text) >= indent+len(dash) {
		*text = strings.Repeat(" ", indent) + dash + (*text)[indent+len(dash):]
	}
}

func (p *printer) line(path fieldpath.Path, indent int, text string) {
	if text != "" {
		text = strings.Repeat(" ", indent) + text
	}
	p.lines = append(p.lines, Line{text, path})
}

// fields writes the fields of an object, the merge key of an item first.
func (p *printer) fields(t *schema.Type, path fieldpath.Path, indent int, fields map[string]any) {
	key := ""
	if len(path) > 0 {
		key, _, _ = path[len(path)-1].Item()
	}
	if v, ok := fields[key]; ok && key != "" {
		p.value(t.Inner(key), path, indent+2, key, v)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != key || key == "" {
			p.value(t.Inner(name), path.Append(t.Step(name)), indent+2, name, fields[name])
		}
	}
}

// items writes the items of a list.
func (p *printer) items(t *schema.Type, path fieldpath.Path, indent int, items []any) {
	steps := itemSteps(t, items)
	for i, item := range items {
		at := path
		if steps != nil {
			at = path.Append(steps[i])
		}
		p.value(elemOf(t), at, indent, dash, item)
	}
}

func elemOf(t *schema.Type) *schema.Type {
	if t == nil {
		return nil
	}
	return t.Elem
}

// scalar returns the lines of a value without nested fields, after its key or dash.
func (p *printer) scalar(lead string, v any) []string {
	var wrapped any = map[string]any{lead: v}
	depth := 2
	if lead == dash {
		wrapped, depth = []any{v}, 0
	}
	var b bytes.Buffer
	// The outer key keeps the encoder from treating a field called status as the status of an
	// object.
	if err := manifest.Encode(&b, manifest.YAML, map[string]any{"x": wrapped}); err != nil {
		p.err = fmt.Errorf("diff: %w", err)
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")[1:]
	for i, line := range lines {
		lines[i] = line[min(depth, len(line)):]
	}
	return lines
}

// key returns a key in YAML syntax.
func (p *printer) key(name string) string {
	lines := p.scalar(name, map[string]any{})
	if len(lines) != 1 {
		// YAML needs another syntax for so long a key.
		p.err = fmt.Errorf("diff: the key %.20q… is too long to be written on one line", name)
		return name
	}
	return strings.TrimSuffix(lines[0], ": {}")
}
