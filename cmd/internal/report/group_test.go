package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
)

// overlap returns a conflict of two managers on a TrainJob, as the first finding of each file.
func overlap(name, last string) finding.Finding {
	at := fieldpath.Position{File: name + ".yaml", Line: 7, Column: 3}
	return finding.Finding{
		Code: codes.Overlap, Severity: finding.Error, Position: at,
		Object:  fieldpath.Object{Kind: "TrainJob", Namespace: "team-a", Name: name},
		Path:    fieldpath.Fields("spec", "pool"),
		Message: "managers set different values of " + name + "-node",
		Claims: []merge.Claim{
			{Owner: merge.Manager("a.example.com/sdk"), Value: name + ".a100", Position: at},
			{Owner: merge.Manager("b.example.com/queue"), Value: last, Position: at},
		},
		Remedy: finding.Remedy{Text: "agree on one value"},
	}
}

// named returns the conflicts of TrainJobs with these names.
func named(names string) finding.List {
	var all finding.List
	for _, name := range strings.Fields(names) {
		all = append(all, overlap(name, "spot"))
	}
	return all
}

// TestWrite_GroupGitHub wants the first finding of each cause before the others, since GitHub shows
// ten.
func TestWrite_GroupGitHub(t *testing.T) {
	findings := append(named("a b c d f"), overlap("e", "other"))
	got := written(t, "github", findings,
		report.Options{More: "--all shows each", Releases: []release.Release{*release.Latest()}})
	var files []string
	for line := range strings.Lines(got) {
		file, _, _ := strings.Cut(strings.TrimPrefix(line, "::error file="), ",")
		files = append(files, file)
	}
	if got, want := strings.Join(files, " "), "a.yaml e.yaml b.yaml c.yaml"; got != want {
		t.Errorf("the annotations are at %s, want %s", got, want)
	}
	for _, want := range []string{"%0Athe same in 4 more TrainJobs; --all shows each%0A",
		"%0Ajudged for Trainer " + release.Latest().Version + " with JobSet "} {
		if !strings.Contains(got, want) {
			t.Errorf("the annotations lack %q:\n%s", want, got)
		}
	}
}

// TestWrite_Release wants each format to name the release that judged.
func TestWrite_Release(t *testing.T) {
	version := release.Latest().Version
	for format, want := range map[string]string{
		"json":  `"trainerVersion": "` + version + `"`,
		"sarif": `"trainerVersion": "` + version + `"`,
		"junit": `<property name="trainerVersion" value="` + version + `"></property>`,
	} {
		if got := written(t, format, named("a"),
			report.Options{Releases: []release.Release{*release.Latest()}}); strings.Count(
			got, want) != 1 {
			t.Errorf("%s does not name the release once:\n%s", format, got)
		}
		if got := written(t, format, named("a"), report.Options{}); strings.Contains(
			got, "trainerVersion") {
			t.Errorf("%s names a release that the input does not name:\n%s", format, got)
		}
	}
}

// TestGroups counts the findings of a cause. A report names the last one rather than count it.
func TestGroups(t *testing.T) {
	for names, want := range map[string]string{
		"a b c d":     "4 3 0 3 more TrainJobs",
		"a b c d e":   "5 2 2 4 more TrainJobs",
		"a b c d e g": "6 2 3 5 more TrainJobs",
	} {
		groups := report.Options{}.Groups(append(named(names), overlap("f", "x")))
		if len(groups) != 2 {
			t.Fatalf("%s: %d groups, want 2", names, len(groups))
		}
		g := groups[0]
		if got := fmt.Sprintf("%d %d %d %s", g.Count, len(g.Others), g.Unnamed(),
			g.More()); got != want {
			t.Errorf("the first group of %s is %s, want %s", names, got, want)
		}
	}
}

// TestNameless replaces the name of a TrainJob in the texts of its children.
func TestNameless(t *testing.T) {
	for _, tc := range []struct{ text, name, want, reason string }{
		{"llm", "llm", "\x00", "the name itself"},
		{"llm-node-0-0.llm", "llm", "\x00-node-0-0.\x00", "a host in its network"},
		{`"value":"llm-node-0-0.llm:29400"`, "llm", "\"value\":\"\x00-node-0-0.\x00:29400\"",
			"within JSON"},
		{"my-llm llms xllm llm1", "llm", "my-llm llms xllm llm1", "part of another name"},
		{"llmllm llm", "llm", "llmllm \x00", "twice in a row is another name"},
		{"a a-a.a", "a", "\x00 \x00-a.\x00", "a name of one letter"},
		{"llm", "", "llm", "no name"},
	} {
		if got := report.Nameless(tc.text, tc.name); got != tc.want {
			t.Errorf("%s: %q without %q is %q, want %q", tc.reason, tc.text, tc.name, got, tc.want)
		}
	}
}
