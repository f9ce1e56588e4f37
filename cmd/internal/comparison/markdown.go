package comparison

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath/printable"
)

const (
	// mostMarkdown is the limit of a comment. GitHub takes 65,536 characters. This package counts
	// bytes, which are never fewer.
	mostMarkdown = 60_000
	// leastSection is the space that a shortened section needs.
	leastSection = 2000
	// lastLine is the space for the line that counts missing TrainJobs.
	lastLine = 400
)

// WriteMarkdown writes the comparison as a comment on a pull request, with a collapsed section for
// each group of TrainJobs. A list or a section that does not fit is cut, and the last line counts
// the missing TrainJobs. The missing parts go to rest, the file restName; rest may be nil. It
// returns the errors of both writers and of the encoding.
func (c *Comparison) WriteMarkdown(w, rest io.Writer, restName string) error {
	d := c.document()
	m := comment{hasRest: rest != nil}
	fmt.Fprintf(&m.shown, "### trainweld: %s\n", d.headline)
	for i, r := range d.effects {
		if i == 0 {
			m.shown.WriteString("\n| | |\n| --- | --- |\n")
		}
		// a bar ends a cell, even in code
		cell := strings.ReplaceAll(markdown(r.text), `\|`, "|")
		fmt.Fprintf(&m.shown, "| **%s** | %s |\n", r.head, strings.ReplaceAll(cell, "|", `\|`))
	}
	for i, note := range d.notes {
		if i == 0 {
			m.shown.WriteByte('\n')
		}
		fmt.Fprintf(&m.shown, "> %s\n", html.EscapeString(note))
	}
	m.part(d.causes, mostMarkdown/3)
	for _, p := range d.others {
		m.part(p, mostMarkdown/8)
	}
	for i, g := range d.groups {
		if i == 0 {
			m.shown.WriteString("\n**What changes**\n")
		}
		if err := m.group(c, g); err != nil {
			return err
		}
	}
	if m.rest.Len() > 0 || m.jobs > 0 || m.cut {
		fmt.Fprintf(&m.shown, "\n%s\n", m.lastLine(c.noun, restName))
	}
	if _, err := io.WriteString(w, m.shown.String()); err != nil || m.rest.Len() == 0 {
		return err
	}
	_, err := io.WriteString(rest, "### trainweld: what the comment does not show\n"+
		m.rest.String())
	return err
}

// comment is a comment, and what it does not hold.
type comment struct {
	shown, rest strings.Builder
	hasRest     bool
	cut         bool // a section is cut
	jobs        int  // the TrainJobs without a section
}

// part writes a list in at most most bytes.
func (m *comment) part(p part, most int) {
	if len(p.items) == 0 {
		return
	}
	head := "\n**" + p.head + "**"
	if p.lead != "" {
		head += ": " + p.lead
	}
	text, whole := p.markdown(most)
	m.shown.WriteString(head + "\n\n" + text)
	if !whole && m.hasRest {
		text, _ = p.markdown(1 << 30)
		m.rest.WriteString(head + "\n\n" + text)
	}
}

// markdown returns the items that fit, and whether all do.
func (p part) markdown(most int) (text string, whole bool) {
	var b strings.Builder
	for i, of := range p.items {
		text := of.markdown("")
		if b.Len()+len(text) > most {
			b.WriteString(more(len(p.items)-i, p.noun).markdown(""))
			return b.String(), false
		}
		b.WriteString(text)
	}
	return b.String(), true
}

func (i item) markdown(indent string) string {
	text := indent + "- " + markdown(i.line()) + "\n"
	for _, detail := range i.details {
		text += detail.markdown(indent + "  ")
	}
	return text
}

// group writes the section of a group while it fits, and a section that is cut to the rest.
func (m *comment) group(c *Comparison, g *changeGroup) error {
	remaining := mostMarkdown - lastLine - m.shown.Len()
	cut := m.cut || remaining < leastSection
	if cut && !m.hasRest {
		m.jobs += len(g.jobs)
		return nil
	}
	lines, err := c.lines(g)
	if err != nil {
		return err
	}
	if !cut {
		text, whole := section(g, lines, remaining)
		m.shown.WriteString(text)
		if whole {
			return nil
		}
		m.cut = true
		cut = text == ""
	}
	if cut {
		m.jobs += len(g.jobs)
	}
	if m.hasRest {
		text, _ := section(g, lines, 1<<30)
		m.rest.WriteString(text)
	}
	return nil
}

// lastLine counts the missing TrainJobs, and names the file of the rest.
func (m *comment) lastLine(noun, file string) string {
	what := "A comment holds 60,000 characters"
	switch {
	case m.jobs == 1:
		what = "**1 more " + noun + " differs**, not shown here: a comment holds 60,000 characters"
	case m.jobs > 1:
		what = fmt.Sprintf("**%d more %ss differ**, not shown here: a comment holds 60,000 "+
			"characters", m.jobs, noun)
	}
	if !m.hasRest {
		return what + ". `trainweld diff` shows all, and `--rest FILE` writes the rest to a file."
	}
	return what + ". The rest is in the file " + codeSpan(shortened(printable.Name(file), 200)) +
		"."
}

// section returns the section of a group, at most remaining bytes long, and whether it is complete.
// It returns "" if its title does not fit.
func section(g *changeGroup, shown []hunkLine, remaining int) (text string, whole bool) {
	var lines []string
	for _, l := range shown {
		lines = append(lines, l.String())
	}
	fence := fenceFor(lines...)
	var title strings.Builder
	for _, s := range g.title() {
		text := html.EscapeString(report.Printable(s.text))
		if s.style == code {
			text = "<code>" + text + "</code>"
		}
		title.WriteString(text)
	}
	head := fmt.Sprintf("\n<details>\n<summary>%s</summary>\n\n%sdiff\n", title.String(), fence)
	foot := fence + "\n\n</details>\n"
	const more = 60 // the line that counts the missing lines
	remaining -= len(head) + len(foot) + more
	if remaining < 0 {
		return "", false
	}
	var b strings.Builder
	b.WriteString(head)
	for i, line := range lines {
		if remaining -= len(line) + 1; remaining < 0 {
			fmt.Fprintf(&b, "# … %s, not shown here\n", report.Count(len(lines)-i, "more line"))
			return b.String() + foot, false
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String() + foot, true
}

// markdown returns spans as Markdown.
func markdown(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		switch {
		case s.style == code || s.style == layer:
			b.WriteString(codeSpan(s.text))
		case s.style == strong:
			b.WriteString("**" + s.text + "**")
		case s.style == source && s.text != "":
			b.WriteString(" ([source](" + s.text + "))")
		case s.style == plain:
			b.WriteString(safeText(s.text))
		}
	}
	return b.String()
}

// safeText returns text that Markdown and HTML show as it is.
func safeText(text string) string {
	var b strings.Builder
	for _, r := range strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(
		report.Printable(text)) {
		if strings.ContainsRune("\\`*_{}[]|~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// fenceFor returns a fence of at least three backticks that no line can end.
func fenceFor(lines ...string) string { return strings.Repeat("`", max(2, backticks(lines...))+1) }

// backticks returns the length of the longest run of backticks.
func backticks(lines ...string) int {
	longest := 0
	for _, line := range lines {
		for strings.Contains(line, strings.Repeat("`", longest+1)) {
			longest++
		}
	}
	return longest
}

// codeSpan returns text as a Markdown code span.
func codeSpan(text string) string {
	text = report.Printable(text)
	n := backticks(text)
	if n == 0 {
		return "`" + text + "`"
	}
	fence := strings.Repeat("`", n+1)
	return fence + " " + text + " " + fence
}
