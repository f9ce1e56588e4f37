package resourcelist

import (
	"bytes"
	"errors"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Item is one object of a list.
type Item struct{ node *yaml.Node }

// ID tells objects of one list apart.
type ID struct{ APIVersion, Kind, Namespace, Name string }

// NewItem is an item with the object of a YAML document.
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

// ID is the item's names as it says them; what it does not say is empty.
func (i *Item) ID() ID {
	metadata := follow(field(i.node, "metadata"))
	return ID{
		text(field(i.node, "apiVersion")), text(field(i.node, "kind")),
		text(field(metadata, "namespace")), text(field(metadata, "name")),
	}
}

// YAML is the item as a document of its own.
func (i *Item) YAML() ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	err := errors.Join(encoder.Encode(i.node), encoder.Close())
	return b.Bytes(), err
}

// Data is the text of every field of data, as a ConfigMap has it, and the keys whose values are no texts.
func (i *Item) Data() (data map[string]string, bad []string) {
	node := follow(field(i.node, "data"))
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, nil
	}
	data = map[string]string{}
	for f := 0; f+1 < len(node.Content); f += 2 {
		key, value := node.Content[f].Value, follow(node.Content[f+1])
		if value.Kind != yaml.ScalarNode {
			bad = append(bad, key)
			continue
		}
		data[key] = text(value)
	}
	return data, bad
}

// The annotations by which an orchestrator knows the file of an item and its place in there, the second
// prefix being the older one, which kustomize and kpt keep beside the first.
const (
	pathAnnotation  = "path"
	indexAnnotation = "index"
)

var annotationPrefixes = []string{"internal.config.kubernetes.io/", "config.kubernetes.io/"}

// File is the file of an item, and the item's index in there.
type File struct {
	Path  string `yaml:"path"`
	Index int    `yaml:"index,omitempty"`
}

// File returns the file that the item's annotations name, false where they name none.
func (i *Item) File() (File, bool) {
	annotations := i.annotations()
	for _, prefix := range annotationPrefixes {
		if path := text(field(annotations, prefix+pathAnnotation)); path != "" {
			index, _ := strconv.Atoi(text(field(annotations, prefix+indexAnnotation))) // none is the first
			return File{path, index}, true
		}
	}
	return File{}, false
}

// SetFile annotates the item with its file, under the prefixes that an item of the same orchestrator has.
func (i *Item) SetFile(file File, like *Item) {
	theirs := like.annotations()
	for _, prefix := range annotationPrefixes {
		if field(theirs, prefix+pathAnnotation) != nil {
			i.annotate(prefix+pathAnnotation, file.Path)
			i.annotate(prefix+indexAnnotation, strconv.Itoa(file.Index))
		}
	}
}

func (i *Item) annotations() *yaml.Node {
	return follow(field(follow(field(i.node, "metadata")), "annotations"))
}

func (i *Item) annotate(key, value string) {
	metadata := child(i.node, "metadata")
	setField(child(metadata, "annotations"), key, scalar(value))
}

// child is the mapping at the key, which is made where there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	if c := follow(field(n, key)); c != nil && c.Kind == yaml.MappingNode {
		return c
	}
	c := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	setField(n, key, c)
	return c
}
