package codes_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/codes"
)

var update = flag.Bool("update", false, "write the files that codes.txt generates")

// pages is the folder of the documents.
const pages = "../../docs"

// heading matches the heading of a code in codes.txt: the code, the name of its constant, and its
// title.
var heading = regexp.MustCompile(`(?m)^## (TW[1-9]\d\d) (\w+): (\S.*\S)$`)

// mentioned matches the name of a page. codes.txt has no links, which a terminal would show.
var mentioned = regexp.MustCompile(`\bdocs/([\w/-]+\.md|examples/[\w/-]+)`)

// ofCore are the codes that package finding has.
var ofCore = []finding.Code{finding.CodeOverlap, finding.CodeUnion, finding.CodeForced,
	finding.CodeZeroNull}

// TestCodes holds that the pages of findings and the constants are what codes.txt gives.
func TestCodes(t *testing.T) {
	table, err := os.ReadFile("codes.txt")
	if err != nil {
		t.Fatal(err)
	}
	introduction, families, _ := strings.Cut(string(table), "\n# ")
	var index, constants strings.Builder
	index.WriteString(introduction + "\n| task | codes |\n| --- | --- |\n")
	constants.WriteString(
		"// Code generated from render/codes/codes.txt by go test ./render/codes -update; DO NOT " +
			"EDIT.\n\npackage codes\n\nimport \"github.com/trainweld/trainweld/finding\"\n")
	generated := map[string]string{}
	for _, family := range strings.Split(families, "\n# ") {
		slug, text, _ := strings.Cut(family, ": ")
		title, _, _ := strings.Cut(text, "\n")
		page := "findings/" + slug + ".md"
		text = mentioned.ReplaceAllString(text, "[$1](../$1)")
		generated[page] = "# " + strings.TrimRight(heading.ReplaceAllString(text, "## $1: $3"),
			"\n") + "\n"
		headings := heading.FindAllStringSubmatch(text, -1)
		fmt.Fprintf(&index, "| [%s](%s) | %s to %s |\n", title, page, headings[0][1],
			headings[len(headings)-1][1])
		fmt.Fprintf(&constants, "\n// Codes of the page docs/%s.\nconst (\n", page)
		for _, match := range headings {
			value := fmt.Sprintf("finding.Code = %q", match[1])
			if slices.Contains(ofCore, finding.Code(match[1])) {
				value = "= finding.Code" + match[2]
			}
			fmt.Fprintf(&constants, "\t%s %s // %s\n", match[2], value, match[3])
		}
		constants.WriteString(")\n")
	}
	generated["findings.md"] = index.String()
	source, err := format.Source([]byte(constants.String()))
	if err != nil {
		t.Fatal(err)
	}
	generated["../render/codes/constants.go"] = string(source)
	for name, want := range generated {
		file := filepath.Join(pages, name)
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, []byte(want)) {
			t.Errorf("%s (-file +codes.txt): run go test ./render/codes -update: %v\n%s", file, err,
				cmp.Diff(string(got), want))
		}
	}
	found, err := filepath.Glob(pages + "/findings/*.md")
	if err != nil || len(found) != len(generated)-2 {
		t.Errorf("findings has the pages %v, %v; codes.txt has %d families", found, err,
			len(generated)-2)
	}
}

// TestOf holds that every code of the table has its page, in the order of their numbers.
func TestOf(t *testing.T) {
	text, err := os.ReadFile("codes.txt")
	if err != nil {
		t.Fatal(err)
	}
	headings := heading.FindAllStringSubmatch(string(text), -1)
	if len(headings) < 100 || len(headings) != strings.Count(string(text), "\n## ") {
		t.Fatalf("found %d headings", len(headings))
	}
	var order []finding.Code
	for _, match := range headings {
		code := finding.Code(match[1])
		order = append(order, code)
		page, ok := codes.Of(code)
		if !ok || page.Title != match[3] {
			t.Errorf("the title of %s is %q, want %q", code, page.Title, match[3])
		}
		for name, line := range map[string]string{"Meaning": page.Meaning, "Fix": page.Fix} {
			if line == "" || strings.ContainsAny(line, "\n") || len(line) > 1024 {
				t.Errorf("%s of %s must be a line of at most 1024 bytes: %q", name, code, line)
			}
		}
		if strings.Contains(page.Markdown, "\n# ") || strings.Contains(page.Markdown, "\n## ") {
			t.Errorf("the text of %s is not its section:\n%s", code, page.Markdown)
		}
	}
	if all := codes.Codes(); !slices.Equal(all, order) || len(slices.Compact(all)) != len(order) {
		t.Errorf("the codes are %v, want the order of the table: %v", all, order)
	}
	if page, ok := codes.Of("TW999"); ok {
		t.Errorf("TW999 has the page %v", page)
	}
}

func ExampleOf() {
	page, _ := codes.Of(codes.OldVersion)
	fmt.Println(page.Fix)
	// Output: set `apiVersion: trainer.kubeflow.org/v1alpha1`.
}

// TestRemoved keeps a code that is gone out of the table, and says what to use instead.
func TestRemoved(t *testing.T) {
	for _, code := range []finding.Code{"TW126", "TW235", "TW308", "TW309", "TW310", "TW311",
		"TW312", "TW810", "TW811", "TW812"} {
		if _, stays := codes.Of(code); stays || codes.Removed(code) == "" {
			t.Errorf("%s has a page: %t, and Removed says %q", code, stays, codes.Removed(code))
		}
	}
	for _, code := range append(codes.Codes(), "TW999") {
		if instead := codes.Removed(code); instead != "" {
			t.Errorf("%s stays, and Removed says %q", code, instead)
		}
	}
}
