package recorded

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/render/release"
)

var (
	recorder = flag.String("program", "",
		"compare this program instead of the library: make test-releases")
	record = flag.Bool("record", false,
		"write what the program answers into the cases; for a release's own code")
)

// releases are the names of all releases.
func releases() []string {
	var all []string
	for _, r := range release.Compared() {
		all = append(all, r.Name)
	}
	return all
}

// TestRecorded holds the library, or another program, against the recorded results of each release.
func TestRecorded(t *testing.T) {
	archives, err := readArchives("testdata")
	if err != nil {
		t.Fatal(err)
	}
	r := caseRunner{program: own, releases: releases(), record: *record}
	if *recorder != "" {
		r.program = started(*recorder)
	}
	r.run(archives)
	if len(r.outcomes) < 400 {
		t.Errorf("only %d results", len(r.outcomes))
	}
	for _, o := range r.outcomes {
		if o.wrong != "" {
			t.Errorf("%s on %s: %s", o.name, o.release, o.wrong)
		}
	}
	for _, a := range archives {
		if *record && !t.Failed() {
			if err := a.write(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestCases checks that each case has the result of every release. Each behaviour that changes must
// have a case that shows the change. Each archive must be as -record writes it.
func TestCases(t *testing.T) {
	archives, err := readArchives("testdata")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]*recordedCase{}
	for _, a := range archives {
		for _, c := range a.cases {
			known[c.behaviour] = append(known[c.behaviour], c)
			if len(c.want) != len(release.Compared()) {
				t.Errorf("%s has results of %d releases", c, len(c.want))
			}
		}
		name := a.file
		before, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		a.file = filepath.Join(t.TempDir(), "written.txtar")
		if err := a.write(); err != nil {
			t.Fatal(err)
		}
		if after, err := os.ReadFile(a.file); err != nil || string(after) != string(before) {
			t.Errorf("%s is not as -record writes it: %v", name, err)
		}
	}
	unshown := regexp.MustCompile(`^(` + strings.Join(notShown, "|") + `)$`)
	for _, s := range release.Switches() {
		cases := known[s.ID]
		if cases == nil {
			if !unshown.MatchString(s.ID) &&
				slices.ContainsFunc(s.Changes, func(c release.Change) bool {
					return release.MarkOf(c.In, s.ID) == ""
				}) {
				t.Errorf("no case shows %s", s.ID)
			}
			continue
		}
		for _, change := range s.Changes {
			if release.MarkOf(change.In, s.ID) == "" && !unshown.MatchString(s.ID) &&
				!shows(t, cases, change.In) {
				t.Errorf("no case of %s shows what turns in %s", s.ID, change.In)
			}
		}
	}
}

// notShown are the behaviours whose change no result shows. One is a feature gate. The others are
// rules that only moved, so that another rule rejects the same input. The proofs of TestFlips name
// them.
var notShown = []string{"status-gate", "jobset-group", "jobset-dependency", "jobset-coordinator",
	"name-on-create", "mpi-processes"}

// shows reports whether a case of a behaviour has another result in a release than in the one
// before.
func shows(t *testing.T, cases []*recordedCase, in string) bool {
	t.Helper()
	all := releases()
	for i := range all[1:] {
		if all[i+1] != in {
			continue
		}
		for _, c := range cases {
			before, _, err := c.want[all[i]].text()
			if err != nil {
				t.Fatal(err)
			}
			after, _, err := c.want[in].text()
			if err != nil {
				t.Fatal(err)
			}
			if before != after {
				return true
			}
		}
	}
	return false
}
