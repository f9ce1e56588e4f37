package repair

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/report"
)

// mostFiles is the largest number of files that a summary names.
const mostFiles = 10

// summary counts the repaired findings, by their files and codes. verb is the first word: "repaired" or "would repair".
func (r *Result) summary(verb string) string {
	if len(r.Files) == 0 {
		return verb + " nothing"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s in %s: %s", verb, report.Count(len(r.repaired), "finding"), report.Count(len(r.Files), "file"), codes(r.repaired))
	byFile := map[string]finding.List{}
	for _, f := range r.repaired {
		byFile[f.Position.File] = append(byFile[f.Position.File], f)
	}
	for n, file := range r.Files {
		if n == mostFiles {
			fmt.Fprintf(&b, "\n  and %d more", len(r.Files)-n)
			break
		}
		fmt.Fprintf(&b, "\n  %s", report.Printable(file.Name))
		if found := byFile[file.Name]; found != nil {
			fmt.Fprintf(&b, ": %s", codes(found))
		}
	}
	return b.String()
}

// codes counts findings by their codes.
func codes(found finding.List) string {
	count := map[finding.Code]int{}
	for _, f := range found {
		count[f.Code]++
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
