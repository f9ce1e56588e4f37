package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const sampleChanges = `# Changelog

## Unreleased

### Fixes

- A fix.

## v0.1.0 (2029-01-02)

- The first one.
`

var taggedAt = time.Date(2030, time.May, 6, 23, 0, 0, 0, time.UTC)

// newRepository returns a repository with one commit and the tag v0.1.0.
func newRepository(t *testing.T, changes string) *repository {
	t.Helper()
	// The user's configuration must not sign or rewrite anything.
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	r := &repository{root: t.TempDir()}
	writeFile(t, r, changelogFile, changes)
	writeFile(t, r, "LICENSE", "a license\n")
	writeFile(t, r, "go.work",
		"go 1.26.0\n\nreplace (\n\tgithub.com/trainweld/trainweld v0.0.0 => "+
			"./\n\tgithub.com/trainweld/trainweld/render v0.0.0 => ./render\n)\n")
	writeFile(t, r, "go.mod", "module github.com/trainweld/trainweld\n")
	writeFile(t, r, "render/go.mod",
		"module github.com/trainweld/trainweld/render\n\nrequire github.com/trainweld/trainweld "+
			"v0.0.0\n")
	writeFile(t, r, "cmd/go.mod",
		"module github.com/trainweld/trainweld/cmd\n\nrequire "+
			"(\n\tgithub.com/trainweld/trainweld v0.0.0\n\tgithub.com/trainweld/trainweld/render "+
			"v0.0.0\n)\n")
	writeFile(t, r, "render/go.sum", "example.com/a v1.0.0 h1:x\n"+core+" v0.0.0 h1:old\n")
	writeFile(t, r, "cmd/go.sum", "")
	writeFile(t, r, "go.sum", "")
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"}, {"config", "user.name", "A"},
		{"config", "user.email", "a@example.com"},
		{"add", "."}, {"commit", "--quiet", "--message", "first"}, {"tag", "v0.1.0"},
	} {
		mustGit(t, r, args...)
	}
	return r
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t *testing.T, r *repository, name, text string) {
	t.Helper()
	file := filepath.Join(r.root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
}

func mustGit(t *testing.T, r *repository, args ...string) string {
	t.Helper()
	run := &repository{root: r.root}
	out := run.git(args...)
	if run.err != nil {
		t.Fatal(run.err)
	}
	return out
}

// TestTag tags a version, and then a commit after it.
func TestTag(t *testing.T) {
	r := newRepository(t, sampleChanges)
	if err := (&repository{root: r.root}).tag("v0.2.0", taggedAt); err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(sampleChanges, "## Unreleased\n",
		"## Unreleased\n\n## v0.2.0 (2030-05-06)\n", 1)
	if got := string(read(t, filepath.Join(r.root, changelogFile))); got != want {
		t.Errorf("changelog = %q, want %q", got, want)
	}
	for _, check := range []struct{ args, want string }{
		{"status --porcelain", ""},
		{"describe --match v*", "v0.2.0"},
		{"log -1 --format=%s", "changelog: release v0.2.0"},
		{"cat-file -t v0.2.0", "tag"},
		{"tag --points-at HEAD", "cmd/v0.2.0\nrender/v0.2.0\nv0.2.0"},
		{"tag --list --format=%(contents) v0.2.0", "v0.2.0\n\n### Fixes\n\n- A fix."},
	} {
		if got := strings.TrimSpace(
			mustGit(t, r, strings.Split(check.args, " ")...)); got != check.want {
			t.Errorf("git %s = %q, want %q", check.args, got, check.want)
		}
	}
	for _, name := range []string{"go.work", "render/go.mod", "cmd/go.mod"} {
		if text := string(read(t, filepath.Join(r.root, name))); !strings.Contains(
			text, "v0.2.0") || strings.Contains(text, "v0.0.0") {
			t.Errorf("%s names another version:\n%s", name, text)
		}
	}
	sums := string(read(t, filepath.Join(r.root, "cmd/go.sum")))
	for _, want := range []string{core + " v0.2.0 h1:", core + " v0.2.0/go.mod h1:",
		core + "/render v0.2.0 h1:", core + "/render v0.2.0/go.mod h1:"} {
		if !strings.Contains(sums, want) {
			t.Errorf("cmd/go.sum has no %q:\n%s", want, sums)
		}
	}
	if text := string(read(t, filepath.Join(r.root, "render/go.sum"))); strings.Contains(
		text, "old") || !strings.Contains(text, "example.com/a v1.0.0 h1:x\n") ||
		strings.Contains(text, "/render") {
		t.Errorf("render/go.sum is\n%s", text)
	}
	if err := (&repository{root: r.root}).tag("v0.3.0", taggedAt); err == nil ||
		!strings.Contains(err.Error(), `section "## Unreleased" has no changes`) {
		t.Errorf("tag without changes = %v", err)
	}
}

// TestTag_Rejects holds that a rejected tag changes no file, commit or tag.
func TestTag_Rejects(t *testing.T) {
	for _, test := range []struct {
		name, version, want string
		prepare             func(t *testing.T, r *repository)
	}{
		{"no version", "next", "must be a semantic version", nil},
		{"a version without a patch number", "v1.2", "must be a semantic version", nil},
		{"a version without v", "1.2.3", "must be a semantic version", nil},
		{"a second major version", "v2.0.0", "of v0 or v1", nil},
		{"the version of a tag", "v0.1.0", "later than v0.1.0", nil},
		{"a version before a tag", "v0.0.9", "later than v0.1.0", nil},
		{"a prerelease of a tag", "v0.1.0-rc.1", "later than v0.1.0", nil},
		{"a changed file", "v0.2.0", "the working tree has changes",
			func(t *testing.T, r *repository) {
				writeFile(t, r, changelogFile, sampleChanges+"\n- Another fix.\n")
			}},
		{"a staged file", "v0.2.0", "the working tree has changes",
			func(t *testing.T, r *repository) {
				writeFile(t, r, "staged.go", "")
				mustGit(t, r, "add", "staged.go")
			}},
		{"an untracked file", "v0.2.0", "?? new.go", func(t *testing.T, r *repository) {
			writeFile(t, r, "new.go", "")
		}},
		{"no branch", "v0.2.0", "symbolic-ref", func(t *testing.T, r *repository) {
			mustGit(t, r, "checkout", "--quiet", "--detach")
		}},
		{"no section", "v0.2.0", `section "## Unreleased" has no changes`,
			func(t *testing.T, r *repository) {
				writeFile(t, r, changelogFile, "# Changelog\n")
				mustGit(t, r, "commit", "--quiet", "--all", "--message", "second")
			}},
		{"a hook that refuses the commit", "v0.2.0", "not today",
			func(t *testing.T, r *repository) {
				writeFile(t, r, ".git/hooks/pre-commit", "#!/bin/sh\necho not today >&2\nexit 1\n")
			}},
		{"a tag that git cannot write", "v0.2.0", "git tag", func(t *testing.T, r *repository) {
			mustGit(t, r, "config", "tag.gpgSign", "true")
			mustGit(t, r, "config", "gpg.program", filepath.Join(r.root, "missing"))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRepository(t, sampleChanges)
			if test.prepare != nil {
				test.prepare(t, r)
			}
			state := func() string {
				return mustGit(t, r, "rev-parse", "HEAD") + mustGit(t, r, "status", "--porcelain") +
					mustGit(t, r, "tag", "--list") +
					string(read(t, filepath.Join(r.root, changelogFile)))
			}
			before := state()
			if err := (&repository{root: r.root}).tag(test.version, taggedAt); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("tag(%q) = %v, want %q", test.version, err, test.want)
			}
			if after := state(); after != before {
				t.Errorf("a refused tag changes the repository: %q, want %q", after, before)
			}
		})
	}
}

// TestTag_Branch holds that a branch of an earlier version can get the next one.
func TestTag_Branch(t *testing.T) {
	r := newRepository(t, sampleChanges)
	mustGit(t, r, "branch", "v0.1")
	if err := (&repository{root: r.root}).tag("v0.2.0", taggedAt); err != nil {
		t.Fatal(err)
	}
	mustGit(t, r, "checkout", "--quiet", "v0.1")
	if err := (&repository{root: r.root}).tag("v0.1.1", taggedAt); err != nil {
		t.Error(err)
	}
}

// TestNameChanges_Changelog holds that the repository's own changelog can be tagged.
func TestNameChanges_Changelog(t *testing.T) {
	text := string(read(t, filepath.Join("..", "..", "..", "..", changelogFile)))
	if !strings.Contains(text, "\n"+unreleased) {
		t.Fatalf("%s has no heading %q", changelogFile, strings.TrimSpace(unreleased))
	}
	named, _, err := nameChanges(text+"\n- a change\n", "v9.9.9", taggedAt)
	if err != nil {
		t.Fatal(err)
	}
	if want := "\n## Unreleased\n\n## v9.9.9 (2030-05-06)\n\n"; !strings.Contains(named, want) {
		t.Errorf("the changelog of a release has no %q", want)
	}
}
