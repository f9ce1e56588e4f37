package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

// writeText writes findings for people, one for each cause. The position and the message come
// first. The object and the field, the claims, the help and further objects follow.
func writeText(w io.Writer, findings finding.List, opts Options) error {
	t := textReport{w: bufio.NewWriter(w), opts: opts}
	groups, left := opts.groups(findings, MaxShown)
	for i := range groups {
		t.finding(groups[i].First)
		t.more(&groups[i])
	}
	for _, e := range left {
		if e.file != "" {
			fmt.Fprintf(t.w, "%s: ", t.paint(host.Bold, Printable(e.file)))
		}
		fmt.Fprintf(t.w, "%s\n", opts.hinted(e.String()))
	}
	return t.w.Flush()
}

// hinted adds to a count how the user sees the counted findings.
func (o Options) hinted(count string) string {
	if o.More == "" {
		return count
	}
	return count + "; " + o.More
}

type textReport struct {
	w    *bufio.Writer
	opts Options
}

func (t textReport) finding(f finding.Finding) {
	if position := printable.Position(f.Position); position != "" {
		fmt.Fprintf(t.w, "%s: ", t.paint(host.Bold, Line(position)))
	}
	fmt.Fprintf(t.w, "%s: %s\n",
		t.paint(colorOf(f.Severity), f.Severity.String()+" "+string(f.Code)), Printable(f.Message))
	switch where := objectAndField(f); {
	case where == "" || codes.AssumesRuntime(f):
	case f.Object.Name == "" && len(f.Path) == 0 && f.Build != "":
		fmt.Fprintf(t.w, "  %s\n", Printable(where))
	default:
		fmt.Fprintf(t.w, "  in %s\n", Printable(where))
	}
	t.claims(f)
	if help := t.opts.help(f); help != "" {
		fmt.Fprintf(t.w, "  %s %s\n", t.paint(host.Bold, "help:"), Printable(help))
	}
}

// more names the other objects of a group.
func (t textReport) more(g *Group) {
	if g.Count == 1 {
		return
	}
	fmt.Fprintf(t.w, "  %s\n", t.paint(host.Bold, "the same in "+Printable(g.More())+":"))
	rows := make([][]string, len(g.Others))
	for i, f := range g.Others {
		rows[i] = []string{
			Printable(printable.Position(f.Position)), Printable(f.Object.String() + builtFrom(f))}
	}
	t.table(rows)
	if n := g.Unnamed(); n > 0 {
		fmt.Fprintf(t.w, "    %s\n", t.opts.hinted(fmt.Sprintf("and %d more", n)))
	}
}

// claims writes a table of the claims with their layers, values and positions.
func (t textReport) claims(f finding.Finding) {
	all := t.opts.Claims(f)
	rows := make([][]string, len(all))
	for i, c := range all {
		rows[i] = []string{Printable(string(c.Layer)), Printable(c.Value), Printable(c.Place),
			c.Mark}
	}
	t.table(rows)
}

// table writes rows in columns, without empty columns.
func (t textReport) table(rows [][]string) {
	var widths []int
	for _, row := range rows {
		widths = Measure(widths, row)
	}
	for _, row := range rows {
		fmt.Fprintf(t.w, "    %s\n", strings.TrimRight(Row(row, widths, 2, nil), " "))
	}
}

// The ANSI escapes of the severities.
const (
	red    = "1;31"
	yellow = "1;33"
	cyan   = "1;36"
)

func colorOf(s finding.Severity) string {
	switch s {
	case finding.Error:
		return red
	case finding.Warning:
		return yellow
	default:
		return cyan
	}
}

func (t textReport) paint(color, text string) string {
	return host.Painter(t.opts.Color).Paint(color, text)
}
