package docs_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/docs"
	"github.com/trainweld/trainweld/finding"
)

// TestOf wants the page of every heading of findings.md; that each code has a heading is for the
// tests of package schema to see.
func TestOf(t *testing.T) {
	text, err := os.ReadFile("findings.md")
	if err != nil {
		t.Fatal(err)
	}
	headings := regexp.MustCompile(`(?m)^## (TW\d{3}): (.+)$`).FindAllStringSubmatch(string(text), -1)
	if len(headings) < 100 {
		t.Fatalf("found %d headings", len(headings))
	}
	for _, heading := range headings {
		page, ok := docs.Of(finding.Code(heading[1]))
		if !ok || page.Title != heading[2] {
			t.Errorf("the title of %s is %q, want %q", heading[1], page.Title, heading[2])
		}
		for name, line := range map[string]string{"Meaning": page.Meaning, "Mend": page.Mend} {
			if line == "" || strings.ContainsAny(line, "\n") || len(line) > 1024 {
				t.Errorf("%s of %s is no line of a size that viewers take: %q", name, heading[1], line)
			}
		}
		if !strings.Contains(page.Markdown, "\n\nMend: ") || strings.Contains(page.Markdown, "\n## ") {
			t.Errorf("the text of %s is not its section:\n%s", heading[1], page.Markdown)
		}
	}
	codes := docs.Codes()
	if len(codes) != len(headings) || !slices.IsSorted(codes) || !slices.Contains(codes, finding.CodeSyntax) {
		t.Errorf("%d codes, want the %d of the headings in order: %v", len(codes), len(headings), codes)
	}
	if page, ok := docs.Of("TW999"); ok {
		t.Errorf("TW999 has the page %v", page)
	}
}

func ExampleOf() {
	page, _ := docs.Of(finding.CodeOldVersion)
	fmt.Println(page.Mend)
	// Output: write `apiVersion: trainer.kubeflow.org/v1alpha1`.
}
