package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/render/release"
)

// TestTrainweld wants trainweld's own answer to pass all cases.
func TestTrainweld(t *testing.T) {
	archives, err := readArchives("cases")
	if err != nil {
		t.Fatal(err)
	}
	releases, err := releasesNamed("")
	if err != nil {
		t.Fatal(err)
	}
	r := caseRunner{
		program: func(args []string, in io.Reader, out, problems io.Writer) (int, error) {
			return serve(args, in, out, problems), nil
		},
		releases: releases, matching: regexp.MustCompile(""), children: true, warnings: true,
	}
	r.run(archives)
	var out strings.Builder
	if !r.report(&out) || len(r.outcomes) < 400 {
		t.Errorf("%d answers\n%s", len(r.outcomes), &out)
	}
}

// TestCases checks that each case has the result of every release. Each behaviour that changes must have a case that shows the change.
// Each archive must be as the runner writes it.
func TestCases(t *testing.T) {
	archives, err := readArchives("cases")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]*conformanceCase{}
	for _, a := range archives {
		for _, c := range a.cases {
			known[c.behaviour] = append(known[c.behaviour], c)
			if len(c.want) != len(release.Known()) {
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
			if !unshown.MatchString(s.ID) {
				t.Errorf("no case shows %s", s.ID)
			}
			continue
		}
		for _, change := range s.Changes {
			if !unshown.MatchString(s.ID) && !shows(t, cases, change.In) {
				t.Errorf("no case of %s shows what turns in %s", s.ID, change.In)
			}
		}
	}
}

// notShown are the behaviours whose change no result shows. One is a feature gate. The others are rules that only moved, so that
// another rule rejects the same input. The proofs of TestFlips name them.
var notShown = []string{"status-gate", "jobset-group", "jobset-dependency", "jobset-coordinator", "name-on-create", "mpi-processes"}

// shows reports whether a case of a behaviour has another result in a release than in the one before.
func shows(t *testing.T, cases []*conformanceCase, in string) bool {
	t.Helper()
	all, err := releasesNamed("")
	if err != nil {
		t.Fatal(err)
	}
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

// TestRun checks that a program with wrong answers fails, and that mistakes in the flags have a separate status.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	const text = `What a case is.
-- shown/one/input.yaml --
kind: TrainJob
metadata: {name: a}
-- shown/one/2.0.refused --
-- shown/one/2.1,2.2.json --
{"kind": "List", "items": [{"kind": "JobSet", "metadata": {"name": "a"}, "spec": {"suspend": true}}]}
-- shown/one/2.2.owners --
[{"manager": "m", "fieldsV1": {"f:spec": {}}}]
`
	if err := os.WriteFile(filepath.Join(dir, "shown.txtar"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	script := func(body string) string {
		name := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(name, []byte("#!/bin/sh\ncat >/dev/null\n"+body+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const jobSet = `{"kind":"List","items":[{"kind":"JobSet","metadata":{"name":"a","uid":"1","creationTimestamp":null%s},"spec":{"suspend":true},"status":{}}]}`
	plain := strings.Replace(jobSet, "%s", "", 1)
	for _, tc := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"right", []string{"-exec", script(`[ "$2" = 2.0 ] && exit 1; echo '` + plain + `'`)}, 0, "3 of 3 pass"},
		{"refuses all", []string{"-exec", script("exit 1")}, 1, "1 of 3 pass"},
		{"refuses nothing", []string{"-exec", script(`echo '` + plain + `'`)}, 1, "renders it, and the release refuses it"},
		{"no objects", []string{"-exec", script(`echo '{"kind":"List"}'`), "-release", "2.1"}, 1, "suspend"},
		{"other owners", []string{"-exec", script(`echo '` + strings.Replace(jobSet, "%s", `,"managedFields":[{"manager":"m","fieldsV1":{"f:x":{}}}]`, 1) + `'`), "-release", "2.2"}, 1, "f:x"},
		{"same owners", []string{"-exec", script(`echo '` + strings.Replace(jobSet, "%s", `,"managedFields":[{"manager":"m","fieldsV1":{"f:spec":{}}}]`, 1) + `'`), "-release", "2.2"}, 0, "1 of 1 pass"},
		{"no List", []string{"-exec", script("echo x")}, 1, "the program's output"},
		{"crash", []string{"-exec", script("echo broken >&2; exit 3")}, 1, "broken"},
		{"no program", nil, 2, "name the program"},
		{"unknown release", []string{"-exec", "x", "-release", "3.0"}, 2, "2.0 (2.0.1)"},
		{"full version", []string{"-exec", "x", "-release", "2.2.1"}, 2, "minor version"},
		{"unknown case", []string{"-exec", "x", "-run", "other"}, 1, "0 of 0 pass"},
		{"bad pattern", []string{"-exec", "x", "-run", "("}, 2, "-run"},
		{"unknown flag", []string{"-x"}, 2, "not defined"},
	} {
		var out, problems strings.Builder
		status := run(append([]string{"-cases", dir}, tc.args...), &out, &problems)
		if status != tc.status || !strings.Contains(out.String()+problems.String(), tc.want) {
			t.Errorf("%s: status %d, want %d and %q:\n%s%s", tc.name, status, tc.status, tc.want, &out, &problems)
		}
	}
	if status := run([]string{"-cases", t.TempDir(), "-exec", "x"}, &strings.Builder{}, &strings.Builder{}); status != 2 {
		t.Errorf("a folder without cases ends with %d", status)
	}
}
