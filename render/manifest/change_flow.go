package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/render/manifest/internal/encode"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// flow adds the edits that remove and insert parts of a collection in brackets.
func (e *editing) flow(p *part) {
	old := e.inText(p)
	var first, last *part // the parts that stay
	for i, child := range old {
		if !child.isGone {
			first, last = cmp.Or(first, child), child
			continue
		}
		e.removeFlow(child, i == len(old)-1)
	}
	if n := len(old); last != nil && old[n-1].isGone && !e.hasComma(old[n-1]) {
		comma := e.Skip(e.flowEnd(last))
		e.replace(comma, comma+1, "")
	}
	at := -1
	if p.kind == encode.Object && last != nil {
		at = e.flowEnd(last)
	}
	for i, child := range p.parts {
		switch {
		case child.node != nil:
			if !child.isGone && p.kind == encode.Array {
				at = e.flowEnd(child)
			}
			continue
		case child.isGone:
			continue
		}
		switch hasComma, isCommented := e.behindFlow(at); {
		case at < 0 && e.hasOwnLine(first): // above its comments
			line := e.aboveStart(e.LineStart(e.flowStart(first)))
			e.lines(line, string(e.Before(e.flowStart(first)))+e.flowPart(child, first)+",\n")
		case at < 0:
			start := e.flowStart(first)
			e.replace(start, start, e.flowPart(child, first)+","+e.separator(first))
		case isCommented: // the comment stays with its part
			comma := ""
			if !hasComma && (i == 0 || p.parts[i-1].node != nil) {
				e.replace(at, at, ",")
			}
			if hasComma || slices.ContainsFunc(p.parts[i+1:], func(other *part) bool { return !other.isGone }) {
				comma = ","
			}
			e.lines(e.NextLine(at), indentOf(e.Data, e.flowStart(last))+e.flowPart(child, last)+comma+"\n")
		default:
			e.replace(at, at, ","+e.separator(last)+e.flowPart(child, last))
		}
	}
}

// behindFlow reports whether a comma and a comment follow a part in its line.
func (e *editing) behindFlow(end int) (hasComma, isCommented bool) {
	if end < 0 {
		return false, false
	}
	rest := strings.TrimLeft(string(e.Data[end:e.LineEnd(end)]), " \t")
	rest, hasComma = strings.CutPrefix(rest, ",")
	return hasComma, strings.HasPrefix(strings.TrimLeft(rest, " \t"), "#")
}

func (e *editing) flowStart(p *part) int {
	if p.key != nil {
		return e.Start(p.key)
	}
	return e.Start(p.node)
}

// flowEnd returns the end of a part in brackets.
func (e *editing) flowEnd(p *part) int {
	end := e.End(p.node, 0)
	if p.key != nil {
		end = max(end, e.End(p.key, 0))
	}
	return end
}

func (e *editing) hasComma(p *part) bool {
	at := e.Skip(e.flowEnd(p))
	return at < len(e.Data) && e.Data[at] == ','
}

// hasOwnLine reports whether nothing stands before a part in its line.
func (e *editing) hasOwnLine(p *part) bool {
	return len(bytes.TrimSpace(e.Before(e.flowStart(p)))) == 0
}

// removeFlow removes a part with the comma behind it.
func (e *editing) removeFlow(p *part, isLast bool) {
	start, end := e.flowStart(p), e.flowEnd(p)
	if e.hasComma(p) {
		end = e.Skip(end) + 1
	}
	if rest := e.Data[end:e.LineEnd(end)]; e.hasOwnLine(p) && source.IsBlank(rest) {
		e.replace(e.LineStart(start), e.NextLine(end), "")
		return
	}
	if isLast {
		before := e.Before(start)
		start -= len(before) - len(bytes.TrimRight(before, " \t"))
	} else {
		rest := e.Data[end:e.LineEnd(end)]
		end += len(rest) - len(bytes.TrimLeft(rest, " \t"))
	}
	e.replace(start, end, "")
}

// separator returns the white space behind a comma, in the style of the neighbor.
func (e *editing) separator(neighbor *part) string {
	if e.hasOwnLine(neighbor) {
		return "\n" + string(e.Before(e.flowStart(neighbor)))
	}
	if e.JSON && !e.isSpacious(neighbor) {
		return ""
	}
	return " "
}

// isSpacious reports whether a space follows the colon of a part.
func (e *editing) isSpacious(p *part) bool {
	if p.key == nil {
		return bytes.Contains(e.Data, []byte(`": `))
	}
	colon := e.Skip(e.End(p.key, 0))
	return colon+1 < len(e.Data) && (e.Data[colon+1] == ' ' || e.Data[colon+1] == '\n')
}

// flowPart returns the text of a new part in brackets.
func (e *editing) flowPart(p, neighbor *part) string {
	text := e.flowValue(e.valueOf(p), e.flowStart(neighbor), e.hasOwnLine(neighbor))
	if neighbor.key == nil {
		return text
	}
	colon := ": "
	if e.JSON && !e.isSpacious(neighbor) {
		colon = ":"
	}
	key := *p
	key.key = neighbor.key
	return e.keyText(&key, true) + colon + text
}

// flowValue returns the text of a value in brackets. The offset near is a neighbor's, for the indentation of JSON.
func (e *editing) flowValue(v *encode.Value, near int, hasLines bool) string {
	var b, out bytes.Buffer
	(&encode.Writer{Buffer: &b}).Inline(v, true, e.JSON)
	if !e.JSON {
		return b.String()
	}
	if !hasLines {
		_ = json.Compact(&out, b.Bytes()) // a writer writes valid JSON
		return out.String()
	}
	prefix := indentOf(e.Data, near)
	_ = json.Indent(&out, b.Bytes(), prefix, e.step)
	return out.String()
}

// jsonIndent returns the indentation of a level in JSON of several lines. The first part on a line of its own has it.
func (e *editing) jsonIndent(n *yaml.Node) string {
	for i, child := range n.Content {
		if before := e.Before(e.Start(child)); i == 0 && len(bytes.TrimSpace(before)) == 0 {
			return strings.TrimPrefix(string(before), indentOf(e.Data, e.Start(n)))
		}
		if indent := e.jsonIndent(child); indent != "" {
			return indent
		}
	}
	return ""
}

// inFlow replaces the value of a part in brackets.
func (e *editing) inFlow(p *part) {
	start, end := e.Start(p.node), e.End(p.node, 0)
	if p.node.Anchor != "" {
		start = e.Content(p.node)
	}
	text := e.flowValue(quotedLike(e.valueOf(p), p.node), e.flowStart(p), e.hasOwnLine(p))
	if start >= end {
		start = e.End(p.key, 0)
		if at := e.Skip(start); at < len(e.Data) && e.Data[at] == ':' {
			start = at + 1
		} else {
			text = ":" + text
		}
		end, text = start, " "+text
	}
	e.replace(start, end, text)
}

// indentOf returns the white space at the start of the offset's line.
func indentOf(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}
