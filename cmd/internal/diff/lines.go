package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
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
	// MovedAway lines are the whole item at its old place.
	MovedAway
	// MovedHere lines are the unchanged lines of a moved item at its new place.
	MovedHere
	// Was lines are the old lines of a moved item, repeated at its new place. They belong to
	// neither object.
	Was
)

// Line is a line of a YAML document with two objects. The old object has the lines of Op Same,
// OldOnly and MovedAway. The new object has the lines of Op Same, NewOnly and MovedHere. An item
// starts with its merge key; the other fields are sorted by name.
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
	s, err := newSides(old, new, opts, decodePrinted)
	if err != nil {
		return nil, err
	}
	p := &printer{}
	switch {
	case s.old == nil && s.new == nil:
		return nil, nil
	case s.old == nil:
		p.fields(NewOnly, s.typ, nil, 0, "", entries(s.new))
	case s.new == nil:
		p.fields(OldOnly, s.typ, nil, 0, "", entries(s.old))
	default:
		p.bothFields(s.typ, nil, 0, "", entries(s.old), entries(s.new))
	}
	return p.lines, p.err
}

type printer struct {
	lines []Line
	moved bool // within an item in its new place
	err   error
}

// op returns the Op within an item in its new place.
func (p *printer) op(op Op) Op {
	if p.moved {
		switch op {
		case Same:
			return MovedHere
		case OldOnly:
			return Was
		}
	}
	return op
}

func (p *printer) line(op Op, path fieldpath.Path, indent int, text string) {
	if text != "" {
		text = strings.Repeat(" ", indent) + text
	}
	p.lines = append(p.lines, Line{p.op(op), text, path})
}

// one writes a field after its key, or an item after a dash.
func (p *printer) one(op Op, t *schema.Type, path fieldpath.Path, indent int, lead string, v any) {
	inner := indent
	if lead == dash {
		inner += 2
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			break
		}
		if lead == dash {
			p.dashed(indent, func() { p.fields(op, t, path, inner, keyField(path), v) })
		} else {
			p.line(op, path, indent, p.key(lead)+":")
			p.fields(op, t, path, indent+2, "", v)
		}
		return
	case []any:
		if len(v) == 0 {
			break
		}
		items := func() {
			paths := itemPaths(t, path, v)
			for i, item := range v {
				p.one(op, elemOf(t), paths[i], inner, dash, item)
			}
		}
		if lead == dash {
			p.dashed(indent, items)
		} else {
			p.line(op, path, indent, p.key(lead)+":")
			items()
		}
		return
	}
	for _, text := range p.scalar(lead, v) {
		p.line(op, path, indent, text)
	}
}

// dash starts an item of a list.
const dash = "- "

// dashed writes lines with an extra indentation of two, and puts the dash into the first one.
func (p *printer) dashed(indent int, write func()) {
	first := len(p.lines)
	write()
	if text := &p.lines[first].Text; len(*text) >= indent+len(dash) {
		*text = strings.Repeat(" ", indent) + dash + (*text)[indent+len(dash):]
	}
}

// fields writes the fields of an object, the given one first.
func (p *printer) fields(op Op, t *schema.Type, path fieldpath.Path, indent int, first string,
	fields map[string]any) {
	if value, ok := fields[first]; ok {
		p.one(op, t.Inner(first), path, indent, first, value)
	}
	for _, name := range unionOfKeys(fields, nil) {
		if name != first {
			p.one(op, t.Inner(name), path.Append(t.Step(name)), indent, name, fields[name])
		}
	}
}

// both writes a field or an item of both objects.
func (p *printer) both(t *schema.Type, path fieldpath.Path, indent int, lead string, old, new any) {
	inner := indent
	if lead == dash {
		inner += 2
	}
	switch {
	case reflect.DeepEqual(old, new):
		p.one(Same, t, path, indent, lead, new)
		return
	case (t == nil || t.Merges()) && len(entries(old)) > 0 && len(entries(new)) > 0:
		first := ""
		if lead == dash {
			first = keyField(path)
			if first == "" || entries(old)[first] == nil || entries(new)[first] == nil {
				break // no common first field
			}
			p.dashed(indent, func() {
				p.bothFields(t, path, inner, first, entries(old), entries(new))
			})
			return
		}
		p.line(Same, path, indent, p.key(lead)+":")
		p.bothFields(t, path, indent+2, first, entries(old), entries(new))
		return
	case lead != dash && len(asList(old)) > 0 && len(asList(new)) > 0:
		p.line(Same, path, indent, p.key(lead)+":")
		p.items(t, path, indent, asList(old), asList(new))
		return
	case isText(old) && isText(new):
		p.text(path, indent, lead, old, new)
		return
	}
	p.one(OldOnly, t, path, indent, lead, old)
	p.one(NewOnly, t, path, indent, lead, new)
}

func (p *printer) bothFields(t *schema.Type, path fieldpath.Path, indent int, first string, old,
	new map[string]any) {
	write := func(name string, at fieldpath.Path) {
		switch typ := t.Inner(name); {
		case old[name] == nil:
			p.one(NewOnly, typ, at, indent, name, new[name])
		case new[name] == nil:
			p.one(OldOnly, typ, at, indent, name, old[name])
		default:
			p.both(typ, at, indent, name, old[name], new[name])
		}
	}
	if first != "" {
		write(first, path)
	}
	for _, name := range unionOfKeys(old, new) {
		if name != first {
			write(name, path.Append(t.Step(name)))
		}
	}
}

// items writes the items of two lists. It matches them by key, or by value if the list has no keys.
func (p *printer) items(t *schema.Type, path fieldpath.Path, indent int, old, new []any) {
	pairs := align(t, old, new)
	keyed := pairs != nil
	if !keyed {
		pairs = common(texts(old), texts(new))
	}
	elem := elemOf(t)
	for _, pair := range pairs {
		at := path
		if keyed {
			at = path.Append(pair.step)
		}
		switch {
		case pair.old == NoItem:
			p.one(NewOnly, elem, at, indent, dash, new[pair.new])
		case pair.new == NoItem && pair.moved && p.moved:
			// The outer item's lines already show the old place of an item within a moved item.
		case pair.new == NoItem && pair.moved:
			p.one(MovedAway, elem, at, indent, dash, old[pair.old])
		case pair.new == NoItem:
			p.one(OldOnly, elem, at, indent, dash, old[pair.old])
		default:
			outer := p.moved
			p.moved = p.moved || pair.moved
			p.both(elem, at, indent, dash, old[pair.old], new[pair.new])
			p.moved = outer
		}
	}
}

// text writes two strings of several lines, line by line.
func (p *printer) text(path fieldpath.Path, indent int, lead string, old, new any) {
	a, b := p.scalar(lead, old), p.scalar(lead, new)
	for _, pair := range common(a, b) {
		switch {
		case pair.old == NoItem:
			p.line(NewOnly, path, indent, b[pair.new])
		case pair.new == NoItem:
			p.line(OldOnly, path, indent, a[pair.old])
		default:
			p.line(Same, path, indent, a[pair.old])
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

// itemPaths returns the paths of a list's items, or the path of the list if it is one value.
func itemPaths(t *schema.Type, path fieldpath.Path, items []any) []fieldpath.Path {
	keys := itemSteps(t, items)
	paths := make([]fieldpath.Path, len(items))
	for i := range paths {
		paths[i] = path
		if keys != nil {
			paths[i] = path.Append(keys[i])
		}
	}
	return paths
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
