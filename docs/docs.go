// Package docs answers what the code of a finding means, in the words of findings.md, and which form a policy file has.
//
//	if page, ok := docs.Of(finding.Code); ok {
//		fmt.Println(page.Title)
//	}
package docs

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/trainweld/trainweld/finding"
)

//go:embed findings.md
var findings string

//go:embed policy.schema.json
var policySchema string

// PolicySchema returns the JSON Schema of trainweld.yaml.
func PolicySchema() []byte { return []byte(policySchema) }

// Page is the section of one code.
type Page struct {
	// Title is what the code means, in a few words.
	Title string
	// Meaning is what the finding means: the first paragraph, on one line.
	Meaning string
	// Mend says what to do, on one line.
	Mend string
	// Markdown is the whole section without its heading.
	Markdown string
}

// pages are the sections by their codes.
var pages = sync.OnceValue(func() map[finding.Code]Page {
	all := map[finding.Code]Page{}
	for _, section := range strings.Split(findings, "\n## ")[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		code, title, _ := strings.Cut(heading, ": ")
		body = strings.TrimSpace(body)
		meaning, _, _ := strings.Cut(body, "\n\n")
		_, mend, _ := strings.Cut(body, "\n\nMend: ")
		mend, _, _ = strings.Cut(mend, "\n\n")
		all[finding.Code(code)] = Page{Title: title, Meaning: oneLine(meaning), Mend: oneLine(mend), Markdown: body}
	}
	return all
})

// Of returns the page of a code, and whether there is one: there is for every code of package finding.
func Of(code finding.Code) (Page, bool) {
	page, ok := pages()[code]
	return page, ok
}

// Codes returns all codes that have a page, in the order of their numbers.
func Codes() []finding.Code { return slices.Sorted(maps.Keys(pages())) }

func oneLine(paragraph string) string { return strings.Join(strings.Fields(paragraph), " ") }
