package repair

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath/printable"
	"github.com/trainweld/trainweld/finding"
)

// mostFiles is the largest number of files that a summary names.
const mostFiles = 10

// summary counts the repaired findings, by their files and codes. verb is the first word: "repaired" or "would repair".
func (r *Result) summary(verb string) string {
	if len(r.Files) == 0 {
		return verb + " nothing"
	}
	if len(r.Files) == 1 {
		return fmt.Sprintf("%s %s in %s: %s", verb, report.Count(len(r.repaired), "finding"), printable.Name(r.Files[0].Name), countsByCode(r.repaired))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s in %s: %s", verb, report.Count(len(r.repaired), "finding"), report.Count(len(r.Files), "file"), countsByCode(r.repaired))
	byFile := map[string][]*fix{}
	for _, w := range r.repaired {
		for _, name := range w.files() {
			byFile[name] = append(byFile[name], w)
		}
	}
	for n, file := range r.Files {
		if n == mostFiles {
			fmt.Fprintf(&b, "\n  and %d more", len(r.Files)-n)
			break
		}
		fmt.Fprintf(&b, "\n  %s: %s", printable.Name(file.Name), countsByCode(byFile[file.Name]))
	}
	return b.String()
}

// files returns the names of the files that the repair changes, sorted.
func (w *fix) files() []string {
	var names []string
	for _, c := range w.changes {
		names = append(names, c.File)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// countsByCode returns how many findings of each code are repaired.
func countsByCode(repaired []*fix) string {
	count := map[finding.Code]int{}
	for _, w := range repaired {
		count[w.finding.Code]++
	}
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(count)) {
		part := string(code)
		if n := count[code]; n > 1 {
			part = fmt.Sprintf("%d of %s", n, code)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// repairable counts the findings with one right repair.
func repairable(found finding.List) int {
	n := 0
	for _, f := range found {
		if f.Remedy.IsCertain && f.Severity > finding.Note && f.Build == "" && f.Position.Line > 0 {
			n++
		}
	}
	return n
}
