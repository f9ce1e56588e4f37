package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/trainweld/trainweld/finding"
)

// writeText writes findings for people. The position and the message come first. The object and the field, the source line,
// the claims and the help follow.
func writeText(w io.Writer, findings finding.List, opts Options) error {
	t := text{w: bufio.NewWriter(w), opts: opts}
	shown, left := forPerson(findings)
	for _, f := range shown {
		t.finding(f)
	}
	for _, r := range left {
		if r.file != "" {
			fmt.Fprintf(t.w, "%s: ", t.paint(bold, printable(r.file)))
		}
		fmt.Fprintf(t.w, "%s; json, sarif and junit hold all\n", r)
	}
	return t.w.Flush()
}

type text struct {
	w    *bufio.Writer
	opts Options
}

func (t text) finding(f finding.Finding) {
	if place := f.Position.String(); place != "" {
		fmt.Fprintf(t.w, "%s: ", t.paint(bold, line(place)))
	}
	fmt.Fprintf(t.w, "%s: %s\n", t.paint(colorOf(f.Severity), f.Severity.String()+" "+string(f.Code)), printable(f.Message))
	if where := place(f); where != "" {
		fmt.Fprintf(t.w, "  in %s\n", printable(where))
	}
	t.snippet(f)
	t.claims(f)
	if help := t.opts.help(f); help != "" {
		fmt.Fprintf(t.w, "  %s %s\n", t.paint(bold, "help:"), printable(help))
	}
}

// claims writes a table of the claims with their layers, values and positions.
func (t text) claims(f finding.Finding) {
	all := claims(f)
	rows := make([][]string, len(all))
	var widths []int
	for i, c := range all {
		rows[i] = []string{printable(string(c.Layer)), printable(t.opts.value(f, c)), printable(c.Position.String()), mark(f, i)}
		for j, cell := range rows[i] {
			if i == 0 {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], width(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for j, cell := range row {
			b.WriteString("  " + cell + strings.Repeat(" ", widths[j]-width(cell)))
		}
		fmt.Fprintf(t.w, "  %s\n", strings.TrimRight(b.String(), " "))
	}
}

// The ANSI escapes of the colors.
const (
	bold   = "1"
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

func (t text) paint(color, text string) string {
	if !t.opts.Color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}
