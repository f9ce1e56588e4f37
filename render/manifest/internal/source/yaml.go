package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// MaxDocument is the largest request that an API server accepts (3 MiB, the limit of
// k8s.io/apiserver pkg/server/config.go). So it is the largest useful object.
const MaxDocument = 3 << 20

// The errors for rejected texts that are valid YAML, and for templates.
var (
	ErrBomb     = errors.New("its aliases expand it to more than 3 MiB")
	ErrCycle    = errors.New("an alias refers to the value that contains it")
	ErrTooLarge = errors.New("larger than 3 MiB")
	ErrTemplate = errors.New("{{ }} is an object as the key of an object")
)

// nodeError is an error about a node.
type nodeError struct {
	error
	at *yaml.Node
}

func (e nodeError) Unwrap() error { return e.error }

// TrailingError reports text behind the value, with its position if known.
type TrailingError struct{ line, column int }

func (TrailingError) Error() string { return "there is more text after the end of the value" }

// Rejection returns the error of the library with which kubectl reads a text in YAML, or nil.
func (s *Source) Rejection() error {
	return contain(func() error {
		_, err := sigsyaml.YAMLToJSONStrict(s.Text)
		return err
	})
}

// IsUnusual reports whether the library may reject a parsed text in YAML. It may do so for aliases,
// a tab, a rare line break, or a template.
func (s *Source) IsUnusual() bool {
	return !s.JSON && (s.Expanded > 0 || bytes.IndexByte(s.Text, '\t') >= 0 ||
		bytes.Contains(s.Text, []byte("{{")) || mayEnd(s.Text))
}

// mayEnd reports whether a document may end within the text, at a marker that kubectl does not
// split at. A true may be wrong.
func mayEnd(text []byte) bool {
	return bytes.HasPrefix(text, []byte("...")) || bytes.Contains(text, []byte("\n...")) ||
		bytes.Contains(text, []byte("\n%")) || bytes.ContainsAny(text, "\u0085\u2028\u2029") ||
		bytes.Count(text, []byte("\r")) != bytes.Count(text, []byte("\r\n"))
}

// ParseYAML parses one YAML document into nodes. It returns an error if walking them is unsafe, and
// nil for a document without a value. It also returns the number of bytes that its aliases add when
// expanded.
func ParseYAML(text []byte) (root *yaml.Node, expanded int, err error) {
	var document yaml.Node
	err = contain(func() error {
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		if err := decoder.Decode(&document); err != nil {
			return err
		}
		for {
			var next yaml.Node
			if err := decoder.Decode(&next); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				line, _ := Syntax(err)
				return TrailingError{line: line}
			}
			if len(next.Content) > 0 && next.Content[0].ShortTag() != "!!null" {
				return TrailingError{line: next.Line, column: next.Column}
			}
		}
	})
	if errors.Is(err, io.EOF) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if len(document.Content) != 1 {
		return nil, 0, nil
	}
	root = document.Content[0]
	if bytes.IndexByte(text, '!') >= 0 && bareTag().Match(text) {
		var lines [][]rune
		for line := range bytes.Lines(text) {
			lines = append(lines, []rune(string(line)))
		}
		tagStrings(root, lines)
	}
	e, err := (&expansion{seen: map[*yaml.Node]extent{}}).of(root)
	switch {
	case err != nil:
		return nil, 0, err
	case e.depth > maxDepth:
		return nil, 0, ErrTooDeep
	case e.aliased && e.size > MaxDocument:
		return nil, 0, ErrBomb
	}
	if e.aliased {
		expanded = max(1, e.size-len(text))
	}
	return root, expanded, nil
}

// bareTag matches the tag ! that makes a string of any scalar. The nodes lack it.
func bareTag() *regexp.Regexp { return regexp.MustCompile(`(?:^|[\s\[{,])!(?:[\s,\]}]|$)`) }

// tagStrings tags the scalars with a bare tag as strings. Lines are converted once, since one may
// have all scalars.
func tagStrings(n *yaml.Node, lines [][]rune) {
	if n.Kind == yaml.ScalarNode && n.Style == 0 && n.Line <= len(lines) &&
		n.Column <= len(lines[n.Line-1]) {
		text := lines[n.Line-1][n.Column-1:]
		if text[0] == '&' { // an anchor
			text = text[max(0, slices.IndexFunc(text, unicode.IsSpace)):]
			text = text[max(0, slices.IndexFunc(text, func(r rune) bool {
				return !unicode.IsSpace(r)
			})):]
		}
		if len(text) > 0 && text[0] == '!' &&
			(len(text) == 1 || unicode.IsSpace(text[1]) || strings.ContainsRune(",]}", text[1])) {
			n.Tag, n.Style = "!!str", yaml.TaggedStyle
		}
	}
	for _, child := range n.Content {
		tagStrings(child, lines)
	}
}

// contain turns a panic into an error. The YAML libraries panic inside and pass on unknown panics.
// A bad file must not end the program.
func contain(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML reader failed: %v", r)
		}
	}()
	return f()
}

// extent is the size of a value with expanded aliases.
type extent struct {
	size, depth int
	aliased     bool
}

// expansion measures values without expanding them. It measures each anchor once. Its recursion is
// as deep as the text nests; the parser limits this to 10,000 levels.
type expansion struct {
	seen map[*yaml.Node]extent // of nodes with anchors; zero during the measurement
}

func (x *expansion) of(n *yaml.Node) (extent, error) {
	if n.Kind == yaml.AliasNode {
		e := x.seen[n.Alias]
		if e.size == 0 {
			return e, nodeError{ErrCycle, n}
		}
		e.aliased = true
		return e, nil
	}
	e := extent{size: len(n.Value) + 1}
	for _, child := range n.Content {
		c, err := x.of(child)
		if err != nil {
			return e, err
		}
		e.size = min(e.size+c.size, 1<<40) // limited to avoid an overflow
		e.depth = max(e.depth, c.depth)
		e.aliased = e.aliased || c.aliased
	}
	if n.Kind != yaml.ScalarNode {
		e.depth++
	}
	if n.Anchor != "" {
		x.seen[n] = e
	}
	return e, nil
}

// Syntax splits the error of a YAML library into the line in the document, 0 if unknown, and the
// problem.
func Syntax(err error) (line int, problem string) {
	problem = strings.TrimPrefix(err.Error(), "yaml: ")
	problem = strings.TrimPrefix(problem, "error converting YAML to JSON: yaml: ")
	if m := regexp.MustCompile(`(?s)^line (\d+): (.*)$`).FindStringSubmatch(problem); m != nil {
		line, _ = strconv.Atoi(m[1])
		problem = m[2]
		if offByOne(problem) {
			line++
		}
	}
	if problem == "exceeded max depth of 10000" {
		problem = ErrTooDeep.Error()
	}
	return line, problem
}

// offByOne recognizes problems whose line the libraries count from 0. These come from their
// parsers, not their scanners (go.yaml.in/yaml/v2 decode.go, parser.fail).
func offByOne(problem string) bool {
	switch problem {
	case "did not find expected key", "did not find expected node content",
		"did not find expected ',' or ']'",
		"did not find expected ',' or '}'", "did not find expected '-' indicator",
		"did not find expected <document start>":
		return true
	}
	return false
}

// MayHaveAliases reports whether a text may have aliases. A true may be wrong.
func MayHaveAliases(text []byte) bool {
	return bytes.IndexByte(text, '*') >= 0 && bytes.IndexByte(text, '&') >= 0
}
