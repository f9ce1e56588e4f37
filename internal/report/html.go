package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/docs"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/page"
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
	case f.Code == finding.CodeOverlap || f.Code == finding.CodeUnion:
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
	for i := range groups {
		if section := sectionOf(groups[i].First); i == 0 || section != sectionOf(groups[i-1].First) {
			h.Add("h2", htmlSections[section])
		}
		Card(&h.Body, &h.layers, opts, &groups[i])
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
	var codes []finding.Code
	for _, f := range findings {
		if count[f.Code] == 0 {
			codes = append(codes, f.Code)
		}
		count[f.Code]++
	}
	if len(codes) < 2 {
		return
	}
	h.Open("table", page.Class("list"))
	h.Add("caption", "The codes of this report")
	h.Open("tbody")
	for _, code := range codes {
		h.Open("tr")
		h.Add("th", string(code), page.Attr{Name: "scope", Value: "row"})
		h.Add("td", strconv.Itoa(count[code]), page.Class("num"))
		about, _ := docs.Of(code)
		h.Add("td", about.Title)
		h.Close()
	}
	h.Close()
	h.Close()
}

// Card appends the findings of a group to a page: the first one whole, and the places of others.
func Card(b *page.Body, layers *page.Layers, opts Options, g *Group) {
	f := g.First
	b.Open("article", page.Class("card item"))
	b.Open("h3")
	b.Add("span", f.Severity.String()+" "+string(f.Code), page.Class(f.Severity.String()))
	b.Text(" " + f.Message)
	b.Close()
	if at := f.Position.String(); at != "" {
		b.Add("p", at, page.Class("place"))
	}
	if where := place(f); where != "" {
		b.Add("p", where, page.Class("path"))
	}
	source(b, opts, f)
	if all := opts.Claims(f); len(all) > 0 {
		rows := make([]page.Claim, len(all))
		for i, c := range all {
			rows[i] = page.Claim{Layer: string(c.Layer), Value: c.Value, Place: c.Place, Mark: c.Mark}
		}
		b.Claims(layers, "Values", rows)
	}
	if rows := opts.orders(f); rows != nil {
		b.Open("ul")
		for _, order := range rows {
			b.Add("li", strings.Join(order, ": "))
		}
		b.Close()
	}
	if help := opts.help(f); help != "" {
		b.Open("p", page.Class("help"))
		b.Add("strong", "help:")
		b.Text(" " + help)
		b.Close()
	}
	if f.Remedy.IsCertain {
		b.Add("p", "trainweld check --fix repairs it.")
	}
	others(b, opts, g)
	b.Close()
}

// source appends the source line of a finding, with a mark from its column on.
func source(b *page.Body, opts Options, f finding.Finding) {
	shown, under, ok := opts.snippet(f)
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
	b.Close()
}

// others names the other objects of a group.
func others(b *page.Body, opts Options, g *Group) {
	if g.Count == 1 {
		return
	}
	b.Add("p", "The same in "+g.More()+":")
	b.Open("ul")
	for _, f := range g.Others {
		b.Add("li", strings.TrimSpace(f.Position.String()+" "+f.Object.String()+builtFrom(f)))
	}
	if n := g.Unnamed(); n > 0 {
		b.Add("li", opts.hinted(fmt.Sprintf("and %d more", n)))
	}
	b.Close()
}
