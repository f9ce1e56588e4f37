package release_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/render/release"
)

var update = flag.Bool("update", false,
	"write docs/versions.md, and the files of docs/examples/components/trainjobs that come from "+
		"the definitions")

// TestVersions compares the lists of docs/versions.md with the data of this package.
func TestVersions(t *testing.T) {
	const file, from, to = "../../docs/versions.md", "<!-- changes -->\n",
		"<!-- end of changes -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := bytes.Cut(text, []byte(from))
	_, after, ended := bytes.Cut(rest, []byte(to))
	if !found || !ended {
		t.Fatalf("%s lacks %q or %q", file, from, to)
	}
	want := string(before) + from + changes() + to + string(after)
	if string(text) == want {
		return
	}
	if !*update {
		t.Fatalf("%s differs from the data; run go test ./render/release -update, and look at "+
			"the difference", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
		t.Fatal(err)
	}
}

// changes returns the lists of changes.
func changes() string {
	var b strings.Builder
	linked := func(id, link string) string {
		if link == "" {
			return "`" + id + "`"
		}
		return "[`" + id + "`](" + link + ")"
	}
	b.WriteString("\n## The changes\n")
	for _, r := range release.Known()[1:] {
		fmt.Fprintf(&b, "\n### Trainer %s\n\n", r.Name)
		if r.Unread() {
			b.WriteString(facts(r, linked))
			continue
		}
		for _, s := range release.Switches() {
			for _, change := range s.Changes {
				if change.In != r.Name {
					continue
				}
				var parts []string
				for _, p := range s.Parts {
					// the definitions of runtimes have the same parts
					if p.In == change.In && s.ID != "jobset-definition" {
						parts = append(parts, linked(p.ID, p.Link))
					}
				}
				fmt.Fprintf(&b, "- %s: %s.\n", linked(s.ID, change.Link),
					cmp.Or(strings.Join(parts, ", "), change.Why))
			}
		}
	}
	b.WriteString("\n")
	return b.String()
}

// facts returns the table of the changes of an unread release, with their marks.
func facts(r release.Release, linked func(id, link string) string) string {
	b := &strings.Builder{}
	b.WriteString("| since then | switch | known |\n| --- | --- | --- |\n")
	row := func(id, why, link string) {
		mark := release.MarkOf(r.Name, id)
		fmt.Fprintf(b, "| %s | %s | %s `[%s]` |\n", why, linked(id, link), mark.Text(), mark)
	}
	for _, s := range release.Switches() {
		parts := 0
		for _, p := range s.Parts {
			if p.In == r.Name && s.ID != "jobset-definition" {
				row(p.ID, p.Why, p.Link)
				parts++
			}
		}
		for _, change := range s.Changes {
			if change.In == r.Name && parts == 0 {
				row(s.ID, change.Why, change.Link)
			}
		}
	}
	return b.String()
}
