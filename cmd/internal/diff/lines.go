package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/schema"
)

// Op is the object that a Line belongs to. The zero Op is invalid.
type Op uint8

const (
	// Same lines are in both objects.
	Same Op = iota + 1
	// OldOnly lines are in the old object only.
	OldOnly
	// NewOnly lines are in the new object only.
	NewOnly
)

// Line is a line of a YAML document with two objects. The old object has the lines of Op Same and
// OldOnly. The new object has the lines of Op Same and NewOnly. A moved item is in both places. An
// item starts with its merge key; the other fields are sorted by name.
type Line struct {
	Op Op
	// Text is the line with its indentation, without a line break.
	Text string
	// Path is the innermost field of the line. For a list that is one value, it is the list. For
	// the line with an item's merge key, it is the item.
	Path fieldpath.Path
}

// Lines returns two objects as one YAML document, with equal fields and items of one merge key
// together. Either object may be nil. As package manifest does, it omits the status and empty
// structs without information. It returns errors as Compare does, except for nil.
func Lines(old, new any, opts Options) ([]Line, error) {
	s, err := newSides(old, new, opts)
	if err != nil {
		return nil, err
	}
	p := &printer{}
	p.fields(node{typ: s.typ, indent: -2, old: s.old, new: s.new})
	return p.lines, p.err
}

type printer struct {
	lines []Line
	err   error
}

// node is a field or an item of one or both objects, to be written.
type node struct {
	// op is Same, OldOnly or NewOnly, for all of the node. It is 0 if the lines must be compared.
	op     Op
	typ    *schema.Type
	path   fieldpath.Path
	indent int
	lead   string // the key of a field, or dash
	old    any
	new    any
}

// dash starts an item of a list.
const dash = "- "

func (p *printer) line(op Op, path fieldpath.Path, indent int, text string) {
	if op == 0 {
		op = Same
	}
	if text != "" {
		text = strings.Repeat(" ", indent) + text
	}
	p.lines = append(p.lines, Line{op, text, path})
}

func (p *printer) write(n node) {
	if n.op == 0 && reflect.DeepEqual(n.old, n.new) {
		n.op = Same
	}
	if n.op == 0 && !n.mixes() {
		old, new := n, n
		old.op, old.new = OldOnly, nil
		new.op, new.old = NewOnly, nil
		p.write(old)
		p.write(new)
		return
	}
	value := n.new
	if n.op == OldOnly {
		value = n.old
	}
	switch {
	case len(entries(value)) > 0:
		p.nested(n, p.fields)
	case len(asList(value)) > 0:
		p.nested(n, p.items)
	case n.op == 0:
		p.text(n)
	default:
		for _, text := range p.scalar(n.lead, value) {
			p.line(n.op, n.path, n.indent, text)
		}
	}
}

// mixes reports whether two different values are written as one, with the lines that they share.
// An item needs a merge key on both sides, which is its first line.
func (n node) mixes() bool {
	old, new := entries(n.old), entries(n.new)
	switch {
	case len(old) > 0 && len(new) > 0:
		key := keyField(n.path)
		return (n.typ == nil || n.typ.Merges()) &&
			(n.lead != dash || key != "" && old[key] != nil && new[key] != nil)
	case len(asList(n.old)) > 0 && len(asList(n.new)) > 0:
		return n.lead != dash
	default:
		return isText(n.old) && isText(n.new)
	}
}

// nested writes a field with its key, or puts the dash into the first line of an item.
func (p *printer) nested(n node, write func(node)) {
	if n.lead != dash {
		p.line(n.op, n.path, n.indent, p.key(n.lead)+":")
		write(n)
		return
	}
	first := len(p.lines)
	write(n)
	if text := &p.lines[first].Text; len(*text) >= n.indent+len(dash) {
		*text = strings.Repeat(" ", n.indent) + dash + (*text)[n.indent+len(dash):]
	}
}

// fields writes the fields of an object, the merge key of an item first.
func (p *printer) fields(n node) {
	old, new := entries(n.old), entries(n.new)
	write := func(name string, path fieldpath.Path) {
		op := n.op
		switch {
		case op == 0 && old[name] == nil:
			op = NewOnly
		case op == 0 && new[name] == nil:
			op = OldOnly
		}
		p.write(node{op, n.typ.Inner(name), path, n.indent + 2, name, old[name], new[name]})
	}
	names, first := unionOfKeys(old, new), -1
	if n.lead == dash {
		first = slices.Index(names, keyField(n.path))
	}
	if first >= 0 {
		write(names[first], n.path)
	}
	for i, name := range names {
		if i != first {
			write(name, n.path.Append(n.typ.Step(name)))
		}
	}
}

// items writes the items of lists. It matches them by key, or by value if the list has no keys.
func (p *printer) items(n node) {
	old, new := asList(n.old), asList(n.new)
	pairs := align(n.typ, old, new)
	keyed := pairs != nil
	switch {
	case keyed:
	case n.op == 0:
		pairs = common(texts(old), texts(new))
	default: // there is nothing to match
		pairs = byPosition(len(old), len(new))
	}
	for _, pair := range pairs {
		item := node{op: n.op, typ: elemOf(n.typ), path: n.path, indent: n.indent, lead: dash}
		if n.lead == dash {
			item.indent += 2
		}
		if keyed {
			item.path = n.path.Append(pair.step)
		}
		switch {
		case pair.new == NoItem:
			item.op, item.old = OldOnly, old[pair.old]
		case pair.old == NoItem || pair.moved:
			item.op, item.new = NewOnly, new[pair.new]
		default:
			item.old, item.new = old[pair.old], new[pair.new]
		}
		p.write(item)
	}
}

// text writes two strings of several lines, line by line.
func (p *printer) text(n node) {
	a, b := p.scalar(n.lead, n.old), p.scalar(n.lead, n.new)
	for _, pair := range common(a, b) {
		switch {
		case pair.old == NoItem:
			p.line(NewOnly, n.path, n.indent, b[pair.new])
		case pair.new == NoItem:
			p.line(OldOnly, n.path, n.indent, a[pair.old])
		default:
			p.line(Same, n.path, n.indent, a[pair.old])
		}
	}
}

func isText(v any) bool { s, ok := v.(string); return ok && strings.Contains(s, "\n") }

// texts encodes values as strings. Equal values have equal strings.
func texts(values []any) []string {
	all := make([]string, len(values))
	for i, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			text = fmt.Append(nil, v) // a value decoded from JSON always has an encoding
		}
		all[i] = string(text)
	}
	return all
}

func elemOf(t *schema.Type) *schema.Type {
	if t == nil {
		return nil
	}
	return t.Elem
}

// keyField returns the merge key of the path's item, or "".
func keyField(path fieldpath.Path) string {
	if len(path) == 0 {
		return ""
	}
	key, _, _ := path[len(path)-1].Item()
	return key
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
