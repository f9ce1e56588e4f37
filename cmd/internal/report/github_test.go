package report_test

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/finding"
)

// command is a workflow command as GitHub's runner reads it.
type command struct {
	name, text string
	properties map[string]string
}

var commandForm = regexp.MustCompile(`^::([a-z]+) ([^:]*)::(.*)$`)

// parseGitHub reads each line of a report as a command. The properties end at the first colon.
// Commas separate them.
func parseGitHub(t *testing.T, text string) []command {
	t.Helper()
	var all []command
	for line := range strings.Lines(text) {
		match := commandForm.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if match == nil {
			t.Fatalf("no command: %q", line)
		}
		c := command{name: match[1], text: unescaped(t, match[3]), properties: map[string]string{}}
		for _, property := range strings.Split(match[2], ",") {
			key, value, ok := strings.Cut(property, "=")
			if _, twice := c.properties[key]; twice || !ok {
				t.Fatalf("no property or one twice: %q in %q", property, line)
			}
			c.properties[key] = unescaped(t, value)
		}
		all = append(all, c)
	}
	return all
}

func unescaped(t *testing.T, text string) string {
	t.Helper()
	plain, err := url.PathUnescape(text)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestGitHub(t *testing.T) {
	commands := parseGitHub(t, written(t, "github", findings(t), options()))
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
		for key := range c.properties {
			if !slices.Contains([]string{"file", "line", "col", "title"}, key) {
				t.Errorf("an unknown property %q", key)
			}
		}
	}
	want := slices.Concat(slices.Repeat([]string{"error"}, 6),
		slices.Repeat([]string{"warning"}, 5), []string{"notice"})
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("not errors first, and not in their order: %s", diff)
	}
	if got := commands[3].properties; got["file"] != "jobs/größe 50%.yaml" || got["line"] != "1" ||
		got["col"] != "7" {
		t.Errorf("the properties do not read back: %v", got)
	}
	if got := strings.Split(commands[0].text, "\n"); len(got) != 5 ||
		got[4] != "help: agree on one value" {
		t.Errorf("the text does not read back: %q", got)
	}
}

func TestSummary(t *testing.T) {
	many := func(errors, warnings, notes int) finding.List {
		return slices.Concat(
			slices.Repeat(finding.List{{Severity: finding.Error}}, errors),
			slices.Repeat(finding.List{{Severity: finding.Warning}}, warnings),
			slices.Repeat(finding.List{{Severity: finding.Note}}, notes),
		)
	}
	for _, tc := range []struct {
		format   string
		findings finding.List
		all      bool
		want     string
	}{
		{"text", nil, false, ""},
		{"text", many(0, 0, 3), false, ""},
		{"text", many(1, 0, 0), false, "1 error"},
		{"text", many(2, 1, 1), false, "2 errors, 1 warning"},
		{"text", many(30, 30, 1), false, "30 errors, 30 warnings"},
		{"github", many(10, 10, 1), true, "10 errors, 10 warnings"},
		{"github", many(11, 30, 1), true,
			"11 errors, 30 warnings; GitHub shows ten of a kind beside their lines, and 1 error " +
				"and 20 warnings more in the log only"},
		// three of a cause are written
		{"github", many(30, 30, 1), false, "30 errors, 30 warnings"},
	} {
		t.Run(fmt.Sprint(tc.format, len(tc.findings)), func(t *testing.T) {
			if got := report.Summary(tc.format, tc.findings,
				report.Options{All: tc.all}); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
