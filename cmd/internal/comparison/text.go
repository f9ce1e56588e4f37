package comparison

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// WriteText writes the comparison for people: the effects, and a unified diff of each group. The
// causes precede the diffs if several TrainJobs differ, or if causes need reasons. Otherwise it
// writes nothing without differences. It returns the errors of w and of the encoding.
func (c *Comparison) WriteText(w io.Writer, paint host.Painter) error {
	out := bufio.NewWriter(w)
	s, rows := c.summary(), c.effects().rows()
	caused := len(c.Jobs) > 1 || c.new.Reasons != nil
	errs := c.errorLines()
	summarized := caused || len(rows) > 0 || s.unrendered > 0 || len(errs) > 0
	if summarized {
		fmt.Fprintln(out, paint.Paint(host.Bold, s.headline()))
		writeEffects(out, rows)
	}
	if caused {
		if len(rows) > 0 && len(s.causes) > 0 {
			fmt.Fprintf(out, "\n%s\n", paint.Paint(host.Bold, "who causes it"))
		}
		s.text(out)
	}
	for _, note := range c.new.Notes {
		fmt.Fprintln(out, report.Line("note: "+note))
	}
	for _, l := range errs {
		fmt.Fprintln(out, paint.Marked(l.mark, l.String()))
	}
	for i, g := range c.groups() {
		if i > 0 || summarized {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, paint.Paint(host.Bold, report.Line(g.title())))
		lines, err := c.lines(g)
		if err != nil {
			return err
		}
		for _, l := range lines {
			fmt.Fprintln(out, paint.Marked(l.mark, l.String()))
		}
	}
	return out.Flush()
}

// writeEffects writes the effects.
func writeEffects(w io.Writer, rows []effectRow) {
	for _, r := range rows {
		fmt.Fprintf(w, "  %-8s  %s\n", r.head, report.Printable(r.line()))
	}
}

// title returns the TrainJobs of a group.
func (g *changeGroup) title() string {
	first := g.jobs[0]
	if len(g.jobs) == 1 {
		return fmt.Sprintf("%s %s is %s", first.ID.Kind, first.name(), first.state)
	}
	return fmt.Sprintf("%s are %s alike: %s", report.Count(len(g.jobs), first.ID.Kind), first.state,
		firstNames(g.names(), mostTitle))
}

// mostTitle is the number of TrainJobs in a title.
const mostTitle = 10

// mostFields is the number of changes of existing objects that a report lists for a TrainJob.
const mostFields = 30

// lines returns a group's effects on existing TrainJobs, the errors of a rejection, and the unified
// diffs of its blocks.
func (c *Comparison) lines(g *changeGroup) ([]hunkLine, error) {
	var lines []hunkLine
	first := g.jobs[0]
	for _, text := range first.queueChange() {
		lines = append(lines, hunkLine{mark: '#', text: " " + text})
	}
	fields := first.updateEffect.Fields
	for i, f := range fields {
		if i == mostFields && !c.All {
			lines = append(
				lines, hunkLine{
					mark: '#', text: " and " + report.Count(len(fields)-i, "more change") +
						" of the objects that exist"})
			break
		}
		lines = append(lines, hunkLine{mark: '#', text: " " + f.String()})
	}
	for _, f := range first.rejectedOld {
		lines = append(lines, hunkLine{mark: '-', text: " " + errorText(f)})
	}
	for i, f := range first.rejected {
		l := hunkLine{mark: '!', text: " " + errorText(f)}
		if note := claimText(first.causesOf(i)[0]); i == 0 ||
			note != claimText(first.causesOf(i - 1)[0]) {
			l.note = note
		}
		lines = append(lines, l)
	}
	for _, b := range g.blocks {
		block, err := c.block(g, b)
		if err != nil {
			return nil, err
		}
		lines = append(lines, block...)
	}
	return lines, nil
}

// errorText returns an error with its place, its code and its field.
func errorText(f finding.Finding) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Position, f.Code, f.Path)) + ": " + f.Message
}

// headOldErrors is the head of the errors of the old version alone that belong to no TrainJob.
const headOldErrors = "What the old version does not read"

// errorLines returns the errors that no TrainJob shows, those of the old version alone first.
func (c *Comparison) errorLines() (lines []hunkLine) {
	shown := map[string]bool{}
	for _, j := range c.Jobs {
		for _, f := range j.rejected {
			shown[errorText(f)] = true
		}
	}
	for _, f := range c.oldErrors {
		lines = append(lines, hunkLine{mark: '-', text: " " + errorText(f)})
	}
	for _, f := range slices.Concat(c.findings.introduced, c.findings.preexisting) {
		if f.Severity >= finding.Error && !shown[errorText(f)] {
			lines = append(lines, hunkLine{mark: '!', text: " " + errorText(f)})
		}
	}
	return lines
}

// block returns the unified diff of a block, shown for its first object.
func (c *Comparison) block(g *changeGroup, b block) ([]hunkLine, error) {
	first := b.objects[0]
	others := append([]*ObjectDiff(nil), b.objects[1:]...)
	for _, j := range g.jobs[1:] {
		for _, o := range j.Objects {
			if o.alike == first.alike {
				others = append(others, o)
			}
		}
	}
	name := b.title(g.jobs[0].ID.Namespace)
	lines := []hunkLine{{mark: 'a', text: "--- " + c.old.Name + ": " + name},
		{mark: 'b', text: "+++ " + c.new.Name + ": " + name}}
	switch first.state {
	case stateCreated:
		lines[0].text = "--- /dev/null"
	case stateRemoved:
		lines[1].text = "+++ /dev/null"
	}
	hunks, err := c.hunks(first, others)
	if err != nil {
		return nil, err
	}
	return append(lines, hunks...), nil
}

// title returns the objects of a block.
func (b block) title(namespace string) string {
	const most = 5
	var list []string
	for i, o := range b.objects {
		if i == most {
			return fmt.Sprintf("%s and %d more", strings.Join(list, ", "), len(b.objects)-most)
		}
		name := fieldpath.Object{Namespace: namespace, Name: o.Key.Name}.String()
		if i == 0 || b.objects[i-1].Key.Kind != o.Key.Kind {
			name = o.Key.Kind + " " + name
		}
		if o.Key.Number > 0 {
			name += fmt.Sprintf(" (number %d)", o.Key.Number+1)
		}
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}

// String returns the line with escapes for characters that a terminal interprets, except tabs.
func (l hunkLine) String() string {
	text := report.PrintableTabs(l.text)
	if l.note != "" {
		text += "  # " + report.Printable(l.note)
	}
	if l.mark == '@' || l.mark == 'a' || l.mark == 'b' {
		return text
	}
	return report.Line(string(l.mark) + text)
}

// text writes the causes.
func (s summary) text(w io.Writer) {
	for _, by := range s.causes {
		fmt.Fprintf(w, "  %s: %s\n", report.Printable(by.name+by.place()),
			report.Count(len(by.jobs), s.noun))
		if by.Before != "" {
			fmt.Fprintf(w, "    before the upgrade: %s; see %s\n", report.Printable(by.Before),
				by.Link)
		}
		for i, row := range by.rows {
			if i == mostRows {
				fmt.Fprintf(w, "    and %s\n", report.Count(len(by.rows)-mostRows, "more change"))
				break
			}
			of := ""
			if len(row.jobs) < len(by.jobs) {
				of = fmt.Sprintf(" (%s)", firstNames(row.jobs, 5))
			}
			fmt.Fprintf(w, "    %s\n", report.Printable(row.what+of))
		}
	}
}
