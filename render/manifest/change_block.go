package manifest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainweld/trainweld/render/manifest/internal/encode"
	"github.com/trainweld/trainweld/render/manifest/internal/source"
)

// edits returns the edits of the text, sorted.
func (c *changer) edits() ([]Edit, error) {
	e := &editing{changer: c, lists: listIndent(c.root.node)}
	if c.JSON {
		e.step = cmp.Or(e.jsonIndent(c.root.node), "  ")
	}
	if c.root.value != nil {
		return nil, errEmptyObject
	}
	e.parts(c.root)
	if e.err != nil {
		return nil, e.err
	}
	slices.SortStableFunc(e.result, func(a, b Edit) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	for i := 1; i < len(e.result); i++ {
		if e.result[i].Start < e.result[i-1].End {
			return nil, errOverlap
		}
	}
	return e.result, nil
}

// isReplaced reports whether a part gets another text as a whole.
func (e *editing) isReplaced(p *part) bool {
	if p.value != nil || !p.isKnown {
		return p.value != nil
	}
	n := source.Target(p.node)
	if (n.Kind == yaml.MappingNode) != (p.kind == encode.Object) || n.Kind == yaml.ScalarNode {
		return true
	}
	stays := slices.ContainsFunc(p.parts, func(child *part) bool { return child.node != nil && !child.isGone })
	return !stays && slices.ContainsFunc(p.parts, func(child *part) bool { return child.node == nil && !child.isGone })
}

// parts adds the edits of the parts of a value.
func (e *editing) parts(p *part) {
	if !p.isKnown {
		return
	}
	isFlow := e.IsFlow(source.Target(p.node))
	for _, child := range p.parts {
		if child.node == nil || child.isGone || child.isMerged {
			continue
		}
		if child == e.replaced && !isFlow {
			e.inPlace(p, child)
			continue
		}
		if child == e.replaced && len(e.lost) > 0 && e.hasOwnLine(child) {
			line := e.LineStart(e.flowStart(child))
			e.lines(line, e.lostLines(e.flowStart(child)-line))
		}
		if child.name != child.was {
			e.replace(e.Content(child.key), e.End(child.key, 0), e.keyText(child, isFlow))
		}
		switch {
		case !e.isReplaced(child):
			e.parts(child)
		case slices.ContainsFunc(source.Target(child.node).Content, e.IsMerge):
			e.fail(errShared)
		case isFlow:
			e.inFlow(child)
		default:
			e.inBlock(child)
		}
	}
	// After the parts within, whose new lines may have the same place.
	switch {
	case !slices.ContainsFunc(p.parts, func(child *part) bool { return child.isGone || child.node == nil }):
	case isFlow:
		e.flow(p)
	default:
		e.block(p)
	}
}

// inPlace replaces the lines of a part of an object by its new name and value. Comments without a place go above them.
func (e *editing) inPlace(p, child *part) {
	at, indent := e.place(child)
	if len(bytes.TrimSpace(e.Before(at))) > 0 {
		e.fail(errReads)
		return
	}
	start, end := e.LineStart(at), e.behind(child)
	if e.used[child.key] {
		start = e.aboveStart(start) // the new text has them
	}
	text := e.lostLines(indent) + e.partLines(p, child, indent)
	if end == len(e.Data) && e.LineEnd(e.LineStart(end)) == end && end > e.LineStart(end) {
		text = strings.TrimSuffix(text, "\n")
	}
	e.replace(start, end, text)
}

// lostLines returns the lines of the comments without a place.
func (e *editing) lostLines(indent int) string {
	var b strings.Builder
	for _, comment := range e.lost {
		b.WriteString(strings.Repeat(" ", indent) + comment + "\n")
	}
	return b.String()
}

// block adds the edits that remove and insert parts of a collection in block style.
func (e *editing) block(p *part) {
	old := e.inText(p)
	isFirst := len(old) > 0 && e.hasOwnLine(old[0]) // what follows a dash moves up itself
	for i, child := range old {
		if child.isGone {
			e.removeLines(child, old[i+1:], isFirst)
		} else {
			isFirst = false
		}
	}
	at, indent := -1, 0
	if len(old) > 0 {
		_, indent = e.place(old[0])
	}
	if p.kind == encode.Object && len(old) > 0 {
		at = e.behind(old[len(old)-1])
	}
	for _, child := range p.parts {
		switch {
		case child.node != nil:
			if p.kind == encode.Array {
				at = e.behind(child)
			}
			continue
		case child.isGone:
			continue
		case len(old) == 0:
			e.fail(errShared) // only merge keys
			return
		case at < 0:
			first, _ := e.place(old[0])
			if at = e.LineStart(first); len(bytes.TrimSpace(e.Before(first))) > 0 {
				e.fail(errReads)
				return
			}
		}
		e.lines(at, e.partLines(p, child, indent))
	}
}

// isBlankLine reports whether the line from an offset on has white space only.
func (e *editing) isBlankLine(line int) bool {
	return strings.TrimSpace(string(e.Data[line:e.LineEnd(line)])) == ""
}

// removeLines removes the lines of a part. behind are the later parts. isFirst says that no earlier part stays.
func (e *editing) removeLines(p *part, behind []*part, isFirst bool) {
	start, _ := e.place(p)
	end := e.behind(p)
	if len(bytes.TrimLeft(e.Before(start), " ")) == 0 {
		if start = e.LineStart(start); p.isMoved || e.used[p.key] {
			start = e.aboveStart(start)
		}
		e.replace(start, end, "")
		if end < len(e.Data) && e.isBlankLine(end) && (isFirst || start == 0 || e.isBlankLine(e.LineStart(start-1))) {
			e.replace(end, e.NextLine(end), "") // one of two blank lines that would meet, or one above the first part
		}
		return
	}
	// The next line follows the dash.
	stop := end
	for stop < len(e.Data) {
		i := slices.IndexFunc(behind, func(other *part) bool {
			at, _ := e.place(other)
			return other.isGone && e.LineStart(at) == stop
		})
		if i >= 0 {
			stop = e.behind(behind[i])
			continue
		}
		if !e.isBlankLine(stop) {
			break
		}
		stop = e.NextLine(stop)
	}
	e.replace(start, end, "")
	for line := end; line < stop; line = e.NextLine(line) {
		if e.isBlankLine(line) {
			e.replace(line, e.NextLine(line), "")
		}
	}
	if stop < len(e.Data) {
		e.replace(stop, stop+e.Indent(stop), "")
	}
}

// partLines returns the lines of a new part of a collection.
func (e *editing) partLines(p, child *part, indent int) string {
	b := &bytes.Buffer{}
	out := &encode.Writer{Buffer: b, Lists: e.lists}
	v := e.valueOf(child)
	if p.kind == encode.Object {
		out.Indent(indent)
		out.Entries(&encode.Value{Kind: encode.Object, Entries: []encode.Member{{Key: child.name, Value: v}}}, indent)
		return b.String()
	}
	return e.below(&encode.Value{Kind: encode.Array, Items: []*encode.Value{v}}, indent, 0)
}

// below returns the lines of a collection below a key.
func (e *editing) below(v *encode.Value, indent, lists int) string {
	b := &bytes.Buffer{}
	plain := *v
	plain.Note = nil
	(&encode.Writer{Buffer: b, Lists: lists}).Entries(&encode.Value{Kind: encode.Object, Entries: []encode.Member{{Key: "key", Value: &plain}}}, indent)
	_, text, _ := strings.Cut(b.String(), "\n")
	return text
}

// inBlock replaces the value of a part of a collection in block style.
func (e *editing) inBlock(p *part) {
	v := quotedLike(e.valueOf(p), p.node)
	at, indent := e.place(p)
	mark := at + len("-")
	if p.key != nil {
		mark = e.Skip(e.End(p.key, 0))
		if mark >= len(e.Data) || e.Data[mark] != ':' {
			e.fail(errReads)
			return
		}
		mark++
	}
	start, end := e.Start(p.node), e.End(p.node, indent)
	if p.node.Anchor != "" && p.node.Kind == yaml.ScalarNode {
		start = e.Content(p.node)
	}
	isBlank := start >= end
	isBelow := !isBlank && e.LineStart(start) != e.LineStart(mark)
	b := &bytes.Buffer{}
	isInline := (&encode.Writer{Buffer: b}).Inline(v, false, false)
	switch {
	case isInline && isBlank:
		e.replace(mark, mark, " "+b.String())
	case isInline && isBelow:
		e.replace(mark, mark, " "+b.String())
		e.replace(e.NextLine(mark), e.Region(end, indent), "")
	case isInline:
		e.replace(start, end, b.String())
	case p.key == nil:
		b.Reset()
		text := strings.TrimPrefix(strings.TrimLeft(e.below(&encode.Value{Kind: encode.Array, Items: []*encode.Value{v}}, indent, 0), " "), "- ")
		e.replace(mark, max(end, mark), " "+strings.TrimSuffix(text, "\n"))
	case isBelow:
		e.replace(e.NextLine(mark), e.Region(end, indent), e.below(v, indent, e.lists))
	default:
		e.replace(mark, max(end, mark), "")
		e.lines(e.NextLine(max(end, mark)), e.below(v, indent, e.lists))
	}
}

// listIndent returns the indentation of the first list below a node relative to its key.
func listIndent(root *yaml.Node) int {
	found := -1
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i, child := range n.Content {
			if found >= 0 {
				return
			}
			if n.Kind == yaml.MappingNode && i%2 == 1 && child.Kind == yaml.SequenceNode && child.Style&yaml.FlowStyle == 0 && len(child.Content) > 0 {
				if deep := child.Column - n.Content[i-1].Column; deep >= 0 {
					found = deep
					return
				}
			}
			walk(child)
		}
	}
	walk(root)
	return max(found, 0)
}
