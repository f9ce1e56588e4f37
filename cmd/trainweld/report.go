package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/trainweld/trainweld/schema"
)

// report writes findings as text, for a person: the place and what is wrong on the first line, then
// the object and the field, every claim with its value and its place, and what to do.
type report struct {
	w          io.Writer
	showValues bool
	showNotes  bool
}

// withoutRepeats leaves out what was found before: what is wrong with a runtime is found once for each
// of its TrainJobs.
func withoutRepeats(findings schema.Findings) schema.Findings {
	seen := map[string]bool{}
	var once schema.Findings
	for _, f := range findings {
		if text := f.Error(); !seen[text] {
			seen[text] = true
			once = append(once, f)
		}
	}
	return once
}

// write writes the findings that are asked for and, last, how many there are of each severity.
func (r report) write(findings schema.Findings) {
	count := map[schema.Severity]int{}
	for _, f := range findings {
		count[f.Severity]++
		if f.Severity > schema.Note || r.showNotes {
			r.finding(f)
		}
	}
	var parts []string
	for _, severity := range []schema.Severity{schema.Error, schema.Warning} {
		if n := count[severity]; n > 0 {
			parts = append(parts, plural(n, severity.String()))
		}
	}
	if len(parts) > 0 {
		fmt.Fprintln(r.w, strings.Join(parts, ", "))
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (r report) finding(f schema.Finding) {
	if place := f.Position.String(); place != "" {
		fmt.Fprintf(r.w, "%s: ", place)
	}
	fmt.Fprintf(r.w, "%s %s: %s\n", f.Severity, f.Code, f.Message)
	if where := strings.TrimSpace(f.Object.String() + " " + f.Path.String()); where != "" {
		fmt.Fprintf(r.w, "  in %s\n", where)
	}
	table := tabwriter.NewWriter(r.w, 0, 0, 2, ' ', 0)
	for i, c := range f.Claims {
		mark := ""
		if i == len(f.Claims)-1 && f.Code == schema.CodeOverlap {
			mark = "wins in the cluster"
		}
		row := strings.Join([]string{string(c.Layer), r.value(f, c), c.Position.String(), mark}, "\t")
		fmt.Fprintf(table, "    %s\n", strings.TrimRight(row, "\t"))
	}
	table.Flush()
	if f.Help != "" {
		fmt.Fprintf(r.w, "  help: %s\n", f.Help)
	}
}

// value is a claim's value; of a union it is led by the member, which tells the claims apart.
func (r report) value(f schema.Finding, c schema.Claim) string {
	path := c.Source
	if len(path) == 0 {
		path = f.Path
	}
	text := schema.FormatValue(path, c.Value, r.showValues)
	if i := memberAt(f, c); i > 0 {
		text = strings.TrimPrefix(schema.Path(c.Source[i:]).String(), ".") + ": " + text
	}
	return text
}

// memberAt is where the claim's source goes deeper than the finding's field, 0 where it does not.
func memberAt(f schema.Finding, c schema.Claim) int {
	if len(f.Path) == 0 {
		return 0
	}
	last := f.Path[len(f.Path)-1]
	for i := len(c.Source) - 1; i > 0; i-- {
		if c.Source[i] == last && i+1 < len(c.Source) {
			return i + 1
		}
	}
	return 0
}
