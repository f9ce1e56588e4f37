// Package resourcelist reads and writes ResourceLists, the input and output of KRM functions in
// kustomize and kpt (kustomize cmd/config/docs/api-conventions/functions-spec.md).
//
//	list, err := resourcelist.Read(data)
//	if err != nil {
//		return err
//	}
//	list.Items = append(list.Items, made...)
//	list.Results = results
//	return list.Write(os.Stdout)
//
// Unchanged items keep their comments, the order of their fields, and fields without a Go type.
//
// Its first file to read is list.go.
package resourcelist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	listKind  = "ResourceList"
	listGroup = "config.kubernetes.io/"
)

// List is a ResourceList.
type List struct {
	// Config is the functionConfig, or nil.
	Config *Item
	// Items are the objects, in order.
	Items []*Item
	// Results are the results of this function. Read ignores results in the input, which belong to
	// another function.
	Results []Result

	root *yaml.Node
}

// Read reads one ResourceList of any version, as YAML or JSON. It returns an error for other input,
// and for items that are not objects. It resolves anchors between items, so that each item stands
// alone.
func Read(data []byte) (*List, error) {
	if marks(data) > mostMarks {
		return nil, fmt.Errorf("the list has more than %d fields and items; pass fewer objects",
			mostMarks)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF), err == nil && len(document.Content) == 0:
		return nil, errors.New("the input is empty; a ResourceList of " + listGroup +
			"v1 is expected")
	case err != nil:
		// The library's message quotes the input, which may hold a password.
		return nil, errors.New(
			regexp.MustCompile("(?s)(unknown anchor|!!\\w+) ['`].*['`]").ReplaceAllString(
				err.Error(), "$1"))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("a second document follows the ResourceList")
	}
	root := resolveAlias(document.Content[0])
	version, kind := scalarValue(field(root, "apiVersion")), scalarValue(field(root, "kind"))
	if kind != listKind || !strings.HasPrefix(version, listGroup) {
		return nil, fmt.Errorf("apiVersion %q and kind %q are no %s of %sv1", version, kind,
			listKind, listGroup)
	}
	seen := map[string]bool{}
	for i := 0; i < len(root.Content); i += 2 {
		if name := root.Content[i].Value; seen[name] {
			return nil, fmt.Errorf("line %d: duplicate field %q", root.Content[i].Line, name)
		} else {
			seen[name] = true
		}
	}
	l := &List{root: root}
	budget := maxResolved
	if config := resolveAlias(field(root, "functionConfig")); config != nil &&
		config.Tag != "!!null" {
		if config.Kind != yaml.MappingNode {
			return nil, errors.New("functionConfig must be an object")
		}
		if err := resolveAliases(config, &budget); err != nil {
			return nil, fmt.Errorf("functionConfig: %w", err)
		}
		l.Config = &Item{config}
	}
	items := resolveAlias(field(root, "items"))
	if items == nil || items.Tag == "!!null" {
		return l, nil
	}
	if items.Kind != yaml.SequenceNode {
		return nil, errors.New("items must be a list")
	}
	return l, l.read(items, "items", &budget)
}

// read adds the items of a sequence. Like kustomize and kpt, it replaces a List by its items.
func (l *List) read(items *yaml.Node, at string, budget *int) error {
	for i, node := range items.Content {
		at := fmt.Sprintf("%s[%d]", at, i)
		if node.Kind == yaml.AliasNode {
			copied, err := expanded(node, budget)
			if err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
			node = copied
		}
		if node.Kind != yaml.MappingNode {
			return fmt.Errorf("%s must be an object", at)
		}
		if err := resolveAliases(node, budget); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		inner := resolveAlias(field(node, "items"))
		if inner != nil && inner.Kind == yaml.SequenceNode &&
			strings.HasSuffix(scalarValue(field(node, "kind")), "List") {
			if err := l.read(inner, at+".items", budget); err != nil {
				return err
			}
			continue
		}
		l.Items = append(l.Items, &Item{node})
	}
	return nil
}

// Write writes the list as YAML, with the apiVersion and the fields of its input.
func (l *List) Write(w io.Writer) error {
	if l.Config != nil {
		setField(l.root, "functionConfig", l.Config.node)
	}
	removeField(l.root, "results")
	items := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, item := range l.Items {
		items.Content = append(items.Content, item.node)
	}
	setField(l.root, "items", items)
	if key := l.root.Content[fieldIndex(l.root, "items")]; items.Content == nil {
		key.LineComment = "" // [] would follow in a line of its own
	}
	if len(l.Results) > 0 {
		results := &yaml.Node{}
		if err := results.Encode(l.Results); err != nil {
			return err
		}
		setField(l.root, "results", results)
	}
	return encodeNode(w, l.root)
}

func encodeNode(w io.Writer, n *yaml.Node) error {
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	return errors.Join(encoder.Encode(n), encoder.Close())
}

// Result is one message of a function. Only Message is required.
type Result struct {
	Message     string            `yaml:"message"`
	Severity    string            `yaml:"severity,omitempty"` // error, warning or info
	ResourceRef *ID               `yaml:"resourceRef,omitempty"`
	Field       *Field            `yaml:"field,omitempty"`
	File        *File             `yaml:"file,omitempty"`
	Tags        map[string]string `yaml:"tags,omitempty"`
}

// Field is the field of a result. The result must also name the object. Nil values are omitted.
type Field struct {
	Path          string `yaml:"path"`
	CurrentValue  any    `yaml:"currentValue,omitempty"`
	ProposedValue any    `yaml:"proposedValue,omitempty"`
}
