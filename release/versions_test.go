package release_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/release"
)

var update = flag.Bool("update", false, "write docs/versions.md, and the files of kustomize/trainjobs that come from the definitions")

// TestVersions wants the tables of docs/versions.md to say what the data of this package says.
func TestVersions(t *testing.T) {
	const file, from, to = "../docs/versions.md", "<!-- tables -->\n", "<!-- end of tables -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := bytes.Cut(text, []byte(from))
	_, after, ended := bytes.Cut(rest, []byte(to))
	if !found || !ended {
		t.Fatalf("%s lacks %q or %q", file, from, to)
	}
	want := string(before) + from + tables() + to + string(after)
	if string(text) == want {
		return
	}
	if !*update {
		t.Fatalf("%s differs from the data; run go test ./release -update, and look at the difference", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
		t.Fatal(err)
	}
}

// tables returns the table of releases, the table of behaviours, and the list of changes.
func tables() string {
	var b strings.Builder
	known := release.Known()
	b.WriteString("\n| release | Trainer | JobSet |\n| --- | --- | --- |\n")
	for _, r := range known {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Name, r.Version, r.JobSetVersion)
	}
	b.WriteString("\n## The behaviours\n\n| behaviour | decides |")
	for _, r := range known {
		fmt.Fprintf(&b, " %s |", r.Name)
	}
	b.WriteString("\n| --- | --- |" + strings.Repeat(" --- |", len(known)) + "\n")
	for _, s := range release.Switches() {
		fmt.Fprintf(&b, "| `%s` | %s |", s.ID, s.Title)
		for i := range known {
			fmt.Fprintf(&b, " %s |", s.Value(&known[i]))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## The changes\n")
	for _, r := range known[1:] {
		fmt.Fprintf(&b, "\n### Trainer %s\n\n", r.Name)
		for _, s := range release.Switches() {
			for _, turn := range s.Turns {
				if turn.In != r.Name {
					continue
				}
				fmt.Fprintf(&b, "- `%s`: %s", s.ID, turn.Why)
				if turn.Link != "" {
					fmt.Fprintf(&b, " ([%s](%s))", strings.Join(strings.Split(turn.Link, "/")[3:5], "/")+"#"+turn.Link[strings.LastIndexByte(turn.Link, '/')+1:], turn.Link)
				}
				b.WriteString(".\n")
			}
		}
	}
	b.WriteString("\n")
	return b.String()
}
