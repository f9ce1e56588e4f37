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
// causes precede the diffs if several TrainJobs differ, or if causes need reasons. Otherwise it
// writes nothing without differences. It returns the errors of w and of the encoding.
func (c *Comparison) WriteText(w io.Writer, paint host.Painter) error {
	out, d := bufio.NewWriter(w), c.document()
	caused := len(c.Jobs) > 1 || c.new.Reasons != nil && len(c.Jobs) > 0
	summarized := caused || len(d.effects) > 0 || c.unrendered() > 0 || len(d.errors) > 0
	if summarized {
		fmt.Fprintln(out, paint.Paint(host.Bold, d.headline))
		for _, r := range d.effects {
			fmt.Fprintf(out, "  %-8s  %s\n", r.head, report.Printable(plainText(r.text)))
		}
	}
	if caused {
		if len(d.effects) > 0 && len(d.causes.items) > 0 {
			fmt.Fprintf(out, "\n%s\n", paint.Paint(host.Bold, strings.ToLower(d.causes.head)))
		}
		writeItems(out, "  ", d.causes.items)
	}
	for _, note := range d.notes {
		fmt.Fprintln(out, report.Line("note: "+note))
	}
	for _, l := range d.errors {
		fmt.Fprintln(out, paint.Marked(l.mark, l.String()))
	}
	for i, g := range d.groups {
		if i > 0 || summarized {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, paint.Paint(host.Bold, report.Line(plainText(g.title()))))
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
