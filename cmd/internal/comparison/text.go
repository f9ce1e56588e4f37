package comparison

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/report"
)

// WriteText writes the comparison for people: the effects, and a unified diff of each group. The
// causes precede the diffs if several TrainJobs differ, or if causes need reasons. It writes
// nothing without differences. It returns the errors of w.
func (c *Comparison) WriteText(w io.Writer, paint host.Painter) error {
	d := c.document()
	if len(d.groups) == 0 {
		return nil
	}
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, paint.Paint(host.Bold, d.headline))
	for _, of := range d.effects.items {
		fmt.Fprintf(out, "  %-8s %s\n", of.spans[0].text,
			report.Printable(plainText(of.spans[1:])))
	}
	caused := len(c.jobs) > 1 || c.new.Reasons != nil && len(c.jobs) > 0
	if caused {
		if len(d.effects.items) > 0 && len(d.causes.items) > 0 {
			fmt.Fprintf(out, "\n%s\n", paint.Paint(host.Bold, strings.ToLower(d.causes.head)))
		}
		writeItems(out, "  ", d.causes.items)
	}
	for _, note := range d.notes {
		fmt.Fprintln(out, report.Line("note: "+note))
	}
	for _, g := range d.groups {
		fmt.Fprintf(out, "\n%s\n", paint.Paint(host.Bold, report.Line(plainText(g.title()))))
		for _, l := range g.lines {
			fmt.Fprintln(out, paint.Marked(l.mark, l.String()))
		}
	}
	return out.Flush()
}

func writeItems(w io.Writer, indent string, items []item) {
	for _, of := range items {
		line := plainText(of.spans)
		if len(of.jobs) > 0 {
			line += " (" + plainText(of.jobs) + ")"
		}
		fmt.Fprintln(w, indent+report.Printable(line))
		writeItems(w, indent+"  ", of.details)
	}
}
