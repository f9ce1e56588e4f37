package manifest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/render/manifest/internal/encode"
)

// editing derives the edits of a text from its changed parts.
type editing struct {
	*changer
	lists  int    // the indentation of lists below their keys
	step   string // the indentation of a level in JSON of several lines
	result []Edit
	err    error
}

// replace adds an edit. It uses the line breaks of the text.
func (e *editing) replace(start, end int, text string) {
	if end, next := e.LineEnd(0), e.NextLine(0); string(e.Data[end:next]) == "\r\n" {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	e.result = append(e.result, Edit{start, end, []byte(text)})
}

// lines inserts lines at the start of a line, or at the end of the text.
func (e *editing) lines(at int, text string) {
	if at == len(e.Data) && at > 0 && e.LineEnd(e.LineStart(at)) == at {
		text = "\n" + strings.TrimSuffix(text, "\n")
	}
	e.replace(at, at, text)
}

func (e *editing) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// keyText returns the new name of a part in the quotes of the old one.
func (e *editing) keyText(p *part, isFlow bool) string {
	b := &bytes.Buffer{}
	(&encode.Writer{Buffer: b}).Inline(quotedLike(&encode.Value{Kind: encode.Text, Text: p.name}, p.key), isFlow, e.JSON)
	return b.String()
}

// place returns the offset of a part's key or dash, and its indentation.
func (e *editing) place(p *part) (at, indent int) {
	if p.key != nil {
		at = e.Start(p.key)
	} else {
		at = e.Dash(p.node)
	}
	return at, at - e.LineStart(at)
}

// behind returns the end of the lines of a part in block style.
func (e *editing) behind(p *part) int {
	_, indent := e.place(p)
	return e.Region(e.End(p.node, indent), indent)
}

// inText returns the parts that the value's own text holds, in its order.
func (e *editing) inText(p *part) []*part {
	var old []*part
	for _, child := range p.parts {
		if child.node != nil && !child.isMerged {
			old = append(old, child)
		}
	}
	if p.kind == encode.Object {
		slices.SortStableFunc(old, func(a, b *part) int { return cmp.Compare(e.Start(a.key), e.Start(b.key)) })
	}
	return old
}

// aboveStart returns the start of the comments directly above a line.
func (e *changer) aboveStart(line int) int {
	indent := e.Indent(line)
	for line > 0 {
		before := e.LineStart(line - 1)
		text := strings.TrimRight(string(e.Data[before:line]), "\r\n")
		if e.Indent(before) != indent || !strings.HasPrefix(text[min(indent, len(text)):], "#") {
			break
		}
		line = before
	}
	return line
}

// above returns the comments directly above a field or an item that has lines of its own.
func (c *changer) above(p *part) []string {
	at := c.Dash(p.node)
	if p.key != nil {
		at = c.Start(p.key)
	}
	if len(bytes.TrimLeft(c.Before(at), " ")) > 0 {
		return nil
	}
	line := c.LineStart(at)
	return commentLines(string(c.Data[c.aboveStart(line):line]))
}
