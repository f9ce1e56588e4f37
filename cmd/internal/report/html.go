package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/page"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// htmlReport writes findings as a page, one card for each cause.
type htmlReport struct {
	page.Body
	opts   Options
	layers page.Layers
}

// htmlSections are the sections of a page in their order.
var htmlSections = [...]string{"Managers disagree", "Errors", "Warnings", "Notes"}

func sectionOf(f finding.Finding) int {
	switch {
	case f.Code == codes.Overlap || f.Code == codes.Union:
		return 0
	case f.Severity >= finding.Error:
		return 1
	case f.Severity == finding.Warning:
		return 2
	default:
		return 3
	}
}

// writeHTML writes a page with the disagreements of managers first, then errors, warnings and notes.
func writeHTML(w io.Writer, findings finding.List, opts Options) error {
	h := htmlReport{opts: opts}
	findings = slices.Clone(findings)
	slices.SortStableFunc(findings, func(a, b finding.Finding) int { return sectionOf(a) - sectionOf(b) })
	h.codes(findings)
	groups, left := opts.groups(findings, MaxShown)
	for len(groups) > 0 {
		section := sectionOf(groups[0].First)
		end := 1
		for end < len(groups) && sectionOf(groups[end].First) == section {
			end++
		}
		h.Add("h2", htmlSections[section])
		Cards(&h.Body, &h.layers, opts, groups[:end])
		groups = groups[end:]
	}
	for _, e := range left {
		text := e.String()
		if e.file != "" {
			text = e.file + ": " + text
		}
		h.Add("p", opts.hinted(text))
	}
	lead := []string{cmp.Or(Summary("html", findings, opts), "nothing to report")}
	if opts.Lead != "" {
		lead = append([]string{opts.Lead}, lead...)
	}
	return page.Write(w, page.Document{Title: cmp.Or(opts.Title, "Findings"), Lead: lead, Version: opts.Version, Layers: &h.layers, Filtered: "findings"}, &h.Body)
}

// codes appends a table that counts the findings of each code, if there are several.
func (h *htmlReport) codes(findings finding.List) {
	count := map[finding.Code]int{}
	var used []finding.Code
	var severities []finding.Severity
	for _, f := range findings {
		if count[f.Code] == 0 {
			used, severities = append(used, f.Code), append(severities, f.Severity)
		}
		count[f.Code]++
	}
	if len(used) < 2 {
		return
	}
	h.Table("The codes of this report")
	for i, code := range used {
		h.Open("tr")
		h.Add("th", string(code), page.Attr{Name: "scope", Value: "row"})
		h.Add("td", strconv.Itoa(count[code]), page.Class("num "+severities[i].String()))
		about, _ := codes.Of(code)
		h.Add("td", about.Title)
		h.Close()
	}
	h.Close()
	h.Close()
}

// head is the part of findings that a card shows once.
type head struct {
	code          finding.Code
	severity      finding.Severity
	message, help string
}

// Cards appends the findings of groups to a page. Groups with one message and one remedy share a card, at the place of the first one.
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
	b.Text(" " + h.message)
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
		b.Text(" " + h.help)
		b.Close()
	}
}

// appendGroup appends the first finding of a group with its source line and its claims, and the places of others.
func appendGroup(b *page.Body, layers *page.Layers, opts Options, g *Group) {
	f := g.First
	at, where := f.Position.String(), objectAndField(f)
	if at != "" || where != "" {
		b.Open("p", page.Class("path"))
		if at != "" {
			b.Add("span", at, page.Class("place"))
			b.Text(" ")
		}
		b.Text(where)
		b.Close()
	}
	appendSourceLine(b, opts, f)
	if all := opts.Claims(f); len(all) > 0 {
		rows := make([]page.ClaimRow, len(all))
		for i, c := range all {
			rows[i] = page.ClaimRow{Layer: string(c.Layer), Value: c.Value, Place: c.Place, Mark: c.Mark}
		}
		b.Claims(layers, "", rows)
	}
	var outcomes []string
	for _, order := range opts.orders(f) {
		outcomes = append(outcomes, strings.Join(order, ": "))
	}
	if outcomes != nil {
		b.List(outcomes)
	}
	otherObjects(b, opts, g)
}

// appendSourceLine appends the source line of a finding, with a mark from its column on. The value of a field in dispute may begin below.
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
		places = append(places, strings.TrimSpace(f.Position.String()+" "+f.Object.String()+builtFrom(f)))
	}
	if n := g.Unnamed(); n > 0 {
		places = append(places, opts.hinted(fmt.Sprintf("and %d more", n)))
	}
	b.List(places)
}
