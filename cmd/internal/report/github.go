package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/finding"
)

// githubShows is the number of annotations of each severity that GitHub shows for a step.
const githubShows = 10

// writeGitHub writes a workflow command for each finding that groups name, errors first. The first
// finding of each group comes before the others. GitHub shows the first ten of each severity at
// their lines, and the rest in the log only.
func writeGitHub(w io.Writer, findings finding.List, opts Options) error {
	groups, left := opts.groups(findings, MaxShown)
	out := bufio.NewWriter(w)
	for _, c := range annotations(groups) {
		fmt.Fprintf(out, "::%s %s::%s\n", githubCommand(c.Severity),
			opts.githubProperties(c.Finding),
			githubData.Replace(strings.Join(opts.annotation(c), "\n")))
	}
	for _, e := range left {
		properties := "title=" + githubProperty.Replace(Title(e.code))
		if e.file != "" {
			properties = "file=" +
				githubProperty.Replace(printable.Name(slashed(opts.rooted(e.file)))) + "," +
				properties
		}
		fmt.Fprintf(out, "::notice %s::%s\n", properties,
			githubData.Replace(opts.hinted(e.String())))
	}
	return out.Flush()
}

// annotation is a finding for a workflow command. The first one of a group has the group.
type annotation struct {
	finding.Finding
	of *Group
}

// annotations returns the findings that the groups name, in the order of GitHub.
func annotations(groups []Group) []annotation {
	var all, others []annotation
	for i := range groups {
		all = append(all, annotation{groups[i].First, &groups[i]})
		for _, f := range groups[i].Others {
			others = append(others, annotation{Finding: f})
		}
	}
	all = append(all, others...)
	slices.SortStableFunc(all, func(a, b annotation) int {
		return -cmp.Compare(a.Severity, b.Severity)
	})
	return all
}

// annotation returns the lines of an annotation.
func (o Options) annotation(a annotation) []string {
	lines := o.prose(a.Finding)
	if a.of != nil && a.of.Count > 1 {
		lines = append(lines, o.hinted("the same in "+Printable(a.of.More())))
	}
	if len(o.Releases) > 0 {
		lines = append(lines, "judged"+Releases(o.Releases))
	}
	return lines
}

func (o Options) githubProperties(f finding.Finding) string {
	var properties []string
	set := func(name, value string) {
		properties = append(properties, name+"="+githubProperty.Replace(Printable(value)))
	}
	if f.Position.File != "" {
		set("file", printable.Name(slashed(o.rooted(f.Position.File))))
	}
	if f.Position.Line > 0 {
		set("line", fmt.Sprint(f.Position.Line))
	}
	if f.Position.Column > 0 {
		set("col", fmt.Sprint(f.Position.Column))
	}
	set("title", Title(f.Code))
	return strings.Join(properties, ",")
}

func githubCommand(s finding.Severity) string {
	if s == finding.Note {
		return "notice"
	}
	return s.String()
}

// The escapes in the messages and in the properties of workflow commands.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",",
		"%2C")
)

// githubRest counts the annotations that GitHub does not show at their lines. It returns "" if
// GitHub shows all.
func (o Options) githubRest(findings finding.List) string {
	groups, _ := o.groups(limitFindings(o.Shown(findings)), MaxShown)
	count := map[finding.Severity]int{}
	for _, a := range annotations(groups) {
		count[a.Severity]++
	}
	var parts []string
	for _, severity := range []finding.Severity{finding.Error, finding.Warning} {
		if n := count[severity] - githubShows; n > 0 {
			parts = append(parts, Count(n, severity.String()))
		}
	}
	if parts == nil {
		return ""
	}
	return "; GitHub shows ten of a kind beside their lines, and " + strings.Join(parts, " and ") +
		" more in the log only"
}
