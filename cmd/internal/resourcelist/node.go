package resourcelist

import (
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// resolveAlias returns the node that an alias refers to.
func resolveAlias(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// field returns the value of a mapping's key, or nil.
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

// scalar returns a string node. The encoder quotes it if necessary.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// scalarValue returns the value of a scalar, or "" for other nodes.
func scalarValue(n *yaml.Node) string {
	if n = resolveAlias(n); n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// maxResolved limits the bytes that aliases expand to in one list, at nodeSize and the text for a
// node. A few lines may expand to billions.
const (
	maxResolved = 4 << 20
	nodeSize    = 32
)

// mostMarks limits the marks of a list. Each takes up to a kilobyte until it is written.
const mostMarks = 250_000

// marks counts the characters that begin or may begin a node. Each node has one, except for a key
// without a value.
func marks(data []byte) (n int) {
	for i, c := range data {
		switch c {
		case ',', '[', '{':
			n++
		case ':', '-', '?':
			if i+1 == len(data) || strings.IndexByte(" \t\r\n,[]{}", data[i+1]) >= 0 ||
				i > 0 && strings.IndexByte("\"']}", data[i-1]) >= 0 {
				n++
			}
		}
	}
	return n
}

// resolveAliases replaces aliases of nodes outside n by copies. It keeps aliases of nodes inside.
func resolveAliases(n *yaml.Node, budget *int) error {
	inside := map[*yaml.Node]bool{}
	var collect func(n *yaml.Node)
	collect = func(n *yaml.Node) {
		if n.Anchor != "" { // others have no alias
			inside[n] = true
		}
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

// expanded returns a copy of the node without anchors and aliases.
func expanded(n *yaml.Node, budget *int) (*yaml.Node, error) {
	n = resolveAlias(n)
	if *budget -= nodeSize + len(n.Value); *budget < 0 {
		return nil, errors.New("its aliases expand too far; replace them by their values")
	}
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
