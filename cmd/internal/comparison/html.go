package comparison

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/page"
)

// mostOpen is the number of groups that a page shows open.
const mostOpen = 5

// longestSide is the longest name of a version in a title.
const longestSide = 80

// WriteHTML writes the comparison as a page. It has the parts of a comment on a pull request, and
// all changes. It returns the errors of w.
func (c *Comparison) WriteHTML(w io.Writer, version string) error {
	var b htmlWriter
	d := c.document()
	b.part(d.effects)
	for _, note := range d.notes {
		b.Add("p", note)
	}
	for _, p := range append([]part{d.causes}, d.others...) {
		b.part(p)
	}
	for i, g := range d.groups {
		if i == 0 {
			b.Add("h2", "What changes")
		}
		b.group(i, g, len(d.groups) <= mostOpen)
	}
	lead := []string{d.headline}
	for _, v := range []*Version{c.old, c.new} {
		if v.Commit != "" {
			lead = append(lead, v.Name+" is "+v.Commit)
		}
	}
	title := "What differs between " + shortened(c.old.Name, longestSide) + " and " +
		shortened(c.new.Name, longestSide)
	return page.Write(
		w, page.Document{Title: title, Lead: lead, Version: version, Layers: &b.layers,
			Filtered: "changes"}, &b.Body)
}

// htmlWriter writes the parts of a page.
type htmlWriter struct {
	page.Body
	layers page.Layers
}

func (b *htmlWriter) part(p part) {
	if len(p.items) == 0 {
		return
	}
	b.Add("h2", p.head)
	if p.lead != "" {
		b.Add("p", p.lead)
	}
	b.items(p.items)
}

// items appends a list. The filter of layers hides an item whose details name other layers.
func (b *htmlWriter) items(items []item) {
	b.Open("ul")
	for _, of := range items {
		b.Open("li", page.If(slices.ContainsFunc(of.details, item.namesLayer), page.Class("item")))
		b.spans(of.line())
		if len(of.details) > 0 {
			b.items(of.details)
		}
		b.Close()
	}
	b.Close()
}

func (i item) namesLayer() bool {
	return slices.ContainsFunc(i.spans, func(s span) bool { return s.style == layer })
}

func (b *htmlWriter) spans(spans []span) {
	for _, s := range spans {
		switch {
		case s.style == code:
			b.Add("code", s.text)
		case s.style == strong:
			b.Add("strong", s.text)
		case s.style == layer:
			b.Add("span", s.text, page.Class("by "+b.layers.Class(s.text)))
		case s.style == source && s.text != "":
			b.Text(" (")
			b.Add("a", "source", page.Attr{Name: "href", Value: s.text})
			b.Text(")")
		case s.style == plain:
			b.Words(s.text)
		}
	}
}

// classOf returns the class of a line with a mark.
func classOf(mark byte) string {
	return map[byte]string{'-': "del", '+': "add", '@': "at", 'a': "head", 'b': "head", '!': "head",
		'#': "effect"}[mark]
}

// group appends the unified diff of a group with a margin for the layers. A cause follows its line.
func (b *htmlWriter) group(number int, g *changeGroup, open bool) {
	b.Open("details", page.Class("item object"), page.ID("g"+strconv.Itoa(number+1)),
		page.If(open, page.Attr{Name: "open"}))
	b.Open("summary")
	b.Add("h3", plainText(g.title()))
	b.Close()
	b.Open("ol", page.Class("diff"))
	for _, l := range g.lines {
		text, class := l.text,
			strings.TrimSpace(classOf(l.mark)+" "+b.layers.Class(string(l.layer)))
		if l.mark == '-' || l.mark == '+' || l.mark == ' ' {
			text = string(l.mark) + text
			class = strings.TrimSpace(class + page.Indent(text+l.note))
		}
		b.Void("li", page.If(class != "", page.Class(class)))
		b.Text(text)
		if l.note != "" {
			b.Add("i", "# "+l.note)
		}
		b.Break()
	}
	b.Close()
	b.Close()
}
