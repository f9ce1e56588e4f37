package comparison

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
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
// returns the errors of both writers.
func (c *Comparison) WriteMarkdown(w, rest io.Writer, restName string) error {
	d := c.document()
	m := comment{hasRest: rest != nil}
	fmt.Fprintf(&m.shown, "### trainweld: %s\n", d.headline)
	most := mostMarkdown / 3
	m.add(d.effects.block(), most)
	for i, note := range d.notes {
		if i == 0 {
			m.shown.WriteByte('\n')
		}
		fmt.Fprintf(&m.shown, "> %s\n", html.EscapeString(note))
	}
	for _, p := range append([]part{d.causes}, d.others...) {
		m.add(p.block(), most)
		most = mostMarkdown / 8
	}
	for i, g := range d.groups {
		if i == 0 {
			m.shown.WriteString("\n**What changes**\n")
		}
		most = mostMarkdown - lastLine - m.shown.Len()
		if m.isFull || most < leastSection {
			most, m.isFull = 0, true
		}
		if shown, whole := m.add(g.block(), most); !whole {
			m.isFull = true
			if !shown {
				m.jobs += len(g.jobs)
			}
		}
	}
	if m.rest.Len() > 0 || m.jobs > 0 || m.isFull {
		fmt.Fprintf(&m.shown, "\n%s\n", m.lastLine(restName))
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
	isFull      bool // a section is cut
	jobs        int  // the TrainJobs without a section
}

// block is a list or a section, which may be cut after any of its pieces.
type block struct {
	head, foot string
	pieces     []string
	more       func(n int) string // counts what a cut block lacks
}

// add adds a block in at most most bytes, and the whole of a cut one to the rest. It reports
// whether the comment has a part of it, and whether it has all.
func (m *comment) add(b block, most int) (shown, whole bool) {
	if len(b.pieces) == 0 {
		return true, true
	}
	const more = 60 // the line that counts the missing pieces
	room, n := most-len(b.head)-len(b.foot)-more, 0
	if shown = room >= 0; shown {
		m.shown.WriteString(b.head)
		for ; n < len(b.pieces) && len(b.pieces[n]) <= room; n++ {
			m.shown.WriteString(b.pieces[n])
			room -= len(b.pieces[n])
		}
		if n < len(b.pieces) {
			m.shown.WriteString(b.more(len(b.pieces) - n))
		}
		m.shown.WriteString(b.foot)
	}
	whole = shown && n == len(b.pieces)
	if !whole && m.hasRest {
		m.rest.WriteString(b.head + strings.Join(b.pieces, "") + b.foot)
	}
	return shown, whole
}

func (p part) block() block {
	b := block{head: "\n**" + p.head + "**"}
	if p.lead != "" {
		b.head += ": " + p.lead
	}
	b.head += "\n\n"
	for _, of := range p.items {
		b.pieces = append(b.pieces, of.markdown(""))
	}
	b.more = func(n int) string { return more(n, p.noun).markdown("") }
	return b
}

func (i item) markdown(indent string) string {
	text := indent + "- " + markdown(i.line()) + "\n"
	for _, detail := range i.details {
		text += detail.markdown(indent + "  ")
	}
	return text
}

// block returns the section of a group.
func (g *changeGroup) block() block {
	var b block
	for _, l := range g.lines {
		b.pieces = append(b.pieces, l.String()+"\n")
	}
	var title strings.Builder
	for _, s := range g.title() {
		text := html.EscapeString(report.Printable(s.text))
		if s.style == code {
			text = "<code>" + text + "</code>"
		}
		title.WriteString(text)
	}
	fence := strings.Repeat("`", max(2, backticks(b.pieces...))+1) // no line can end it
	b.head = fmt.Sprintf("\n<details>\n<summary>%s</summary>\n\n%sdiff\n", title.String(), fence)
	b.foot = fence + "\n\n</details>\n"
	b.more = func(n int) string {
		return fmt.Sprintf("# … %s, not shown here\n", report.Count(n, "more line"))
	}
	return b
}

// lastLine counts the missing TrainJobs, and names the file of the rest.
func (m *comment) lastLine(file string) string {
	what := "A comment holds 60,000 characters"
	if m.jobs > 0 {
		what += ", which lacks **" + report.Count(m.jobs, "more TrainJob") + "**"
	}
	if !m.hasRest {
		return what + ". `trainweld diff` shows all, and `--rest FILE` writes the rest to a file."
	}
	return what + ". The rest is in the file " + codeSpan(shortened(printable.Name(file), 200)) +
		"."
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
