package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	sigsyaml "sigs.k8s.io/yaml"
)

// Reading interprets the nodes of one document like Kubernetes. It calls Kubernetes' own library
// instead of implementing YAML 1.1 again.
type Reading struct {
	JSON  bool // the document is JSON, so scalars are unambiguous
	memo  map[string]scalar
	names map[string]scalar
	// merges caches the mappings with a merge key.
	merges map[*yaml.Node]mapping
	// fields and items index the mappings and lists that were searched.
	fields map[*yaml.Node]map[string][2]*yaml.Node
	items  map[listIndex]map[string]*yaml.Node
	// steps counts the nodes that searches visit.
	steps int
}

type scalar struct {
	json  []byte
	value any
	err   error
}

// NewReading returns a reading for the nodes of a source.
func NewReading(s *Source) *Reading {
	return &Reading{JSON: s.JSON, memo: map[string]scalar{}, names: map[string]scalar{},
		merges: map[*yaml.Node]mapping{}}
}

// Scalar returns the JSON of a scalar node.
func (r *Reading) Scalar(n *yaml.Node) ([]byte, error) {
	if IsString(n) {
		return json.Marshal(n.Value)
	}
	if r.JSON || n.Style == 0 && isInteger10(n.Value) {
		return []byte(n.Value), nil
	}
	s := r.resolve(n)
	return s.json, s.err
}

// resolve asks the library for a scalar that is not obvious.
func (r *Reading) resolve(n *yaml.Node) scalar {
	text := spell(n)
	s, ok := r.memo[text]
	if !ok {
		if r.JSON {
			s.json = []byte(text)
		} else if s.json, s.err = sigsyaml.YAMLToJSONStrict([]byte("- " + text)); s.err == nil {
			s.json = bytes.TrimSuffix(bytes.TrimPrefix(s.json, []byte("[")), []byte("]"))
		}
		if s.err == nil {
			s.err = kjson.UnmarshalCaseSensitivePreserveInts(s.json, &s.value)
		}
		r.memo[text] = s
	}
	return s
}

// scalar returns the value of a scalar node.
func (r *Reading) scalar(n *yaml.Node) (any, error) {
	if IsString(n) {
		return n.Value, nil
	}
	if n.Style == 0 && isInteger10(n.Value) {
		return strconv.ParseInt(n.Value, 10, 64)
	}
	s := r.resolve(n)
	return s.value, s.err
}

// isInteger10 recognizes unambiguous integers, so that a list of them needs no library calls.
func isInteger10(s string) bool {
	if s == "" || len(s) > 15 || s[0] == '0' {
		return s == "0"
	}
	return strings.Trim(s, "0123456789") == ""
}

// Name returns the JSON key of a key node, or an error for an invalid key.
func (r *Reading) Name(n *yaml.Node) (string, error) {
	n = Target(n)
	if n.Kind != yaml.ScalarNode {
		return "", fmt.Errorf("a key must be a word, not %s", Article(KindOf(n, nil)))
	}
	if IsString(n) {
		return n.Value, nil
	}
	text := spell(n)
	s, ok := r.names[text]
	if !ok {
		s.json, s.err = sigsyaml.YAMLToJSONStrict([]byte("? " + text + "\n: 0\n"))
		if s.err == nil {
			var object map[string]int
			s.err = json.Unmarshal(s.json, &object)
			for key := range object { // it has exactly one key
				s.json = []byte(key)
			}
		} else {
			s.err = fmt.Errorf("a key must be a word, not null: %w", s.err)
		}
		r.names[text] = s
	}
	return string(s.json), s.err
}

// IsString reports whether the scalar is a string by its style or its characters. YAML 1.1 resolves
// only strings that start like a number or a boolean, or with ~ (go.yaml.in/yaml/v2 resolve.go). A
// false may be wrong.
func IsString(n *yaml.Node) bool {
	if n.Style&yaml.TaggedStyle != 0 {
		switch n.Tag {
		case "!!str", "!!bool", "!!int", "!!float", "!!null", "!!timestamp", "!!binary":
			return false
		}
		return true // an unknown tag does not change the string
	}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|
		yaml.FoldedStyle) != 0 {
		return true
	}
	if n.Value == "" {
		return false
	}
	// characters in which no number and no time ends
	const outsideNumbers = ":ghijklmopqrstuvwxyGHIJKLMOPQRSTUVWXY"
	switch first, last := n.Value[0], n.Value[len(n.Value)-1]; {
	case strings.ContainsAny(n.Value, "\n"):
		return true
	case strings.IndexByte("0123456789+-.", first) >= 0:
		return strings.IndexByte(outsideNumbers, last) >= 0 || n.Value == "-"
	case strings.IndexByte("yYnNtTfFoO~", first) >= 0:
		return !IsAmbiguous(n.Value) && !isKeyword(n.Value)
	}
	return true
}

// isKeyword reports whether YAML, in each version, reads the bare word as a boolean or null.
func isKeyword(word string) bool {
	switch word {
	case "true", "True", "TRUE", "false", "False", "FALSE", "null", "Null", "NULL", "~":
		return true
	}
	return false
}

// spell writes the scalar on one line with the same meaning.
func spell(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle == 0 {
		return n.Value
	}
	quoted, _ := json.Marshal(n.Value) // a string always has a JSON form, which is valid YAML
	return n.Tag + " " + string(quoted)
}

// Text returns the scalar in the form of paths: a string unquoted, other values as JSON.
func (r *Reading) Text(n *yaml.Node) (string, bool) {
	n = Target(n)
	if n.Kind != yaml.ScalarNode {
		return "", false
	}
	if IsString(n) {
		return n.Value, true
	}
	j, err := r.Scalar(n)
	if err != nil {
		return "", false
	}
	var s string
	if json.Unmarshal(j, &s) == nil && j[0] == '"' {
		return s, true
	}
	return string(j), true
}

// Convert writes the JSON of a node, as Kubernetes reads it, with sorted keys.
func (r *Reading) Convert(b *bytes.Buffer, n *yaml.Node) error {
	n = Target(n)
	switch n.Kind {
	case yaml.MappingNode:
		entries, _ := r.Entries(n)
		// Like the conversion, which keeps raw JSON in an object unchanged.
		entries = slices.Clone(entries)
		slices.SortStableFunc(entries, func(a, b Entry) int {
			return strings.Compare(a.Name, b.Name)
		})
		b.WriteByte('{')
		for i, e := range entries {
			if i > 0 {
				b.WriteByte(',')
			}
			if e.Err != nil {
				return e.Err
			}
			name, err := json.Marshal(e.Name)
			if err != nil {
				return err
			}
			b.Write(name)
			b.WriteByte(':')
			if err := r.Convert(b, e.Value); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := r.Convert(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	default:
		j, err := r.Scalar(n)
		if err != nil {
			return err
		}
		b.Write(j)
	}
	return nil
}

// ErrDuplicate is the error of a mapping with a duplicate key.
var ErrDuplicate = errors.New("duplicate key")

// Tree returns the value of a node as decoded JSON, with int64 or float64 for numbers. The result
// isDoubtful reports that Kubernetes reads a key as another string than the written one. With
// ErrDuplicate, the tree has the last value of each duplicate key. With another error it is nil.
func (r *Reading) Tree(n *yaml.Node) (tree any, isDoubtful bool, err error) {
	t := treeBuilder{Reading: r}
	if tree, err = t.value(n); err == nil && t.repeats {
		err = ErrDuplicate
	}
	return tree, t.isDoubtful, err
}

type treeBuilder struct {
	*Reading
	isDoubtful, repeats bool
}

func (t *treeBuilder) value(n *yaml.Node) (any, error) {
	n = Target(n)
	switch n.Kind {
	case yaml.MappingNode:
		return t.mapping(n)
	case yaml.SequenceNode:
		items := make([]any, len(n.Content))
		for i, item := range n.Content {
			var err error
			if items[i], err = t.value(item); err != nil {
				return nil, err
			}
		}
		return items, nil
	default:
		return t.scalar(n)
	}
}

func (t *treeBuilder) mapping(n *yaml.Node) (any, error) {
	fields := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if t.IsMerge(n.Content[i]) {
			return fields, t.merging(n, fields)
		}
		name, err := t.Name(n.Content[i])
		if err != nil {
			return nil, err
		}
		if err := t.entry(fields, name, n.Content[i], n.Content[i+1]); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

// merging adds all entries of a mapping with merge keys.
func (t *treeBuilder) merging(n *yaml.Node, fields map[string]any) error {
	clear(fields)
	entries, clashes := t.Entries(n)
	t.repeats = t.repeats || len(clashes) > 0
	for _, e := range entries {
		if e.Err != nil {
			return e.Err
		}
		if err := t.entry(fields, e.Name, e.Key, e.Value); err != nil {
			return err
		}
	}
	return nil
}

func (t *treeBuilder) entry(fields map[string]any, name string, key, value *yaml.Node) (err error) {
	if _, isSet := fields[name]; isSet {
		t.repeats = true
	}
	t.isDoubtful = t.isDoubtful || name != Target(key).Value
	fields[name], err = t.value(value)
	return err
}

// Target follows aliases to their value.
func Target(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// KindOf names the kind of a value for messages. Without a reading, a scalar is a "word".
func KindOf(n *yaml.Node, r *Reading) string {
	switch Target(n).Kind {
	case yaml.MappingNode:
		return "object"
	case yaml.SequenceNode:
		return "list"
	}
	if r == nil {
		return "word"
	}
	j, err := r.Scalar(Target(n))
	switch {
	case err != nil:
		return "number" // .inf and .nan have no JSON form
	case j[0] == '"':
		return "string"
	case j[0] == 't', j[0] == 'f':
		return "boolean"
	case j[0] == 'n':
		return "null"
	}
	return "number"
}

// Article returns the name of a kind with its article.
func Article(kind string) string {
	switch kind {
	case "null":
		return kind
	case "object", "integer":
		return "an " + kind
	}
	return "a " + kind
}

// IsAmbiguous reports whether Kubernetes, with YAML 1.1, reads the bare word as a boolean, and YAML
// 1.2 as a string.
func IsAmbiguous(word string) bool {
	switch word {
	case "y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off",
		"OFF":
		return true
	}
	return false
}

// IsFraction reports whether the scalar is a number with a fraction.
func (r *Reading) IsFraction(n *yaml.Node) bool {
	j, err := r.Scalar(n)
	if err != nil {
		return false
	}
	f, err := strconv.ParseFloat(string(j), 64)
	return err == nil && f != math.Trunc(f)
}

// IsNull reports whether a scalar is null.
func (r *Reading) IsNull(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || IsString(n) {
		return false
	}
	j, err := r.Scalar(n)
	return err == nil && string(j) == "null"
}

// Word returns the string of a scalar, or "" for other nodes.
func (r *Reading) Word(n *yaml.Node) string {
	if n == nil || r.IsNull(n) {
		return ""
	}
	text, _ := r.Text(n)
	return text
}
