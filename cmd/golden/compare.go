package golden

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	linediff "github.com/rogpeppe/go-internal/diff"
	node "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/diff"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/manifest"
)

// wantedObject is an object in a file of want.
type wantedObject struct {
	key  objectKey
	text string
}

var errAliases = errors.New("has aliases")

// wantedObjects returns the objects of a file. It rejects aliases, which could expand it to any
// size.
func wantedObjects(data []byte) ([]wantedObject, error) {
	var objects []wantedObject
	var hasAlias func(n *node.Node) bool
	hasAlias = func(n *node.Node) bool {
		return n.Kind == node.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
	}
	for _, text := range strings.Split("\n"+string(data), "\n---\n") {
		var o unstructured.Unstructured
		if strings.TrimSpace(text) == "" {
			continue
		}
		var document node.Node
		if strings.Contains(text, "*") &&
			(node.Unmarshal([]byte(text), &document) != nil || hasAlias(&document)) {
			return nil, errAliases
		}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			return nil, err
		}
		objects = append(objects, wantedObject{objectKeyOf(&o), text})
	}
	return objects, nil
}

// as returns the object as a value of the other's type. With strict, it returns an error for a
// field that the type lacks.
func (w wantedObject) as(other any, strict bool) (any, error) {
	if _, ok := other.(*unstructured.Unstructured); ok {
		o := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(w.text))
		if err != nil {
			return nil, err
		}
		return o, o.UnmarshalJSON(data)
	}
	value := reflect.New(reflect.TypeOf(other).Elem()).Interface()
	if tree.MayExceed([]byte(w.text)) {
		var fields any
		if err := yaml.Unmarshal([]byte(w.text), &fields); err != nil {
			return nil, err
		}
		if err := tree.Decodable(fields, reflect.TypeOf(value)); err != nil {
			return nil, err
		}
	}
	if strict {
		return value, yaml.UnmarshalStrict([]byte(w.text), value)
	}
	return value, yaml.Unmarshal([]byte(w.text), value)
}

// comparedObjects are the objects of a file of want and the rendered objects, by key.
type comparedObjects struct {
	keys []objectKey
	old  map[objectKey]*wantedObject
	new  map[objectKey]*renderedObject
}

func pair(old []wantedObject, new []renderedObject) comparedObjects {
	p := comparedObjects{old: map[objectKey]*wantedObject{}, new: map[objectKey]*renderedObject{}}
	for i, k := range keysOf(new, func(o renderedObject) objectKey {
		return objectKeyOf(o.value)
	}) {
		p.keys = append(p.keys, k)
		p.new[k] = &new[i]
	}
	for i, k := range keysOf(old, func(o wantedObject) objectKey { return o.key }) {
		if p.new[k] == nil {
			p.keys = append(p.keys, k)
		}
		p.old[k] = &old[i]
	}
	return p
}

// explain returns the differences between the objects of a file and the rendered ones, by merge
// key. It names the layers that set the fields. It also reports whether values are masked.
func explain(opts Options, old []byte, new []renderedObject) (lines []Line, isMasked bool) {
	objects, err := wantedObjects(old)
	if err != nil {
		return []Line{{' ', "the file is not valid YAML, or has aliases"}}, false
	}
	all := pair(objects, new)
	for _, k := range all.keys {
		o, n := all.old[k], all.new[k]
		switch {
		case o == nil:
			owners, err := n.owners()
			if err != nil {
				lines = append(
					lines, Line{'+', fmt.Sprintf("%s is new, from an unknown layer: %v", k, err)})
				continue
			}
			lines = append(lines, Line{'+', k.String() + " is new" + by(n.place, owners.Of(nil))})
		case n == nil:
			lines = append(lines, Line{'-', k.String() + " is gone"})
		default:
			changed, hides := explainObject(opts, k, *o, *n)
			lines, isMasked = append(lines, changed...), isMasked || hides
		}
	}
	if lines == nil {
		lines = []Line{
			{' ', "the objects are equal, but the text differs: another order, or comments"}}
	}
	return lines, isMasked
}

func explainObject(opts Options, k objectKey, old wantedObject,
	new renderedObject) (lines []Line, isMasked bool) {
	before, err := old.as(new.value, false)
	if err != nil {
		return []Line{{' ', fmt.Sprintf("%s cannot be read: %v", k, err)}}, false
	}
	owners, err := new.owners()
	if err != nil {
		return []Line{{' ', fmt.Sprintf("%s: %v", k, err)}}, false
	}
	// The file records no owners, so use the rendered object's owners.
	changes, err := diff.Compare(before, new.value,
		diff.Options{Mask: !opts.ShowValues, Before: owners, After: owners})
	if err != nil {
		return []Line{{' ', fmt.Sprintf("%s: %v", k, err)}}, false
	}
	if len(changes) == 0 {
		if _, err := old.as(new.value, true); err != nil {
			return []Line{{' ', fmt.Sprintf("%s: %v", k, err)}}, false
		}
		return nil, false
	}
	changes.Attribute(nil, owners)
	lines = []Line{{' ', k.String()}}
	for i, c := range changes {
		if i == mostChanges {
			more := fmt.Sprintf("  and %d more", len(changes)-mostChanges)
			return append(lines, Line{' ', more}), isMasked
		}
		lines, isMasked = append(lines, explainChange(c, new)...), isMasked || c.IsMasked()
	}
	return lines, isMasked
}

// mostChanges is the maximum number of listed changes of an object.
const mostChanges = 100

func explainChange(c diff.Change, new renderedObject) []Line {
	head := fmt.Sprintf("  %s %s", c.Path, c.Kind)
	if c.Kind == diff.Moved {
		head += fmt.Sprintf(" from place %d to %d", c.From+1, c.To+1)
	}
	lines := []Line{{' ', head + by(new.place, c.After)}}
	before, beforeIsText := c.Old.(string)
	after, afterIsText := c.New.(string)
	if beforeIsText && afterIsText && strings.Contains(before, "\n") &&
		strings.Contains(after, "\n") {
		for _, l := range unified([]byte(before), []byte(after)) {
			lines = append(lines, Line{l.Mark, "    " + l.Text})
		}
		return lines
	}
	lines = append(lines, valueLines('-', c.Old)...)
	return append(lines, valueLines('+', c.New)...)
}

// by lists the layers that set a field, with their positions.
func by(place func(merge.Claim) merge.Claim, claims []merge.Claim) string {
	const most = 3
	text := ""
	for i, c := range claims {
		switch {
		case i == 0:
			text = " by "
		case i == most:
			return text + fmt.Sprintf(" and %d more", len(claims)-most)
		default:
			text += ", "
		}
		c = place(c)
		if text += string(c.Owner); c.Position != (fieldpath.Position{}) {
			text += " (" + printable.Position(c.Position) + ")"
		}
	}
	return text
}

// valueLines returns a value as lines of YAML.
func valueLines(mark byte, value any) []Line {
	if value == nil {
		return nil
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		text = fmt.Append(nil, value) // a value decoded from JSON always has a YAML encoding
	}
	var lines []Line
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		lines = append(lines, Line{mark, "    " + line})
	}
	return lines
}

// unified returns the lines that differ between two strings, with context.
func unified(old, new []byte) []Line {
	var lines []Line
	hunks := 0
	for line := range strings.SplitSeq(
		strings.TrimSuffix(string(linediff.Diff("a", old, "b", new)), "\n"), "\n") {
		if strings.HasPrefix(line, "@@ ") {
			if hunks++; hunks > 1 {
				lines = append(lines, Line{' ', "..."})
			}
			continue
		}
		if hunks > 0 && line != "" {
			lines = append(lines, Line{line[0], line[1:]})
		}
	}
	return lines
}

// show sets the masked versions of Old and New.
func (c *Change) show(opts Options, new []renderedObject) {
	c.shownOld, c.shownNew = c.Old, c.New
	if opts.ShowValues || strings.HasSuffix(c.File, "/"+Findings) {
		return
	}
	objects, err := wantedObjects(c.Old)
	if err != nil {
		objects, c.shownOld = nil, []byte("(no YAML)\n")
	}
	var before, after []any
	all := pair(objects, new)
	masked := map[objectKey]any{}
	for _, k := range all.keys {
		var o, n any
		var owners *diff.Owners
		if all.new[k] != nil {
			n = all.new[k].value
			owners, _ = all.new[k].owners() // without owners more is masked
		}
		if w := all.old[k]; w != nil {
			var like any = &unstructured.Unstructured{}
			if n != nil {
				like = n
			}
			if o, err = w.as(like, false); err != nil {
				o = nil
			}
		}
		pair, err := diff.Read(o, n, diff.Options{Mask: true, Before: owners, After: owners})
		if err != nil {
			continue
		}
		o, n = pair.Old, pair.New
		masked[k] = o
		if n != nil {
			after = append(after, n)
		}
	}
	for _, k := range keysOf(objects, func(w wantedObject) objectKey { return w.key }) {
		if o := masked[k]; o != nil {
			before = append(before, o)
		}
	}
	if c.shownOld = encodeObjects(before); c.Old == nil {
		c.shownOld = nil
	}
	if c.shownNew = encodeObjects(after); c.New == nil {
		c.shownNew = nil
	}
}

func encodeObjects(objects []any) []byte {
	var b bytes.Buffer
	if err := manifest.Encode(&b, manifest.YAML, objects...); err != nil {
		return []byte("(cannot be written)\n") // a value decoded from JSON always has an encoding
	}
	return b.Bytes()
}

// Diff returns a unified diff between the file and the result of Update. It masks values, so it is
// only for reading.
func (c *Change) Diff() string {
	if c == nil {
		return ""
	}
	old, new := c.File, c.File
	if c.Old == nil {
		old = "/dev/null"
	}
	if c.New == nil {
		new = "/dev/null"
	}
	text := string(linediff.Diff(old, c.shownOld, new, c.shownNew))
	if text == "" {
		return fmt.Sprintf("--- %s\n+++ %s\nThe objects are equal, but the text differs.\n",
			old, new)
	}
	_, text, _ = strings.Cut(text, "\n") // the first line is a command
	return text
}
