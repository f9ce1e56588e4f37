package comparison

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/report"
)

// mostMarkdown is the limit of a GitHub comment, 65,536 characters. This package counts bytes, which are never fewer.
const mostMarkdown = 65536

// leastSection is the space that a shortened section needs.
const leastSection = 2000

// WriteMarkdown writes the comparison for a comment on a pull request. It writes the summary, and a collapsed section for each
// group of TrainJobs. It cuts a section that does not fit, and the last line counts the missing TrainJobs. It returns the
// errors of w and of the encoding.
func (c *Comparison) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	c.summary().markdown(&b)
	for i, note := range c.new.Notes {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "> %s\n", html.EscapeString(note))
	}
	const reserve = 300 // for the last line
	hidden, cut := 0, false
	for _, g := range c.groups() {
		room := mostMarkdown - reserve - b.Len()
		if cut || room < leastSection {
			hidden += len(g.jobs)
			continue
		}
		section, whole, err := c.section(g, room)
		if err != nil {
			return err
		}
		b.WriteString(section)
		cut = !whole
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "\n**%s**, not shown here: a comment holds %d characters. `trainweld diff` shows all.\n", moreDiffer(hidden, c.noun), mostMarkdown)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func moreDiffer(n int, noun string) string {
	if n == 1 {
		return fmt.Sprintf("1 more %s differs", noun)
	}
	return fmt.Sprintf("%d more %ss differ", n, noun)
}

// section returns the section of a group, at most room bytes long, and whether it is complete.
func (c *Comparison) section(g *group, room int) (text string, whole bool, err error) {
	shown, err := c.lines(g)
	if err != nil {
		return "", false, err
	}
	var lines []string
	for _, l := range shown {
		lines = append(lines, l.String())
	}
	fence := fenceFor(lines)
	head := fmt.Sprintf("\n<details>\n<summary>%s</summary>\n\n%sdiff\n", g.htmlTitle(), fence)
	foot := fence + "\n\n</details>\n"
	const more = 60 // the line that counts the missing lines
	room -= len(head) + len(foot) + more
	var b strings.Builder
	b.WriteString(head)
	for i, line := range lines {
		if room -= len(line) + 1; room < 0 {
			fmt.Fprintf(&b, "# … %s, not shown here\n", report.Count(len(lines)-i, "more line"))
			return b.String() + foot, false, nil
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String() + foot, true, nil
}

// fenceFor returns a code fence that no line can end.
func fenceFor(lines []string) string {
	longest := 2
	for _, line := range lines {
		longest = max(longest, backticks(line))
	}
	return strings.Repeat("`", longest+1)
}

// backticks returns the length of the longest run of backticks.
func backticks(text string) int {
	longest, run := 0, 0
	for _, c := range text {
		if c != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// htmlTitle returns the title for an HTML summary.
func (g *group) htmlTitle() string {
	first := g.jobs[0]
	code := func(text string) string { return "<code>" + html.EscapeString(report.Printable(text)) + "</code>" }
	if len(g.jobs) == 1 {
		return fmt.Sprintf("%s %s is %s", html.EscapeString(first.ID.Kind), code(fieldpath.Object{Namespace: first.ID.Namespace, Name: first.ID.Name}.String())+first.when(), first.state)
	}
	ids := make([]fieldpath.Object, len(g.jobs))
	for i, j := range g.jobs {
		ids[i] = j.ID
	}
	return fmt.Sprintf("%s%s are %s alike: %s", html.EscapeString(report.Count(len(g.jobs), first.ID.Kind)), first.when(), first.state, code(firstNames(ids, 10)))
}

// markdown writes the summary, and shortens it to leave space for sections.
func (s summary) markdown(w io.Writer) {
	for _, most := range []struct{ causes, rows int }{{20, mostRows}, {10, 4}, {3, 1}, {0, 0}} {
		var b strings.Builder
		fmt.Fprintf(&b, "### trainweld: %s\n", s.headline())
		for i, by := range s.causes {
			if i == 0 {
				b.WriteByte('\n')
			}
			if i == most.causes {
				fmt.Fprintf(&b, "- and %s\n", report.Count(len(s.causes)-i, "more cause"))
				break
			}
			by.markdown(&b, s.noun, most.rows)
		}
		if b.Len() <= mostMarkdown/3 || most.causes == 0 {
			_, _ = io.WriteString(w, b.String()) // a strings.Builder returns no error
			return
		}
	}
}

func (c *cause) markdown(w io.Writer, noun string, most int) {
	place := c.place()
	if c.Text != "" {
		place = ": " + html.EscapeString(c.Text)
	}
	if c.Link != "" {
		place = fmt.Sprintf(" ([source](%s))", c.Link) + place
	} else if len(c.files) == 1 && c.Text == "" {
		place = " in " + codeSpan(c.files[0])
	}
	fmt.Fprintf(w, "- %s%s: %s\n", codeSpan(c.name), place, report.Count(len(c.jobs), noun))
	for i, row := range c.rows {
		if i == most {
			fmt.Fprintf(w, "  - and %s\n", report.Count(len(c.rows)-i, "more change"))
			return
		}
		of := ""
		if len(row.jobs) < len(c.jobs) {
			of = " of " + codeSpan(firstNames(row.jobs, 5))
		}
		fmt.Fprintf(w, "  - %s%s\n", codeSpan(row.what), of)
	}
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
