package manifest

import (
	"iter"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// This file reads what the layout of a text is: its indentation and its comments.

// sourceOf returns a text as a file of its own.
func sourceOf(text []byte, isJSON bool) *source.Source {
	return &source.Source{File: &source.File{Data: text}, Text: text, Line: 1, Column: 1,
		JSON: isJSON}
}

// within iterates over a node and those below it, in the order of their text. It does not follow
// aliases.
func within(n *yaml.Node) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) { _ = eachWithin(n, yield) }
}

func eachWithin(n *yaml.Node, yield func(*yaml.Node) bool) bool {
	return yield(n) && !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool {
		return !eachWithin(c, yield)
	})
}

func allComments(n *yaml.Node) []string {
	return slices.Concat(commentLines(n.HeadComment), commentLines(n.LineComment),
		commentLines(n.FootComment))
}

// indentation returns the indentation of a text's maps, and whether its lists have none.
func indentation(text []byte) (indent int, isCompact bool) {
	const most = 9 // of the encoder
	root, err := sourceOf(text, false).Nodes()
	if err != nil || root == nil {
		return 2, true
	}
	hasMap, hasList := false, false
	indent, isCompact = 2, true
	for n := range within(root) {
		for i := 0; n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 &&
			i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			deeper := value.Column - key.Column
			switch isBlock := value.Style&yaml.FlowStyle == 0 && len(value.Content) > 0 &&
				value.Line > key.Line; {
			case !isBlock:
			case value.Kind == yaml.SequenceNode && !hasList:
				hasList, isCompact = true, deeper == 0
			case value.Kind == yaml.MappingNode && !hasMap && deeper > 1 && deeper <= most:
				hasMap, indent = true, deeper
			}
		}
	}
	return indent, isCompact
}

// comments counts the comments of a text. The parser of YAML loses some on lines of their own, and
// only it finds those behind values.
func comments(text []byte) map[string]int {
	count, own := map[string]int{}, map[string]int{}
	for _, line := range ownLines(text) {
		own[line]++
	}
	root, _, err := source.ParseYAML(text)
	if err != nil || root == nil {
		return own
	}
	for n := range within(root) {
		for _, line := range allComments(n) {
			count[line]++
		}
	}
	for line, n := range own {
		count[line] = max(count[line], n)
	}
	return count
}

// ownLines returns the comments on lines of their own, which are not in a block scalar.
func ownLines(text []byte) (comments []string) {
	block := -1 // the indentation of the line that starts a block scalar
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimSpace(line)
		deep := len(line) - len(strings.TrimLeft(line, " "))
		if trimmed == "" || block >= 0 && deep > block {
			continue
		}
		if block = -1; strings.HasPrefix(trimmed, "#") {
			comments = append(comments, trimmed)
			continue
		}
		code, _, _ := strings.Cut(trimmed, " #")
		if code = strings.TrimRight(code, " +-0123456789"); strings.HasSuffix(code, "|") ||
			strings.HasSuffix(code, ">") {
			block = deep
		}
	}
	return comments
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
