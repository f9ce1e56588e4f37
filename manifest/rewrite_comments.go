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

// arrange gives a new value what it had where it was said before: the order of its keys, its comments and
// quotes. The list is the name of the nearest field, which tells the merge key of a list's items.
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

// rank puts what names an object before the rest of it.
func rank(key string) int {
	if key == "name" || key == "manager" {
		return 0
	}
	return 1
}

// stepTo is the step to an item of a list of a patch: by its merge key, where the list has one.
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

// origins are the nodes of the places where a field was said before.
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

// order is the order in which the origins have the keys of an object, the one written first first.
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

// noteOf gathers how a value was written. A value that several origins say together has the comments of all;
// one that the first alone says, a text or an item of a list without a key, only those of that one. No comment is
// taken twice, where one origin is for several values.
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

// comment gives a note the comments of a key and its value, or of an item.
func (w *rewriter) comment(n *encode.Note, place, value *yaml.Node, v *encode.Value) {
	if w.used[place] {
		return
	}
	w.used[place] = true
	behind := place.LineComment
	n.Head = append(n.Head, commentLines(place.HeadComment)...)
	if place != value {
		n.Head = append(n.Head, commentLines(value.HeadComment)...)
		behind = cmp.Or(behind, value.LineComment)
	}
	// Behind an item that is an object nothing can stand, and one comment only behind anything else.
	if lines := commentLines(behind); len(lines) == 1 && n.Line == "" && !(place == value && v.Kind == encode.Object) {
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

// comments counts the lines of comments in a document.
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
