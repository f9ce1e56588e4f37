package manifest

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// nodes are those of a text that changes.
type nodes struct {
	*source.Reading
	root *yaml.Node
	used map[*yaml.Node]bool // the nodes whose comments have a new place
}

// commentLines returns the lines of a comment.
func commentLines(comment string) []string {
	var lines []string
	for line := range strings.SplitSeq(comment, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// arranger gives a new value the order of keys, the comments and the quotes from its fields'
// earlier places.
type arranger struct {
	*nodes
	at      fieldpath.Path                                // of the object
	origins func(fieldpath.Path) ([]fieldpath.Path, bool) // see Change
}

// node returns the nodes of a path in the object: a field's key and value, or an item as both.
func (a *arranger) node(path fieldpath.Path) (place, value *yaml.Node) {
	value = a.root
	for _, step := range a.at.Append(path...) {
		if place, value = a.Step(value, step); value == nil {
			return nil, nil
		}
	}
	return place, value
}

// former is an earlier place of a field: the node of its key or of an item, and its value's.
type former struct{ place, value *yaml.Node }

// arrange sorts the keys of a new value as in its origins, and takes comments and quotes from
// there. Key is nil for an item. The parameter list is the name of the nearest field, which
// determines the merge key of list items. The parameter inherited holds the places at the same step
// within the origins of the value around it.
func (a *arranger) arrange(key, value *yaml.Node, path fieldpath.Path, list string,
	inherited []former) {
	origins := a.formers(path, inherited)
	_, isIndex := path[len(path)-1].Index()
	for i, o := range origins {
		if i > 0 && (value.Kind == yaml.ScalarNode || isIndex) {
			break
		}
		a.comment(cmp.Or(key, value), value, o)
	}
	if len(origins) > 0 {
		a.quote(key, value, origins[0])
	}
	switch value.Kind {
	case yaml.MappingNode:
		within, order := a.fields(origins)
		at := func(key string) int {
			if i, ok := order[key]; ok {
				return i
			}
			return len(order)
		}
		var entries [][2]*yaml.Node
		for i := 0; i+1 < len(value.Content); i += 2 {
			entries = append(entries, [2]*yaml.Node(value.Content[i:i+2]))
		}
		slices.SortStableFunc(entries, func(a, b [2]*yaml.Node) int {
			x, y := a[0].Value, b[0].Value
			return cmp.Or(cmp.Compare(at(x), at(y)), cmp.Compare(rank(x), rank(y)))
		})
		value.Content = value.Content[:0]
		for _, e := range entries {
			value.Content = append(value.Content, e[0], e[1])
			name := e[0].Value
			a.arrange(e[0], e[1], path.Append(fieldpath.Field(name)), name, within[name])
		}
	case yaml.SequenceNode:
		within := a.items(origins, keyOf(list))
		for i, item := range value.Content {
			step := a.stepTo(item, list, i)
			a.arrange(nil, item, path.Append(step), list, within[step])
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
func (a *arranger) stepTo(item *yaml.Node, list string, i int) fieldpath.Step {
	if key := keyOf(list); key != "" {
		if _, name := a.Lookup(item, key); name != nil {
			return fieldpath.Item(key, name.Value)
		}
	}
	return fieldpath.Index(i)
}

// keyOf returns the merge key of a patch's list, or "".
func keyOf(list string) string {
	switch list {
	case "runtimePatches":
		return "manager"
	case "replicatedJobs", "containers", "initContainers", "env", "volumes", "imagePullSecrets",
		"schedulingGates":
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

// fields returns the fields within origins by their names, and the order of the names, the last
// origin's first.
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

// items returns the items of the lists of origins, by their places and by their keys. Of items with
// one key in a list, the first counts.
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

// comment gives a field or an item the comments of an earlier place. Each is used once, even if
// several fields were there.
func (a *arranger) comment(place, value *yaml.Node, from former) {
	if a.used[from.place] {
		return
	}
	a.used[from.place], a.used[from.value] = true, true
	head, foot := commentLines(from.place.HeadComment), commentLines(from.place.FootComment)
	behind := from.place.LineComment
	if from.place != from.value {
		head = append(head, commentLines(from.value.HeadComment)...)
		foot = append(foot, commentLines(from.value.FootComment)...)
		behind = cmp.Or(behind, from.value.LineComment)
	}
	// Only one comment can stand behind a value, and none behind an item that is an object.
	end := value
	if len(value.Content) > 0 {
		end = place
	}
	if lines := commentLines(behind); len(lines) == 1 && end.LineComment == "" &&
		(place != value || len(value.Content) == 0) {
		end.LineComment = lines[0]
	} else {
		head = append(head, lines...)
	}
	place.HeadComment = strings.Join(append(commentLines(place.HeadComment), head...), "\n")
	place.FootComment = strings.Join(append(commentLines(place.FootComment), foot...), "\n")
}

const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle

// quote gives a string and its key the quotes of an earlier place.
func (a *arranger) quote(key, value *yaml.Node, from former) {
	if a.JSON {
		return
	}
	if value.Kind == yaml.ScalarNode && from.value.Kind == yaml.ScalarNode &&
		value.ShortTag() == "!!str" {
		if s, ok := a.Text(from.value); ok && s == value.Value {
			value.Style = from.value.Style &^ (yaml.TaggedStyle)
		}
	}
	if key != nil && from.place != from.value {
		if s, err := a.Name(from.place); err == nil && s == key.Value {
			key.Style = from.place.Style & quoted
		}
	}
}
