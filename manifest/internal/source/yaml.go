package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// MaxDocument is the size of the largest request that an API server takes (3 MiB, the limit of
// k8s.io/apiserver pkg/server/config.go), and so of the largest object worth reading.
const MaxDocument = 3 << 20

// The errors of texts that are refused although YAML allows them, and of templates.
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

// TrailingError reports text behind the value: where it begins, as far as the library tells.
type TrailingError struct{ line, column int }

func (TrailingError) Error() string { return "there is more text after the end of the value" }

// ToJSON converts the YAML document to the JSON that Kubernetes reads it as.
func ToJSON(s *Source) ([]byte, error) {
	if MayHaveAliases(s.Text) || !IsBlockAtMargin(s.Text) {
		// ParseYAML refuses alias bombs and text after the value; the conversion below would expand
		// the ones and leave the others unread.
		if _, err := s.Nodes(); err != nil {
			return nil, err
		}
	}
	var converted []byte
	err := contain(func() (err error) {
		converted, err = sigsyaml.YAMLToJSONStrict(s.Text)
		return err
	})
	if err != nil {
		return nil, err
	}
	if jsonDepth(converted) > maxDepth {
		return nil, ErrTooDeep
	}
	return converted, nil
}

// ParseYAML parses one YAML document into nodes and refuses what would not be safe to walk. The result
// is nil if there is no value. expanded is what its aliases add to the text once they are written out.
func ParseYAML(text []byte) (root *yaml.Node, expanded int, err error) {
	var document yaml.Node
	err = contain(func() error {
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		if err := decoder.Decode(&document); err != nil {
			return err
		}
		var next yaml.Node
		if err := decoder.Decode(&next); err == nil {
			return TrailingError{line: next.Line, column: next.Column}
		} else if !errors.Is(err, io.EOF) {
			line, _ := Syntax(err)
			return TrailingError{line: line}
		}
		return nil
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

// contain turns a panic into an error. The YAML libraries report errors by panics inside and hand on
// those that they do not know; a bad file must not end the program.
func contain(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML reader failed: %v", r)
		}
	}()
	return f()
}

// extent is how large a value is once its aliases are written out.
type extent struct {
	size, depth int
	aliased     bool
}

// expansion measures values without expanding them: each anchor is measured once. The recursion is as
// deep as the text nests, which the parser limits to 10,000 levels.
type expansion struct {
	seen map[*yaml.Node]extent // of nodes with anchors; zero while being measured
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
		e.size = min(e.size+c.size, 1<<40) // so that it cannot overflow
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

// Syntax takes the error of a YAML library apart: the line within the document, 0 where it is not
// known, and the problem.
func Syntax(err error) (line int, problem string) {
	problem = strings.TrimPrefix(err.Error(), "yaml: ")
	problem = strings.TrimPrefix(problem, "error converting YAML to JSON: yaml: ")
	if m := lineInError().FindStringSubmatch(problem); m != nil {
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

func lineInError() *regexp.Regexp { return regexp.MustCompile(`(?s)^line (\d+): (.*)$`) }

// offByOne recognizes the problems whose line the libraries count from 0: their parsers', not their
// scanners' (go.yaml.in/yaml/v2 decode.go, parser.fail).
func offByOne(problem string) bool {
	switch problem {
	case "did not find expected key", "did not find expected node content", "did not find expected ',' or ']'",
		"did not find expected ',' or '}'", "did not find expected '-' indicator", "did not find expected <document start>":
		return true
	}
	return false
}

// MayHaveAliases reports whether a text may have aliases. A true may be false.
func MayHaveAliases(text []byte) bool {
	return bytes.IndexByte(text, '*') >= 0 && bytes.IndexByte(text, '&') >= 0
}
