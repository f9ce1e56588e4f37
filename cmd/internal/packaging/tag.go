package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// changelogFile names the list of changes in the repository.
const changelogFile = "docs/CHANGELOG.md"

// repository is a working tree of git.
type repository struct{ root string }

// tag gives the changelog's unreleased changes a version, and writes the version into the modules that require one another. It
// commits that, and tags the commit once for each module. It rejects a tree with changes, a version not later than the last one, and
// a changelog without changes. Then it leaves everything as it was.
func (r repository) tag(version string, at time.Time) error {
	if err := r.checkVersion(version); err != nil {
		return err
	}
	if err := r.checkClean(); err != nil {
		return err
	}
	old, err := r.git("rev-parse", "HEAD")
	if err != nil {
		return err
	}
	file := filepath.Join(r.root, changelogFile)
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, changes, err := nameChanges(string(data), version, at)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		return err
	}
	if err := r.record(version, changes); err != nil {
		_, undo := r.git("reset", "--quiet", "--hard", old)
		return errors.Join(err, undo)
	}
	fmt.Printf("tagged %s: publish it with git push --follow-tags\n", version)
	return nil
}

// checkVersion returns an error for a version that does not follow the existing ones, or that the module's path excludes.
func (r repository) checkVersion(version string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("invalid version %q: must be a semantic version such as v1.2.3", version)
	}
	if major := semver.Major(version); major != "v0" && major != "v1" {
		return fmt.Errorf("invalid version %q: the module's path allows v0 and v1 only", version)
	}
	taken, err := r.git("tag", "--list", version)
	if err != nil {
		return err
	}
	if taken != "" {
		return fmt.Errorf("duplicate version %q: the tag exists", version)
	}
	// An earlier line of versions may continue on a branch of its own.
	tags, err := r.git("tag", "--merged", "HEAD", "--list", "v*")
	for _, tag := range strings.Fields(tags) {
		if semver.IsValid(tag) && semver.Compare(version, tag) <= 0 {
			return fmt.Errorf("invalid version %q: must be later than %s", version, tag)
		}
	}
	return err
}

// checkClean returns an error for a tree with changed, staged or untracked files, and for a commit without a branch.
func (r repository) checkClean() error {
	changed, err := r.git("status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the working tree has changes: commit or remove them first\n%s", changed)
	}
	if _, err := r.git("symbolic-ref", "--quiet", "HEAD"); err != nil {
		return errors.New("HEAD is detached: switch to a branch first")
	}
	return nil
}

// record commits the version and tags the commit, once for each module. The message of the tag holds the changes, verbatim: git would
// drop their headings as comments.
func (r repository) record(version, changes string) error {
	if err := r.pin(version, "changelog: release "+version); err != nil {
		return err
	}
	for i, folder := range siblings {
		tag := path.Join(folder, version)
		if _, err := r.git("tag", "--annotate", "--cleanup=verbatim", "--message", tag+"\n\n"+changes, tag); err != nil {
			for _, folder := range siblings[:i] {
				_, undo := r.git("tag", "--delete", path.Join(folder, version))
				err = errors.Join(err, undo)
			}
			return err
		}
	}
	return nil
}

// git runs a command of git, and returns its output without the last line break.
func (r repository) git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.root
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(problem.String()))
	}
	return strings.TrimRight(string(out), "\n"), err
}

// unreleased is the heading of the changes that no version has.
const unreleased = "## Unreleased\n"

// nameChanges returns the changelog with a heading for the version above the unreleased changes, and those changes.
func nameChanges(text, version string, at time.Time) (named, changes string, err error) {
	before, rest, found := strings.Cut("\n"+text, "\n"+unreleased)
	if !found {
		return "", "", fmt.Errorf("%s: required section %q is missing", changelogFile, strings.TrimSpace(unreleased))
	}
	changes, earlier := rest, ""
	if i := strings.Index(rest, "\n## "); i >= 0 {
		changes, earlier = rest[:i], rest[i:]
	}
	if changes = strings.TrimSpace(changes) + "\n"; changes == "\n" {
		return "", "", fmt.Errorf("%s: section %q has no changes", changelogFile, strings.TrimSpace(unreleased))
	}
	heading := fmt.Sprintf("## %s (%s)\n", version, at.Format(time.DateOnly))
	return strings.TrimPrefix(before+"\n", "\n") + unreleased + "\n" + heading + "\n" + changes + earlier, changes, nil
}
