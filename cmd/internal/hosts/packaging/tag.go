package main

import (
	"cmp"
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

const core = "github.com/trainweld/trainweld" // the module in the root
const changelogFile, unreleased = "docs/CHANGELOG.md", "## Unreleased\n"

// folders are those of the modules that are released together. Each requires those before it.
var folders = []string{"", "render", "cmd"}

// ownVersion matches the version of a released module in a go.mod and in go.work.
var ownVersion = regexp.MustCompile(`(` + regexp.QuoteMeta(core) + `(?:/\w+)* )v\d[\w.+-]*`)

// repository is a working tree of git. After an error nothing changes it any more.
type repository struct {
	root string
	err  error
}

// tag gives the changelog's unreleased changes a version, writes the version into the modules that
// require one another, commits that, and tags the commit once for each module. It rejects a tree
// with changes, an earlier version and a changelog without changes, and then changes nothing.
func (r *repository) tag(version string, at time.Time) error {
	tags := strings.Fields(r.git("tag", "--merged", "HEAD", "--list", "v*"))
	last := slices.MaxFunc(append(tags, "v0.0.0-0"), semver.Compare)
	if semver.Canonical(version) != version || semver.Major(version) > "v1" ||
		semver.Compare(version, last) <= 0 {
		return fmt.Errorf("invalid version %q: "+
			"must be a semantic version of v0 or v1, later than %s", version, last)
	}
	if changed := r.git("status", "--porcelain"); changed != "" {
		return fmt.Errorf("the working tree has changes: commit or remove them first\n%s", changed)
	}
	r.git("symbolic-ref", "HEAD") // a tag of a detached HEAD would be on no branch
	old := r.git("rev-parse", "HEAD")
	if r.err != nil {
		return r.err
	}
	var changes string
	r.rewrite(changelogFile, func(text string) (named string) {
		named, changes, r.err = nameChanges(text, version, at)
		return named
	})
	r.pin(version)
	tags = []string{"tag", "--delete"}
	for _, folder := range folders {
		tag := path.Join(folder, version)
		tags = append(tags, tag)
		// --cleanup=verbatim keeps headings, which git takes for comments.
		r.git("tag", "--annotate", "--cleanup=verbatim", "--message="+tag+"\n\n"+changes, tag)
	}
	if r.err != nil {
		undo := repository{root: r.root}
		undo.git("reset", "--quiet", "--hard", old)
		(&repository{root: r.root}).git(tags...) // some may not be set yet
		return errors.Join(r.err, undo.err)
	}
	fmt.Printf("tagged %s: publish it with git push --follow-tags\n", version)
	return nil
}

// pin commits all changes with the version and the checksums of the modules. A checksum covers the
// files of a module, so each module is committed before the next one names it.
func (r *repository) pin(version string) {
	toVersion := func(s string) string { return ownVersion.ReplaceAllString(s, "${1}"+version) }
	sums, amend := "", "--no-amend"
	withSums := func(text string) string { // in the order of the go command
		lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"),
			func(line string) bool { return strings.HasPrefix(line, core) })
		at := slices.IndexFunc(lines, func(line string) bool { return line == "" || line > core })
		return strings.Join(slices.Insert(lines, at, sums), "")
	}
	for _, folder := range folders {
		r.rewrite("go.work", toVersion)
		r.rewrite(path.Join(folder, "go.mod"), toVersion)
		r.rewrite(path.Join(folder, "go.sum"), withSums)
		r.git("commit", "--quiet", "--all", "--message=changelog: release "+version, amend)
		amend, sums = "--amend", sums+r.sums(path.Join(core, folder), version, folder)
	}
}

// sums returns the lines of a go.sum for the module of a folder, from the last commit.
func (r *repository) sums(name, version, folder string) string {
	file, err := os.CreateTemp("", "module-*.zip")
	if r.err = cmp.Or(r.err, err); r.err != nil {
		return ""
	}
	defer os.Remove(file.Name())
	v := module.Version{Path: name, Version: version}
	err = errors.Join(zip.CreateFromVCS(file, v, r.root, "HEAD", folder), file.Close())
	whole, errZip := dirhash.HashZip(file.Name(), dirhash.Hash1)
	mod, errMod := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(r.root, folder, "go.mod"))
	})
	r.err = errors.Join(err, errZip, errMod)
	return fmt.Sprintf("%s %s %s\n%[1]s %[2]s/go.mod %[4]s\n", name, version, whole, mod)
}

func (r *repository) rewrite(name string, change func(text string) string) {
	file := filepath.Join(r.root, name)
	text, err := os.ReadFile(file)
	if r.err = cmp.Or(r.err, err); r.err != nil {
		return
	}
	if changed := change(string(text)); r.err == nil {
		r.err = os.WriteFile(file, []byte(changed), 0o666)
	}
}

// git runs a command of git, and returns its output without the last line break.
func (r *repository) git(args ...string) string {
	if r.err != nil {
		return ""
	}
	out, err := exec.Command("git", append([]string{"-C", r.root}, args...)...).CombinedOutput()
	text := strings.TrimRight(string(out), "\n")
	if err != nil {
		r.err = fmt.Errorf("git %s: %w: %s", args[0], err, text)
	}
	return text
}

// nameChanges returns the changelog with a heading for the version, and its unreleased changes.
func nameChanges(text, version string, at time.Time) (named, changes string, err error) {
	before, rest, found := strings.Cut(text, unreleased)
	changes, _, _ = strings.Cut(rest, "\n## ")
	if changes = strings.TrimSpace(changes); !found || changes == "" {
		return "", "", errors.New(changelogFile + `: section "## Unreleased" has no changes`)
	}
	rest = "\n## " + version + " (" + at.Format(time.DateOnly) + ")\n" + rest
	return before + unreleased + rest, changes + "\n", nil
}
