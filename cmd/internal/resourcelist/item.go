package resourcelist

import (
	"bytes"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Item is one object of a list.
type Item struct{ node *yaml.Node }

// ID identifies an object of a list, also in a result.
type ID struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Namespace  string `yaml:"namespace,omitempty"`
	Name       string `yaml:"name"`
}

// NewItem returns an item with the object of a YAML document. It returns an error unless the
// document holds an object.
func NewItem(document []byte) (*Item, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(document, &n); err != nil {
		return nil, err
	}
	if n.Kind != yaml.DocumentNode || n.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("the document holds no object")
	}
	return &Item{n.Content[0]}, nil
}

// ID returns the names in the item; missing ones are empty.
func (i *Item) ID() ID {
	metadata := resolveAlias(field(i.node, "metadata"))
	return ID{
		scalarValue(field(i.node, "apiVersion")), scalarValue(field(i.node, "kind")),
		scalarValue(field(metadata, "namespace")), scalarValue(field(metadata, "name")),
	}
}

// YAML returns the item as a YAML document.
func (i *Item) YAML() ([]byte, error) {
	var b bytes.Buffer
	err := encodeNode(&b, i.node)
	return b.Bytes(), err
}

// Data returns the strings in the data field, as in a ConfigMap, and the keys of other values.
func (i *Item) Data() (data map[string]string, bad []string) {
	node := resolveAlias(field(i.node, "data"))
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, nil
	}
	data = map[string]string{}
	for f := 0; f+1 < len(node.Content); f += 2 {
		key, value := node.Content[f].Value, resolveAlias(node.Content[f+1])
		if value.Kind != yaml.ScalarNode {
			bad = append(bad, key)
			continue
		}
		data[key] = scalarValue(value)
	}
	return data, bad
}

// Fields returns the fields of an item beside those that each object has: a scalar as it is, a list
// of scalars with one a line, and another value as YAML.
func (i *Item) Fields() (map[string]string, error) {
	fields := map[string]string{}
	for f := 0; f+1 < len(i.node.Content); f += 2 {
		key, value := i.node.Content[f].Value, resolveAlias(i.node.Content[f+1])
		isObject := func(n *yaml.Node) bool { return resolveAlias(n).Kind != yaml.ScalarNode }
		switch {
		case slices.Contains([]string{"apiVersion", "kind", "metadata"}, key):
		case value.Kind == yaml.ScalarNode:
			fields[key] = scalarValue(value)
		case value.Kind == yaml.SequenceNode && !slices.ContainsFunc(value.Content, isObject):
			var lines []string
			for _, item := range value.Content {
				lines = append(lines, scalarValue(item))
			}
			fields[key] = strings.Join(lines, "\n")
		default:
			var b bytes.Buffer
			if err := encodeNode(&b, value); err != nil {
				return nil, err
			}
			fields[key] = b.String()
		}
	}
	return fields, nil
}

// The annotations in which an orchestrator stores an item's file and its index. The second prefix
// is the older one; kustomize and kpt write both.
const (
	pathAnnotation  = "path"
	indexAnnotation = "index"
)

var annotationPrefixes = []string{"internal.config.kubernetes.io/", "config.kubernetes.io/"}

// File is the file of an item, with the item's index in it.
type File struct {
	Path  string `yaml:"path"`
	Index int    `yaml:"index,omitempty"`
}

// File returns the file in the item's annotations, or false without one below the orchestrator's
// folder.
func (i *Item) File() (File, bool) {
	annotations := i.annotations()
	for _, prefix := range annotationPrefixes {
		if path := scalarValue(field(annotations, prefix+pathAnnotation)); filepath.IsLocal(path) {
			// the index defaults to 0
			index, _ := strconv.Atoi(scalarValue(field(annotations, prefix+indexAnnotation)))
			return File{path, index}, true
		}
	}
	return File{}, false
}

// SetFile annotates the item with its file, using the prefixes of the annotations of like.
func (i *Item) SetFile(file File, like *Item) {
	theirs := like.annotations()
	for _, prefix := range annotationPrefixes {
		if field(theirs, prefix+pathAnnotation) != nil {
			i.annotate(prefix+pathAnnotation, file.Path)
			i.annotate(prefix+indexAnnotation, strconv.Itoa(file.Index))
		}
	}
}

// orchestrators are the domains whose annotations kustomize and kpt follow, with all below them.
// The second one has the older spellings.
var orchestrators = []string{"config.kubernetes.io", "config.k8s.io", "kpt.dev"}

// isInstruction reports whether an orchestrator follows an annotation.
func isInstruction(name string) bool {
	host, _, _ := strings.Cut(name, "/")
	return slices.ContainsFunc(orchestrators, func(of string) bool {
		return host == of || strings.HasSuffix(host, "."+of)
	})
}

// KeepInstructions gives the item the annotations of orchestrators that another one has, and
// returns the names of those that differed.
func (i *Item) KeepInstructions(of *Item) (differed []string) {
	now, before := i.Strings("annotations"), of.Strings("annotations")
	names := slices.AppendSeq(slices.Collect(maps.Keys(now)), maps.Keys(before))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		is, has := now[name]
		was, had := before[name]
		if !isInstruction(name) || has == had && is == was {
			continue
		}
		if differed = append(differed, name); had {
			i.annotate(name, was)
		} else {
			i.dropAnnotation(name)
		}
	}
	return differed
}

// DropInstructions removes the annotations by which orchestrators place, run or merge an object,
// and returns their names.
func (i *Item) DropInstructions() (dropped []string) {
	for name := range i.Strings("annotations") {
		if isInstruction(name) {
			i.dropAnnotation(name)
			dropped = append(dropped, name)
		}
	}
	return dropped
}

// dropAnnotation removes an annotation, and the map of annotations with the last one.
func (i *Item) dropAnnotation(name string) {
	annotations := i.annotations()
	if removeField(annotations, name); len(annotations.Content) == 0 {
		removeField(resolveAlias(field(i.node, "metadata")), "annotations")
	}
}

// Annotation returns the value of an annotation, or "".
func (i *Item) Annotation(key string) string { return scalarValue(field(i.annotations(), key)) }

// Strings returns the strings of a map in the metadata, such as labels.
func (i *Item) Strings(name string) map[string]string {
	all := map[string]string{}
	if n := resolveAlias(field(resolveAlias(field(i.node, "metadata")), name)); n != nil &&
		n.Kind == yaml.MappingNode {
		for f := 0; f+1 < len(n.Content); f += 2 {
			all[n.Content[f].Value] = scalarValue(n.Content[f+1])
		}
	}
	return all
}

func (i *Item) annotations() *yaml.Node {
	return resolveAlias(field(resolveAlias(field(i.node, "metadata")), "annotations"))
}

func (i *Item) annotate(key, value string) {
	metadata := ensureMapping(i.node, "metadata")
	setField(ensureMapping(metadata, "annotations"), key, scalar(value))
}

// ensureMapping returns the mapping at the key. It adds a missing one.
func ensureMapping(n *yaml.Node, key string) *yaml.Node {
	if c := resolveAlias(field(n, key)); c != nil && c.Kind == yaml.MappingNode {
		return c
	}
	c := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	setField(n, key, c)
	return c
}

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
