package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

const (
	core          = "github.com/trainweld/trainweld" // the module in the root
	changelogFile = "docs/CHANGELOG.md"
	unreleased    = "## Unreleased\n"
)

// folders are those of the modules that are released together. Each requires those before it.
var folders = []string{"", "render", "cmd"}

// ownVersion matches the version of a released module in a go.mod and in go.work.
var ownVersion = regexp.MustCompile(`(` + regexp.QuoteMeta(core) + `(?:/\w+)* )v\d[\w.+-]*`)

// repository is a working tree of git.
type repository struct{ root string }

// tag gives the changelog's unreleased changes a version, writes the version into the modules that require one another, commits that,
// and tags the commit once for each module. It rejects a tree with changes, a version that is not later than the last one, and a
// changelog without changes, and then changes nothing.
func (r repository) tag(version string, at time.Time) error {
	if err := r.check(version); err != nil {
		return err
	}
	file := filepath.Join(r.root, changelogFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	named, changes, err := nameChanges(string(text), version, at)
	if err != nil {
		return err
	}
	old, err := r.git("rev-parse", "HEAD")
	if err != nil {
		return err
	}
	if err = os.WriteFile(file, []byte(named), 0o666); err == nil {
		err = r.pin(version)
	}
	var tags []string
	for _, folder := range folders {
		tags = append(tags, path.Join(folder, version))
		if err == nil { // --cleanup=verbatim keeps headings, which git takes for comments
			message := tags[len(tags)-1] + "\n\n" + changes
			_, err = r.git("tag", "--annotate", "--cleanup=verbatim", "--message", message, tags[len(tags)-1])
		}
	}
	if err != nil {
		_, _ = r.git(append([]string{"tag", "--delete"}, tags...)...) // it fails for a tag that was not set yet
		_, undo := r.git("reset", "--quiet", "--hard", old)
		return errors.Join(err, undo)
	}
	fmt.Printf("tagged %s: publish it with git push --follow-tags\n", version)
	return nil
}

// check returns an error for a version that cannot follow the tags of this branch, and for a tree with changes or without a branch.
func (r repository) check(version string) error {
	if major := semver.Major(version); semver.Canonical(version) != version || major != "v0" && major != "v1" {
		return fmt.Errorf("invalid version %q: must be a semantic version of v0 or v1, such as v0.1.0", version)
	}
	tags, err := r.git("tag", "--merged", "HEAD", "--list", "v*")
	if err != nil {
		return err
	}
	for _, tag := range strings.Fields(tags) {
		if semver.Compare(version, tag) <= 0 {
			return fmt.Errorf("invalid version %q: must be later than %s", version, tag)
		}
	}
	changed, err := r.git("status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the working tree has changes: commit or remove them first\n%s", changed)
	}
	_, err = r.git("symbolic-ref", "HEAD") // a tag of a detached HEAD would be on no branch
	return err
}

// pin commits all changes with the version and the checksums of the modules in the files that name them. A checksum covers the files of
// a module, so each module is committed before the next one names it.
func (r repository) pin(version string) error {
	toVersion := func(text string) string { return ownVersion.ReplaceAllString(text, "${1}"+version) }
	sums := ""
	for i, folder := range folders {
		err := errors.Join(r.rewrite("go.work", toVersion), r.rewrite(path.Join(folder, "go.mod"), toVersion),
			r.rewrite(path.Join(folder, "go.sum"), func(text string) string { return withSums(text, sums) }))
		if err != nil {
			return err
		}
		commit := []string{"commit", "--quiet", "--all", "--message", "changelog: release " + version, "--amend"}
		if i == 0 {
			commit = commit[:len(commit)-1]
		}
		if _, err := r.git(commit...); err != nil {
			return err
		}
		added, err := r.sums(module.Version{Path: path.Join(core, folder), Version: version}, folder)
		if err != nil {
			return err
		}
		sums += added
	}
	return nil
}

// withSums returns a go.sum with these lines of the released modules, in the order of the go command.
func withSums(text, sums string) string {
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool { return strings.HasPrefix(line, core) })
	at := slices.IndexFunc(lines, func(line string) bool { return line == "" || line > core })
	return strings.Join(slices.Insert(lines, at, sums), "")
}

// sums returns the lines of a go.sum for the module of a folder, from the last commit.
func (r repository) sums(v module.Version, folder string) (string, error) {
	archive, err := os.CreateTemp("", "module-*.zip")
	if err != nil {
		return "", err
	}
	defer os.Remove(archive.Name())
	defer archive.Close()
	if err := zip.CreateFromVCS(archive, v, r.root, "HEAD", folder); err != nil {
		return "", err
	}
	whole, err := dirhash.HashZip(archive.Name(), dirhash.Hash1)
	if err != nil {
		return "", err
	}
	mod, err := dirhash.Hash1([]string{"go.mod"}, func(name string) (file io.ReadCloser, err error) {
		return os.Open(filepath.Join(r.root, folder, name))
	})
	return fmt.Sprintf("%[1]s %[2]s %[3]s\n%[1]s %[2]s/go.mod %[4]s\n", v.Path, v.Version, whole, mod), err
}

// rewrite changes a file of the repository.
func (r repository) rewrite(name string, change func(text string) string) error {
	file := filepath.Join(r.root, name)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(change(string(text))), 0o666)
}

// git runs a command of git, and returns its output without the last line break.
func (r repository) git(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-C", r.root}, args...)...)
	out, err := cmd.CombinedOutput()
	text := strings.TrimRight(string(out), "\n")
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, text)
	}
	return text, err
}

// nameChanges returns the changelog with a heading for the version above the unreleased changes, and those changes.
func nameChanges(text, version string, at time.Time) (named, changes string, err error) {
	before, rest, found := strings.Cut(text, unreleased)
	changes, _, _ = strings.Cut(rest, "\n## ")
	if changes = strings.TrimSpace(changes); !found || changes == "" {
		return "", "", fmt.Errorf("%s: section %q has no changes", changelogFile, strings.TrimSpace(unreleased))
	}
	return before + unreleased + "\n## " + version + " (" + at.Format(time.DateOnly) + ")\n" + rest, changes + "\n", nil
}
