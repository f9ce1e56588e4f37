package manifest

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/render/manifest/internal/encode"
)

// jsonText returns nodes as JSON. It has one line if the text before has one, and else the
// indentation of that text. The parameter around is the indentation of the lines around it.
func jsonText(root *yaml.Node, before []byte, around string) ([]byte, error) {
	var b bytes.Buffer
	isSpaced := bytes.Contains(before, []byte(`": `))
	writeJSON(&b, root, isSpaced)
	_, rest, hasLines := bytes.Cut(bytes.TrimRight(before, "\n"), []byte("\n"))
	if !hasLines {
		return b.Bytes(), nil
	}
	indent := strings.TrimPrefix(indentOf(rest), around)
	if indent == "" {
		indent = "  "
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, b.Bytes(), around, indent); err != nil {
		return nil, err
	}
	return indented.Bytes(), nil
}

// indentOf returns the spaces and tabs at the start of a text.
func indentOf(text []byte) string {
	return string(text[:len(text)-len(bytes.TrimLeft(text, " \t"))])
}

func writeJSON(b *bytes.Buffer, n *yaml.Node, isSpaced bool) {
	comma, colon := ",", ":"
	if isSpaced {
		comma, colon = ", ", ": "
	}
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b.WriteString(comma)
			}
			encode.Quoted(b, n.Content[i].Value)
			b.WriteString(colon)
			writeJSON(b, n.Content[i+1], isSpaced)
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				b.WriteString(comma)
			}
			writeJSON(b, item, isSpaced)
		}
		b.WriteByte(']')
	default:
		if n.Style&yaml.DoubleQuotedStyle != 0 {
			encode.Quoted(b, n.Value)
		} else {
			b.WriteString(n.Value)
		}
	}
}
