package resourcelist

import (
	"errors"
	"slices"

	"go.yaml.in/yaml/v3"
)

// follow is the node that an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// field is the value of a mapping's key, nil where there is none.
func field(n *yaml.Node, key string) *yaml.Node {
	if i := fieldIndex(n, key); i >= 0 {
		return n.Content[i+1]
	}
	return nil
}

func fieldIndex(n *yaml.Node, key string) int {
	if n == nil || n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

func setField(n *yaml.Node, key string, value *yaml.Node) {
	if i := fieldIndex(n, key); i >= 0 {
		n.Content[i+1] = value
		return
	}
	n.Content = append(n.Content, scalar(key), value)
}

func removeField(n *yaml.Node, key string) {
	if i := fieldIndex(n, key); i >= 0 {
		n.Content = slices.Delete(n.Content, i, i+2)
	}
}

// scalar is a string, which the encoder quotes where it has to.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// text is the text of a scalar, "" of anything else.
func text(n *yaml.Node) string {
	if n = follow(n); n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// maxResolved is how many nodes aliases may stand for in one list: few lines can stand for billions.
const maxResolved = 1 << 20

// resolve replaces aliases of what stands outside of the node by what they stand for. Aliases of what is
// inside stay.
func resolve(n *yaml.Node, budget *int) error {
	inside := map[*yaml.Node]bool{}
	var collect func(n *yaml.Node)
	collect = func(n *yaml.Node) {
		inside[n] = true
		for _, child := range n.Content {
			collect(child)
		}
	}
	collect(n)
	return replaceAliases(n, func(alias *yaml.Node) bool { return !inside[alias] }, budget)
}

func replaceAliases(n *yaml.Node, outside func(*yaml.Node) bool, budget *int) error {
	for i, child := range n.Content {
		if child.Kind == yaml.AliasNode && outside(child.Alias) {
			resolved, err := expanded(child.Alias, budget)
			if err != nil {
				return err
			}
			n.Content[i] = resolved
			continue
		}
		if err := replaceAliases(child, outside, budget); err != nil {
			return err
		}
	}
	return nil
}

// expanded is a copy of the node without any anchors and aliases.
func expanded(n *yaml.Node, budget *int) (*yaml.Node, error) {
	if *budget--; *budget < 0 {
		return nil, errors.New("its aliases stand for too much; write out what they mean")
	}
	n = follow(n)
	c := *n
	c.Anchor, c.Content = "", make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		var err error
		if c.Content[i], err = expanded(child, budget); err != nil {
			return nil, err
		}
	}
	return &c, nil
}
