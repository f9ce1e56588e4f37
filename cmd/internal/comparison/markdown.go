package comparison

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
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

// WriteMarkdown writes the comparison as a comment on a pull request. The comment has the effects,
// the causes, the conflicts, the remedies, and a collapsed section for each group of TrainJobs. A
// section that does not fit is cut, and the last line counts the missing TrainJobs. The missing
// parts go to rest, the file restName; rest may be nil. It returns the errors of both writers and
// of the encoding.
func (c *Comparison) WriteMarkdown(w, rest io.Writer, restName string) error {
	var b strings.Builder
	s := c.summary()
	writeEffectsMarkdown(&b, s.headline(), c.effects().rows())
	for i, note := range c.new.Notes {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "> %s\n", html.EscapeString(note))
	}
	s.markdown(&b)
	sections := c.findingSections()
	l := omittedParts{w: rest}
	for i := range sections {
		text, whole := sections[i].markdown(mostMarkdown / 8)
		b.WriteString(text)
		if !whole {
			l.findingSection(&sections[i])
		}
	}
	c.todo(&b, sections)
	for i, f := range c.oldErrors {
		if i == 0 {
			b.WriteString("\n**" + headOldErrors + "**\n\n")
		}
		if i == mostTodo {
			fmt.Fprintf(&b, "- and %s\n", report.Count(len(c.oldErrors)-i, "more error"))
			break
		}
		fmt.Fprintf(&b, "- %s\n", codeSpan(shortened(errorText(f), 500)))
	}
	for i, g := range c.groups() {
		if i == 0 {
			b.WriteString("\n**What changes**\n")
		}
		if err := c.addSection(&b, g, &l); err != nil {
			return err
		}
	}
	if l.missing() {
		fmt.Fprintf(&b, "\n%s\n", l.line(c.noun, restName))
	}
	if l.err != nil {
		return l.err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// addSection writes the section of a group to the comment while it fits. It writes a section that
// is cut to the rest.
func (c *Comparison) addSection(b *strings.Builder, g *changeGroup, l *omittedParts) error {
	remaining := mostMarkdown - lastLine - b.Len()
	cut := l.cut || remaining < leastSection
	if cut && l.w == nil {
		l.jobs += len(g.jobs)
		return nil
	}
	lines, err := c.lines(g)
	if err != nil {
		return err
	}
	if !cut {
		text, whole := section(g, lines, remaining)
		b.WriteString(text)
		if whole {
			return nil
		}
		l.cut = true
		cut = text == ""
	}
	if cut {
		l.jobs += len(g.jobs)
	}
	l.section(g, lines)
	return nil
}

// omittedParts counts and writes the missing parts of a comment.
type omittedParts struct {
	w       io.Writer // may be nil
	cut     bool      // a section is cut
	jobs    int       // the TrainJobs without a section
	listed  bool      // a list of findings is cut
	written bool
	err     error
}

func (l *omittedParts) missing() bool { return l.cut || l.jobs > 0 || l.listed }

func (l *omittedParts) write(text string) {
	if l.w == nil || l.err != nil {
		return
	}
	if !l.written {
		l.written = true
		text = "### trainweld: what the comment does not show\n" + text
	}
	_, l.err = io.WriteString(l.w, text)
}

func (l *omittedParts) findingSection(s *findingSection) {
	text, _ := s.markdown(1 << 30)
	l.listed = true
	l.write(text)
}

func (l *omittedParts) section(g *changeGroup, lines []hunkLine) {
	text, _ := section(g, lines, 1<<30)
	l.write(text)
}

// line counts the missing TrainJobs, and names the file of the rest.
func (l *omittedParts) line(noun, file string) string {
	what := "A comment holds 60,000 characters"
	if l.jobs > 0 {
		what = fmt.Sprintf("**%s**, not shown here: a comment holds 60,000 characters",
			moreDiffer(l.jobs, noun))
	}
	if l.w == nil {
		return what + ". `trainweld diff` shows all, and `--rest FILE` writes the rest to a file."
	}
	return what + ". The rest is in the file " +
		codeSpan(shortened(printable.Name(file), 200)) + "."
}

func moreDiffer(n int, noun string) string {
	if n == 1 {
		return fmt.Sprintf("1 more %s differs", noun)
	}
	return fmt.Sprintf("%d more %ss differ", n, noun)
}

// section returns the section of a group, at most remaining bytes long, and whether it is complete.
// It returns "" if its title does not fit.
func section(g *changeGroup, shown []hunkLine, remaining int) (text string, whole bool) {
	var lines []string
	for _, l := range shown {
		lines = append(lines, l.String())
	}
	fence := fenceFor(lines)
	head := fmt.Sprintf("\n<details>\n<summary>%s</summary>\n\n%sdiff\n", g.htmlTitle(), fence)
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
func (g *changeGroup) htmlTitle() string {
	first, list := g.jobs[0], joined(g.names(), mostTitle, jobName.html)
	if len(g.jobs) == 1 {
		return fmt.Sprintf("%s %s is %s", html.EscapeString(first.ID.Kind), list, first.state)
	}
	return fmt.Sprintf("%s are %s alike: %s",
		html.EscapeString(report.Count(len(g.jobs), first.ID.Kind)), first.state, list)
}

// html returns the name as code, and the build behind it.
func (n jobName) html() string {
	name := "<code>" + escaped(fieldpath.Object{Namespace: n.namespace, Name: n.name}.String()) +
		"</code>"
	if n.build != "" {
		name += " (" + escaped(n.build) + ")"
	}
	return name
}

// escaped returns the start of text for HTML.
func escaped(text string) string {
	return html.EscapeString(report.Printable(shortened(text, longestName)))
}

// writeEffectsMarkdown writes the headline and the effects as a table.
func writeEffectsMarkdown(w io.Writer, headline string, rows []effectRow) {
	fmt.Fprintf(w, "### trainweld: %s\n", headline)
	for i, r := range rows {
		if i == 0 {
			fmt.Fprint(w, "\n| | |\n| --- | --- |\n")
		}
		text := html.EscapeString(r.text) + ": " + inCell(markdownNames(r.names, mostNames))
		if r.frozen != "" {
			text += fmt.Sprintf(" (%s cannot change)", cell(r.frozen))
		}
		fmt.Fprintf(w, "| **%s** | %s |\n", r.head, text)
	}
}

// cell returns a code span for a cell of a table.
func cell(text string) string { return inCell(codeSpan(text)) }

// inCell escapes bars, which end a cell even in code.
func inCell(markdown string) string {
	return strings.ReplaceAll(strings.ReplaceAll(markdown, `\|`, "|"), "|", `\|`)
}

// markdown writes the causes, and shortens them to leave space for sections.
func (s summary) markdown(w io.Writer) {
	for _, most := range []struct{ causes, rows int }{{20, mostRows}, {10, 4}, {3, 1}, {0, 0}} {
		var b strings.Builder
		for i, by := range s.causes {
			if i == 0 {
				b.WriteString("\n**Who causes it**\n\n")
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
		place = " in " + codeSpan(printable.Name(c.files[0]))
	}
	fmt.Fprintf(w, "- %s%s: %s\n", codeSpan(c.name), place, report.Count(len(c.jobs), noun))
	if c.Before != "" {
		fmt.Fprintf(w, "  - before the upgrade: %s\n", html.EscapeString(c.Before))
	}
	for i, row := range c.rows {
		if i == most {
			fmt.Fprintf(w, "  - and %s\n", report.Count(len(c.rows)-i, "more change"))
			return
		}
		of := ""
		if len(row.jobs) < len(c.jobs) {
			of = " of " + markdownNames(row.jobs, 5)
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
