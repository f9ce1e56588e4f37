package comparison

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/page"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/finding"
)

// mostOpen is the number of groups that a page shows open.
const mostOpen = 5

// longestSide is the longest name of a version in a title.
const longestSide = 80

// WriteHTML writes the comparison as a page. It has the parts of a comment on a pull request, and
// all changes. It returns the errors of w and of the encoding.
func (c *Comparison) WriteHTML(w io.Writer, version string) error {
	b := htmlWriter{showValues: !c.mask}
	s := c.summary()
	b.effectTable(c.effects().rows())
	for _, note := range c.new.Notes {
		b.Add("p", note)
	}
	sections := c.findingSections()
	for i := range sections {
		b.findingSection(&sections[i])
	}
	b.causes(s)
	b.todo(c.remedies(sections, firstNames, func(text string) string { return text }))
	b.oldErrors(c.oldErrors)
	groups := c.groups()
	for i, g := range groups {
		if i == 0 {
			b.Add("h2", "What changes")
		}
		lines, err := c.lines(g)
		if err != nil {
			return err
		}
		b.group(i, g, lines, len(groups) <= mostOpen)
	}
	lead := []string{s.headline()}
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
	layers     page.Layers
	showValues bool
}

// effectTable appends the effects as a table.
func (b *htmlWriter) effectTable(rows []effectRow) {
	if len(rows) == 0 {
		return
	}
	b.Table("Effects on existing TrainJobs")
	for _, r := range rows {
		b.Open("tr")
		b.Add("th", r.head, page.Attr{Name: "scope", Value: "row"})
		b.Add("td", r.line())
		b.Close()
	}
	b.Close()
	b.Close()
}

// findingSection appends conflicts or other findings, new ones first.
func (b *htmlWriter) findingSection(s *findingSection) {
	if len(s.groups) == 0 {
		return
	}
	b.Add("h2", s.head)
	b.Add("p", s.count())
	if s.new > 0 {
		b.Add("p", "New with this change:")
		report.Cards(&b.Body, &b.layers, s.opts, s.groups[:s.new])
	}
	if s.new > 0 && s.new < len(s.groups) {
		b.Add("p", "Before this change as well:")
	}
	report.Cards(&b.Body, &b.layers, s.opts, s.groups[s.new:])
}

// causes appends the layers and files that cause the changes.
func (b *htmlWriter) causes(s summary) {
	if len(s.causes) == 0 {
		return
	}
	b.Add("h2", "Who causes it")
	b.Open("ul")
	for _, by := range s.causes {
		b.Open("li")
		b.Add("strong", by.name)
		b.Words(fmt.Sprintf("%s: %s", by.place(), report.Count(len(by.jobs), s.noun)))
		if by.Link != "" {
			b.Text(", ")
			b.Add("a", "source", page.Attr{Name: "href", Value: by.Link})
		}
		b.Open("ul")
		if by.Before != "" {
			b.Add("li", "before the upgrade: "+by.Before)
		}
		for j, row := range by.rows {
			if j == mostRows {
				b.Add("li", "and "+report.Count(len(by.rows)-mostRows, "more change"))
				break
			}
			of := ""
			if len(row.jobs) < len(by.jobs) {
				of = fmt.Sprintf(" (%s)", firstNames(row.jobs, 5))
			}
			b.Open("li")
			b.Add("code", row.what)
			b.Text(of)
			b.Close()
		}
		b.Close()
		b.Close()
	}
	b.Close()
}

// oldErrors appends the errors of the old version that belong to no TrainJob.
func (b *htmlWriter) oldErrors(errs finding.List) {
	if len(errs) == 0 {
		return
	}
	b.Add("h2", headOldErrors)
	var lines []string
	for _, f := range errs {
		lines = append(lines, errorText(f))
	}
	b.List(lines)
}

func (b *htmlWriter) todo(remedies []string) {
	if len(remedies) > 0 {
		b.Add("h2", "What to do")
		b.List(remedies)
	}
}

// hunkClass returns the class of a line with a mark.
func hunkClass(mark byte) string {
	switch mark {
	case '-':
		return "del"
	case '+':
		return "add"
	case '@':
		return "at"
	case 'a', 'b', '!':
		return "head"
	case '#':
		return "effect"
	default:
		return ""
	}
}

// group appends the unified diff of a group with a margin for the layers. A cause follows its line.
func (b *htmlWriter) group(number int, g *changeGroup, lines []hunkLine, open bool) {
	b.Open("details", page.Class("item object"), page.ID("g"+strconv.Itoa(number+1)),
		page.If(open, page.Attr{Name: "open"}))
	b.Open("summary")
	b.Add("h3", g.title())
	b.Close()
	b.Open("ol", page.Class("diff"))
	for _, l := range lines {
		text, class := l.text,
			strings.TrimSpace(hunkClass(l.mark)+" "+b.layers.Class(string(l.layer)))
		if l.mark == '-' || l.mark == '+' || l.mark == ' ' {
			text = string(l.mark) + text
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
