package manifest

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/manifest/internal/encode"
	"github.com/trainweld/trainweld/manifest/internal/source"
)

// arrange sorts the keys of a new value as in its origins, and takes comments and quotes from there. list is the name of the
// nearest field, which determines the merge key of list items.
func (w *rewriter) arrange(v *encode.Value, path fieldpath.Path, list string) {
	v.Note = w.noteOf(v, path)
	switch v.Kind {
	case encode.Object:
		order := w.order(path)
		at := func(key string) int {
			if i := slices.Index(order, key); i >= 0 {
				return i
			}
			return len(order)
		}
		slices.SortStableFunc(v.Entries, func(a, b encode.Member) int {
			return cmp.Or(cmp.Compare(at(a.Key), at(b.Key)), cmp.Compare(rank(a.Key), rank(b.Key)))
		})
		for _, m := range v.Entries {
			w.arrange(m.Value, path.Append(fieldpath.Field(m.Key)), m.Key)
		}
	case encode.Array:
		for i, item := range v.Items {
			w.arrange(item, path.Append(stepTo(item, list, i)), list)
		}
	}
}

// rank sorts names before the other keys of an object.
func rank(key string) int {
	if key == "name" || key == "manager" {
		return 0
	}
	return 1
}

// stepTo returns the step to an item of a patch's list, by its merge key if the list has one.
func stepTo(item *encode.Value, list string, i int) fieldpath.Step {
	key := ""
	switch list {
	case "runtimePatches":
		key = "manager"
	case "replicatedJobs", "containers", "initContainers", "env", "volumes", "imagePullSecrets", "schedulingGates":
		key = "name"
	case "volumeMounts":
		key = "mountPath"
	}
	if name := item.Member(key); name != nil {
		return fieldpath.Item(key, name.Text)
	}
	return fieldpath.Index(i)
}

// origins returns the nodes of the origins of a field.
func (w *rewriter) origins(path fieldpath.Path) (places, values []*yaml.Node) {
	if w.Origins == nil {
		return nil, nil
	}
	for _, origin := range w.Origins(path) {
		if place, value := w.node(origin); value != nil {
			places, values = append(places, place), append(values, source.Target(value))
		}
	}
	return places, values
}

// order returns the keys of an object in the order of the origins, the last origin first.
func (w *rewriter) order(path fieldpath.Path) []string {
	var order []string
	_, values := w.origins(path)
	for _, n := range slices.Backward(values) {
		if n.Kind != yaml.MappingNode {
			continue
		}
		entries, _ := w.Entries(n)
		for _, e := range entries {
			if e.Err == nil && !slices.Contains(order, e.Name) {
				order = append(order, e.Name)
			}
		}
	}
	return order
}

// noteOf returns the comments and quotes of a value. A value takes the comments of all origins. A scalar, or an item of a list
// without a key, takes only the comments of the first. Each comment is used once, even if several values share an origin.
func (w *rewriter) noteOf(v *encode.Value, path fieldpath.Path) *encode.Note {
	places, values := w.origins(path)
	if len(places) == 0 {
		return nil
	}
	n := &encode.Note{}
	last := path[len(path)-1]
	_, isIndex := last.Index()
	for i := range places {
		if i > 0 && (v.Kind == encode.Text || v.Kind == encode.Literal || isIndex) {
			break
		}
		w.comment(n, places[i], values[i], v)
	}
	if value := values[0]; v.Kind == encode.Text && value.Kind == yaml.ScalarNode {
		if s, ok := w.Text(value); ok && s == v.Text && encode.IsOneLine(s) && value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
			n.Text, n.HasText = value.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle), true
		}
	}
	if name, isField := last.Field(); isField && places[0] != values[0] && encode.IsOneLine(name) {
		if s, err := w.Name(places[0]); err == nil && s == name {
			n.Key, n.HasKey = places[0].Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle), true
		}
	}
	return n
}

// comment adds the comments of a key and its value, or of an item, to a note.
func (w *rewriter) comment(n *encode.Note, place, value *yaml.Node, v *encode.Value) {
	if w.used[place] {
		return
	}
	w.used[place] = true
	addComments(n, place, value, v.Kind)
}

// addComments adds the comments of a key and its value, or of an item as both, to the note of a value of the kind.
func addComments(n *encode.Note, place, value *yaml.Node, kind encode.Kind) {
	behind := place.LineComment
	n.Head = append(n.Head, commentLines(place.HeadComment)...)
	if place != value {
		n.Head = append(n.Head, commentLines(value.HeadComment)...)
		behind = cmp.Or(behind, value.LineComment)
	}
	// Only one comment can stand behind a value, and none behind an item that is an object.
	if lines := commentLines(behind); len(lines) == 1 && n.Line == "" && !(place == value && kind == encode.Object) {
		n.Line = lines[0]
	} else {
		n.Head = append(n.Head, lines...)
	}
	n.Foot = append(n.Foot, commentLines(place.FootComment)...)
	if place != value {
		n.Foot = append(n.Foot, commentLines(value.FootComment)...)
	}
}

func commentLines(comment string) []string {
	var lines []string
	for line := range strings.SplitSeq(comment, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// comments counts and returns the comment lines below a node.
func comments(n *yaml.Node, count map[string]int) (lines []string) {
	if n == nil {
		return nil
	}
	for _, comment := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		for _, line := range commentLines(comment) {
			count[line]++
			lines = append(lines, line)
		}
	}
	for _, child := range n.Content {
		lines = append(lines, comments(child, count)...)
	}
	return lines
}
