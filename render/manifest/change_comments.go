package manifest

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest/internal/encode"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// arranger gives a new value the order of keys, the comments and the quotes from its fields' earlier places.
type arranger struct {
	*changer
	origins func(fieldpath.Path) ([]fieldpath.Path, bool) // see Change
}

// node returns the nodes of a path in the object: a field's key and value, or an item as both.
func (a *arranger) node(path fieldpath.Path) (place, value *yaml.Node) {
	value = a.root.node
	for _, step := range a.at.Append(path...) {
		if place, value = a.Step(value, step); value == nil {
			return nil, nil
		}
	}
	return place, value
}

// former is an earlier place of a field: the node of its key or of an item, and its value's.
type former struct{ place, value *yaml.Node }

// arrange sorts the keys of a new value as in its origins, and takes comments and quotes from there. The parameter list is the name
// of the nearest field, which determines the merge key of list items. The parameter inherited holds the places at the same step
// within the origins of the value around it.
func (a *arranger) arrange(v *encode.Value, path fieldpath.Path, list string, inherited []former) {
	origins := a.formers(path, inherited)
	v.Note = a.noteOf(v, path[len(path)-1], origins)
	switch v.Kind {
	case encode.Object:
		within, order := a.fields(origins)
		at := func(key string) int {
			if i, ok := order[key]; ok {
				return i
			}
			return len(order)
		}
		slices.SortStableFunc(v.Entries, func(a, b encode.Member) int {
			return cmp.Or(cmp.Compare(at(a.Key), at(b.Key)), cmp.Compare(rank(a.Key), rank(b.Key)))
		})
		for _, m := range v.Entries {
			a.arrange(m.Value, path.Append(fieldpath.Field(m.Key)), m.Key, within[m.Key])
		}
	case encode.Array:
		within := a.items(origins, keyOf(list))
		for i, item := range v.Items {
			step := stepTo(item, list, i)
			a.arrange(item, path.Append(step), list, within[step])
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
	key := keyOf(list)
	if name := item.Member(key); name != nil {
		return fieldpath.Item(key, name.Text)
	}
	return fieldpath.Index(i)
}

// keyOf returns the merge key of a patch's list, or "".
func keyOf(list string) string {
	switch list {
	case "runtimePatches":
		return "manager"
	case "replicatedJobs", "containers", "initContainers", "env", "volumes", "imagePullSecrets", "schedulingGates":
		return "name"
	case "volumeMounts":
		return "mountPath"
	}
	return ""
}

// formers returns the earlier places of a field.
func (a *arranger) formers(path fieldpath.Path, inherited []former) []former {
	if a.origins == nil {
		return nil
	}
	places, isKnown := a.origins(path)
	if !isKnown {
		return inherited
	}
	var origins []former
	for _, at := range places {
		if place, value := a.node(at); value != nil {
			origins = append(origins, former{place, source.Target(value)})
		}
	}
	return origins
}

// fields returns the fields within origins by their names, and the order of the names, the last origin's first.
func (a *arranger) fields(origins []former) (within map[string][]former, order map[string]int) {
	within, order = map[string][]former{}, map[string]int{}
	for _, o := range slices.Backward(origins) {
		if o.value.Kind != yaml.MappingNode {
			continue
		}
		entries, _ := a.Entries(o.value)
		seen := make(map[string]bool, len(entries))
		for _, e := range entries {
			if e.Err != nil || seen[e.Name] {
				continue
			}
			seen[e.Name] = true
			if _, known := order[e.Name]; !known {
				order[e.Name] = len(order)
			}
			key, value := a.Lookup(o.value, e.Name)
			within[e.Name] = append(within[e.Name], former{key, source.Target(value)})
		}
	}
	for _, all := range within {
		slices.Reverse(all)
	}
	return within, order
}

// items returns the items of the lists of origins, by their places and by their keys. Of items with one key in a list, the first counts.
func (a *arranger) items(origins []former, key string) map[fieldpath.Step][]former {
	within := map[fieldpath.Step][]former{}
	for _, o := range origins {
		if o.value.Kind != yaml.SequenceNode {
			continue
		}
		seen := map[string]bool{}
		for i, item := range o.value.Content {
			at := former{item, source.Target(item)}
			within[fieldpath.Index(i)] = append(within[fieldpath.Index(i)], at)
			if key == "" {
				continue
			}
			if _, name := a.Lookup(at.value, key); name != nil {
				if text, ok := a.Text(name); ok && !seen[text] {
					seen[text] = true
					step := fieldpath.Item(key, text)
					within[step] = append(within[step], at)
				}
			}
		}
	}
	return within
}

// noteOf returns the comments and quotes of a value. A value takes the comments of all origins. A scalar, or an item of a list
// without a key, takes only the comments of the first. Each comment is used once, even if several values share an origin.
func (a *arranger) noteOf(v *encode.Value, last fieldpath.Step, origins []former) *encode.Note {
	if len(origins) == 0 {
		return nil
	}
	n := &encode.Note{}
	_, isIndex := last.Index()
	for i, o := range origins {
		if i > 0 && (v.Kind == encode.Text || v.Kind == encode.Literal || isIndex) {
			break
		}
		a.comment(n, o.place, o.value, v)
	}
	place, value := origins[0].place, origins[0].value
	if v.Kind == encode.Text && value.Kind == yaml.ScalarNode {
		if s, ok := a.Text(value); ok && s == v.Text && encode.IsOneLine(s) && value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
			n.Text, n.HasText = value.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle), true
		}
	}
	if name, isField := last.Field(); isField && place != value && encode.IsOneLine(name) {
		if s, err := a.Name(place); err == nil && s == name {
			n.Key, n.HasKey = place.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle), true
		}
	}
	return n
}

// comment adds the comments of a key and its value, or of an item, to a note.
func (a *arranger) comment(n *encode.Note, place, value *yaml.Node, v *encode.Value) {
	if a.used[place] {
		return
	}
	a.used[place] = true
	addComments(n, place, value, v.Kind)
}

// addComments adds the comments of a key and its value to the note of a value of the kind. An item is both place and value.
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
