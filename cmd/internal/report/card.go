package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/page"
	"github.com/trainweld/trainweld/finding"
)

// head is the part of findings that a card shows once.
type head struct {
	code          finding.Code
	severity      finding.Severity
	message, help string
}

// Cards appends the findings of groups to a page. Groups with one message and one remedy share a
// card, at the place of the first one.
func Cards(b *page.Body, layers *page.Layers, opts Options, groups []Group) {
	var heads []head
	entries := map[head][]*Group{}
	for i := range groups {
		f := &groups[i].First
		h := head{code: f.Code, severity: f.Severity, message: f.Message, help: opts.help(*f)}
		if entries[h] == nil {
			heads = append(heads, h)
		}
		entries[h] = append(entries[h], &groups[i])
	}
	for _, h := range heads {
		card(b, layers, opts, h, entries[h])
	}
}

// card appends a card. The remedy of several findings comes first.
func card(b *page.Body, layers *page.Layers, opts Options, h head, groups []*Group) {
	b.Open("article", page.Class("card item"))
	b.Open("h3")
	b.Add("span", h.severity.String()+" "+string(h.code), page.Class(h.severity.String()))
	b.Words(" " + h.message)
	b.Close()
	if len(groups) > 1 {
		h.remedy(b)
	}
	for _, g := range groups {
		b.Open("div", page.Class("entry item"))
		appendGroup(b, layers, opts, g)
		b.Close()
	}
	if len(groups) == 1 {
		h.remedy(b)
	}
	b.Close()
}

func (h head) remedy(b *page.Body) {
	if h.help != "" {
		b.Open("p", page.Class("help"))
		b.Add("strong", "help:")
		b.Words(" " + h.help)
		b.Close()
	}
}

// appendGroup appends the first finding of a group with its source line and its claims, and the
// places of others.
func appendGroup(b *page.Body, layers *page.Layers, opts Options, g *Group) {
	f := g.First
	at, where := f.Position.String(), objectAndField(f)
	if at != "" || where != "" {
		b.Open("p", page.Class("path"))
		if at != "" {
			b.Add("span", at, page.Class("place"))
			b.Text(" ")
		}
		b.Words(where)
		b.Close()
	}
	appendSourceLine(b, opts, f)
	if all := opts.Claims(f); len(all) > 0 {
		rows := make([]page.ClaimRow, len(all))
		for i, c := range all {
			rows[i] = page.ClaimRow{Layer: string(c.Layer), Value: c.Value, Place: c.Place,
				Mark: c.Mark}
		}
		b.Claims(layers, "", rows)
	}
	otherObjects(b, opts, g)
}

// appendSourceLine appends the source line of a finding, with a mark from its column on. The value
// of a field in dispute may begin below.
func appendSourceLine(b *page.Body, opts Options, f finding.Finding) {
	shown, under, ok := opts.snippet(f, longestSnippet+opts.nameWidth(f))
	if !ok {
		return
	}
	b.Open("div", page.Class("source"))
	b.Add("i", strconv.Itoa(f.Position.Line))
	line := []rune(shown)
	at := min(len([]rune(under)), len(line))
	if f.Position.Column == 0 {
		at = len(line)
	}
	b.Text(strings.TrimLeft(strings.ReplaceAll(string(line[:at]), "\t", "    "), " "))
	if rest := string(line[at:]); rest != "" {
		b.Add("mark", strings.ReplaceAll(rest, "\t", "    "))
	}
	if len(f.Claims) > 1 {
		for i, line := range opts.rest(f) {
			b.Break()
			b.Add("i", strconv.Itoa(f.Position.Line+1+i))
			b.Text(strings.TrimPrefix(line, strings.Repeat(" ", f.Position.Column-1)))
		}
	}
	b.Close()
}

// otherObjects names the other objects of a group.
func otherObjects(b *page.Body, opts Options, g *Group) {
	if g.Count == 1 {
		return
	}
	b.Add("p", "The same in "+g.More()+":")
	var places []string
	for _, f := range g.Others {
		places = append(
			places, strings.TrimSpace(f.Position.String()+" "+f.Object.String()+builtFrom(f)))
	}
	if n := g.Unnamed(); n > 0 {
		places = append(places, opts.hinted(fmt.Sprintf("and %d more", n)))
	}
	b.List(places)
}
