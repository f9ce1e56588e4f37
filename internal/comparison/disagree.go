package comparison

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/report"
	"github.com/trainweld/trainweld/internal/revision"
)

// conflicts are those of the new version that the change brings, and those of TrainJobs that differ.
type conflicts struct {
	brought, stood finding.List
	elsewhere      int // those that stood before, in TrainJobs that do not differ
}

// disagree sorts the conflicts of the new version.
func (c *Comparison) disagree(before, after finding.List) {
	standing := revision.Standing{}
	standing.Add(before)
	differs := map[fieldpath.Object]bool{}
	for _, j := range c.Jobs {
		differs[j.ID] = true
	}
	for _, f := range after {
		switch {
		case !standing.Take(f):
			c.conflicts.brought = append(c.conflicts.brought, f)
		case differs[f.Object]:
			c.conflicts.stood = append(c.conflicts.stood, f)
		default:
			c.conflicts.elsewhere++
		}
	}
}

func (c *conflicts) add(other conflicts) {
	c.brought = append(c.brought, other.brought...)
	c.stood = append(c.stood, other.stood...)
	c.elsewhere += other.elsewhere
}

// disagreements are conflicts in groups, those that the change brings first.
type disagreements struct {
	conflicts
	groups  []report.Group
	brought int // the groups that the change brings
	opts    report.Options
}

func (c *Comparison) disagreements() disagreements {
	d := disagreements{conflicts: c.conflicts, opts: report.Options{ShowValues: !c.mask}}
	d.groups = d.opts.Groups(d.conflicts.brought)
	d.brought = len(d.groups)
	d.groups = append(d.groups, d.opts.Groups(d.stood)...)
	return d
}

// markdown returns who disagrees, at most most bytes, and the number of groups that it shows.
func (d disagreements) markdown(most int) (text string, shown int) {
	if len(d.groups) == 0 {
		return "", 0
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n**Who disagrees**: %s", report.Count(len(d.conflicts.brought)+len(d.stood), "conflict"))
	if n := len(d.conflicts.brought); n > 0 {
		fmt.Fprintf(&b, ", %d new", n)
	}
	if d.elsewhere > 0 {
		fmt.Fprintf(&b, "; %d more in TrainJobs that do not change", d.elsewhere)
	}
	b.WriteString("\n\n")
	for i := range d.groups {
		item := d.item(&d.groups[i], i < d.brought)
		if b.Len()+len(item) > most {
			fmt.Fprintf(&b, "- and %s\n", report.Count(len(d.groups)-i, "more cause"))
			return b.String(), i
		}
		b.WriteString(item)
	}
	return b.String(), len(d.groups)
}

// item returns a conflict with its managers and their values.
func (d disagreements) item(g *report.Group, isNew bool) string {
	f := g.First
	mark := ""
	if isNew {
		mark = "**new** "
	}
	of := codeSpan(jobName{f.Object.Namespace, f.Object.Name, f.Build}.String())
	if more := g.More(); more != "" {
		of += " and " + more
	}
	var b strings.Builder
	fmt.Fprintf(&b, "- %s%s: %s of %s\n", mark, report.Title(f.Code), codeSpan(f.Path.String()), of)
	claims := d.opts.Claims(f)
	if len(claims) == 0 {
		fmt.Fprintf(&b, "  - %s\n", plain(f.Message))
	}
	for _, c := range claims {
		line := codeSpan(string(c.Layer)) + " " + codeSpan(c.Value)
		if c.Place != "" {
			line += " at " + codeSpan(c.Place)
		}
		if c.Mark != "" {
			line += ", **" + c.Mark + "**"
		}
		fmt.Fprintf(&b, "  - %s\n", line)
	}
	return b.String()
}

// todo writes what the reader has to do.
func (c *Comparison) todo(b *strings.Builder, d disagreements) {
	blast := c.blast()
	var lines []string
	add := func(u Update, one, many string) {
		if ids := blast.by[u]; len(ids) == 1 {
			lines = append(lines, one+": "+codeSpan(firstNames(ids, 1)))
		} else if len(ids) > 1 {
			lines = append(lines, fmt.Sprintf(many, len(ids))+": "+codeSpan(firstNames(ids, 5)))
		}
	}
	kind := c.noun
	add(Replaced, "if the "+kind+" exists, delete it and create it again", "delete and create again those of the %d "+kind+"s that exist")
	add(Refused, "suspend the job, and apply the change once no Pods are active", "suspend the %d jobs, and apply the change once no Pods are active")
	add(Kept, "to use the changed runtime in a TrainJob that exists, delete it and create it again", "to use the changed runtime in any of the %d TrainJobs that exist, delete it and create it again")
	for _, j := range c.Jobs {
		for _, f := range j.refused {
			if j.state == stateRefused {
				lines = append(lines, string(f.Code)+": "+plain(f.Remedy.Text))
			}
		}
	}
	for i := range d.groups {
		lines = append(lines, string(d.groups[i].First.Code)+": "+plain(d.groups[i].First.Remedy.Text))
	}
	var known []string
	for _, line := range lines {
		if len(known) < mostTodo && !slices.Contains(known, line) {
			known = append(known, line)
		}
	}
	for i, line := range known {
		if i == 0 {
			b.WriteString("\n**What to do**\n\n")
		}
		fmt.Fprintf(b, "- %s\n", line)
	}
}

// plain returns text that Markdown and HTML show as it is, and no longer than a remedy should be.
func plain(text string) string {
	var b strings.Builder
	for _, r := range html.EscapeString(shortened(report.Printable(text), 500)) {
		if strings.ContainsRune("\\`*_{}[]|~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// mostTodo is the number of remedies in a comment.
const mostTodo = 12
