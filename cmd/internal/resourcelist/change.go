package resourcelist

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

// Change returns the item with the fields of to instead of from, its fields as JSON. Equal values
// keep their text and comments. t tells the items of lists apart, and may be nil. It returns an
// error for aliases that expand beyond a limit.
func (i *Item) Change(t *schema.Type, from, to map[string]any) (*Item, error) {
	n := i.node
	if hasAlias(n) {
		budget := maxResolved
		var err error
		if n, err = expanded(n, &budget); err != nil {
			return nil, err
		}
	}
	n, err := changedNode(n, t, from, to)
	return &Item{n}, err
}

func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
}

// changedNode returns a node of the value to. A nil node stands for none. Maps and lists are
// compared where they end: to compare them at each level takes the square of the levels.
func changedNode(n *yaml.Node, t *schema.Type, from, to any) (*yaml.Node, error) {
	c := &yaml.Node{}
	if n != nil {
		if old, ok := from.(map[string]any); ok && n.Kind == yaml.MappingNode {
			if now, ok := to.(map[string]any); ok && spells(n, old) {
				return changedFields(n, t, old, now)
			}
		}
		if old, ok := from.([]any); ok && n.Kind == yaml.SequenceNode &&
			len(n.Content) == len(old) {
			if now, ok := to.([]any); ok {
				return changedItems(n, t, old, now)
			}
		}
		if reflect.DeepEqual(from, to) {
			return n, nil
		}
		c.HeadComment, c.LineComment, c.FootComment = n.HeadComment, n.LineComment, n.FootComment
	}
	comments := *c
	err := c.Encode(to)
	c.HeadComment, c.LineComment, c.FootComment = comments.HeadComment, comments.LineComment,
		comments.FootComment
	return c, err
}

// spells reports whether a mapping has all fields by their names. A merge key stands for several
// fields, and a boolean key for its text.
func spells(n *yaml.Node, fields map[string]any) bool {
	found := 0
	for f := 0; f+1 < len(n.Content); f += 2 {
		if _, ok := fields[n.Content[f].Value]; ok {
			found++
		}
	}
	return found == len(fields)
}

func changedFields(n *yaml.Node, t *schema.Type, from, to map[string]any) (*yaml.Node, error) {
	c := *n
	c.Content = nil
	add := func(key, value *yaml.Node) error {
		name := key.Value
		value, err := changedNode(value, t.Lookup(fieldpath.Path{t.Step(name)}), from[name],
			to[name])
		c.Content = append(c.Content, key, value)
		return err
	}
	for f := 0; f+1 < len(n.Content); f += 2 {
		key, value := n.Content[f], n.Content[f+1]
		_, was := from[key.Value]
		_, is := to[key.Value]
		switch {
		case is && was:
			if err := add(key, value); err != nil {
				return nil, err
			}
		case !is && !was: // a null, which sets nothing
			c.Content = append(c.Content, key, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if _, was := from[name]; !was {
			if err := add(scalar(name), nil); err != nil {
				return nil, err
			}
		}
	}
	return &c, nil
}

func changedItems(n *yaml.Node, t *schema.Type, from, to []any) (*yaml.Node, error) {
	c := *n
	c.Content = nil
	known := map[string][]int{}
	for i, item := range from {
		id := itemIdentity(t, item)
		known[id] = append(known[id], i)
	}
	elem := t.Lookup(fieldpath.Path{fieldpath.Index(0)})
	for _, item := range to {
		var node *yaml.Node
		var was any
		id := itemIdentity(t, item)
		if at := known[id]; len(at) > 0 {
			node, was, known[id] = n.Content[at[0]], from[at[0]], at[1:]
		}
		node, err := changedNode(node, elem, was, item)
		if err != nil {
			return nil, err
		}
		c.Content = append(c.Content, node)
	}
	return &c, nil
}

// itemIdentity returns the keys of an item of a list-map, or the outline of another item.
func itemIdentity(t *schema.Type, item any) string {
	if step, ok := t.Item(item); ok {
		return step.String()
	}
	const levels = 3
	text, _ := json.Marshal(outline(item, levels)) // decoded JSON, which has no error
	return string(text)
}

// outline returns the upper levels of a value. Of a map or a list below them, it has the number of
// entries.
func outline(value any, levels int) any {
	switch v := value.(type) {
	case map[string]any:
		if levels == 0 {
			return len(v)
		}
		upper := make(map[string]any, len(v))
		for key, of := range v {
			upper[key] = outline(of, levels-1)
		}
		return upper
	case []any:
		if levels == 0 {
			return len(v)
		}
		upper := make([]any, len(v))
		for i, of := range v {
			upper[i] = outline(of, levels-1)
		}
		return upper
	}
	return value
}
