// Package codes has the codes of all findings and explains them. The table codes.txt is its source:
// its constants and the pages in findings are generated from it. Report collects the findings of
// several stages: each once, and the better of two about one mistake.
//
//	if page, ok := codes.Of(finding.Code); ok {
//		fmt.Println(page.Title)
//	}
//
// Its first file to read is codes.go.
package codes

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/trainweld/trainweld/finding"
)

//go:embed codes.txt
var table string

// Page is the section of one code.
type Page struct {
	// Title names the problem in a few words.
	Title string
	// Meaning is the first paragraph, on one line. It begins with the severity.
	Meaning string
	// Fix says what to do, on one line.
	Fix string
	// Markdown is the whole section without its heading.
	Markdown string
	// URL is the address of the section.
	URL string
}

// Home is the address of the project.
const Home = "https://github.com/trainweld/trainweld"

// Docs is the address of the folder docs.
const Docs = Home + "/blob/main/docs/"

// pages are the sections by their codes.
var pages = sync.OnceValue(func() map[finding.Code]Page {
	all := map[finding.Code]Page{}
	for _, family := range strings.Split(table, "\n# ")[1:] {
		slug, _, _ := strings.Cut(family, ": ")
		for _, section := range strings.Split(family, "\n## ")[1:] {
			heading, body, _ := strings.Cut(section, "\n")
			code, title, _ := strings.Cut(heading, ": ")
			code, _, _ = strings.Cut(code, " ")
			body = strings.TrimSpace(body)
			meaning, _, _ := strings.Cut(body, "\n\n")
			_, fix, _ := strings.Cut(body, "\n\nFix: ")
			fix, _, _ = strings.Cut(fix, "\n\n")
			all[finding.Code(code)] = Page{
				Title: title, Meaning: oneLine(meaning), Fix: oneLine(fix), Markdown: body,
				URL: Docs + "findings/" + slug + ".md#" + anchor(code+": "+title),
			}
		}
	}
	return all
})

// anchor returns the anchor that GitHub gives to a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// Of returns the page of a code, and whether there is one: there is for every constant.
func Of(code finding.Code) (Page, bool) {
	page, ok := pages()[code]
	return page, ok
}

// Codes returns all codes that have a page, in the order of their numbers.
func Codes() []finding.Code { return slices.Sorted(maps.Keys(pages())) }

// IsDispute reports whether a finding with the code is about opposing values of managers. The
// cluster drops some of the values, or keeps too many.
func IsDispute(code finding.Code) bool {
	switch code {
	case Overlap, Union:
		return true
	}
	return false
}

// AssumesRuntime reports whether a finding notes a runtime that the inputs lack. The runtime comes
// from a release of the Trainer instead. A report shows one such finding, which names all of these
// runtimes, among notes as among other findings. A strict run fails on it, because a cluster may
// have changed the runtime.
func AssumesRuntime(f finding.Finding) bool {
	return f.Code == NoRuntime && f.Severity == finding.Note
}

const (
	assumed   = "ClusterTrainingRuntime "
	takenFrom = " is taken from "
)

// AssumedRuntime is the message of such a note. A release ships only ClusterTrainingRuntimes.
func AssumedRuntime(name, version string) string {
	return assumed + name + takenFrom + "Trainer " + version + "; the cluster's may differ"
}

// JoinRuntimes returns the findings with one note on assumed runtimes, the first, which names them
// all.
func JoinRuntimes(found finding.List) finding.List {
	first := slices.IndexFunc(found, AssumesRuntime)
	if first < 0 {
		return found
	}
	names := map[string][]string{} // by what follows the name: one for each release
	joined := slices.Clone(found[:first+1])
	for _, f := range found[first:] {
		if name, rest, _ := strings.Cut(f.Message, takenFrom); AssumesRuntime(f) {
			names[rest] = append(names[rest], strings.TrimPrefix(name, assumed))
		} else {
			joined = append(joined, f)
		}
	}
	var parts []string
	for _, rest := range slices.Sorted(maps.Keys(names)) {
		slices.Sort(names[rest])
		if of := slices.Compact(names[rest]); len(of) == 1 {
			parts = append(parts, assumed+of[0]+takenFrom+rest)
		} else {
			parts = append(parts, fmt.Sprintf("%ss %s are taken from %s",
				strings.TrimSpace(assumed), strings.Join(of, ", "), rest))
		}
	}
	joined[first].Message = strings.Join(parts, "; ")
	return joined
}

func oneLine(paragraph string) string { return strings.Join(strings.Fields(paragraph), " ") }
