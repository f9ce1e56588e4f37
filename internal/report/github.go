package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/finding"
)

// githubShows is the number of annotations of each severity that GitHub shows for a step.
const githubShows = 10

// writeGitHub writes a workflow command for each finding, errors first. GitHub shows the first ten of each severity at their
// lines, and the rest in the log only.
func writeGitHub(w io.Writer, findings finding.List, opts Options) error {
	ordered := slices.Clone(findings)
	slices.SortStableFunc(ordered, func(a, b finding.Finding) int { return -cmp.Compare(a.Severity, b.Severity) })
	out := bufio.NewWriter(w)
	ordered, left := forPerson(ordered)
	for _, f := range ordered {
		var properties []string
		set := func(name, value string) {
			properties = append(properties, name+"="+githubProperty.Replace(printable(value)))
		}
		if f.Position.File != "" {
			set("file", slashed(f.Position.File))
		}
		if f.Position.Line > 0 {
			set("line", fmt.Sprint(f.Position.Line))
		}
		if f.Position.Column > 0 {
			set("col", fmt.Sprint(f.Position.Column))
		}
		set("title", title(f.Code))
		fmt.Fprintf(out, "::%s %s::%s\n", githubCommand(f.Severity), strings.Join(properties, ","), githubData.Replace(strings.Join(opts.prose(f), "\n")))
	}
	for _, r := range left {
		properties := "title=" + githubProperty.Replace(title(r.code))
		if r.file != "" {
			properties = "file=" + githubProperty.Replace(printable(slashed(r.file))) + "," + properties
		}
		fmt.Fprintf(out, "::notice %s::%s; json, sarif and junit hold all\n", properties, r)
	}
	return out.Flush()
}

func githubCommand(s finding.Severity) string {
	switch s {
	case finding.Error:
		return "error"
	case finding.Warning:
		return "warning"
	default:
		return "notice"
	}
}

// The escapes in the messages and in the properties of workflow commands.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// githubRest counts the findings that GitHub does not show at their lines. It returns "" if GitHub shows all.
func githubRest(count map[finding.Severity]int) string {
	var parts []string
	for _, severity := range []finding.Severity{finding.Error, finding.Warning} {
		if n := count[severity] - githubShows; n > 0 {
			parts = append(parts, Count(n, severity.String()))
		}
	}
	if parts == nil {
		return ""
	}
	return "; GitHub shows ten of a kind beside their lines, and " + strings.Join(parts, " and ") + " more in the log only"
}
