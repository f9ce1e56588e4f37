package diff

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/internal/comparison"
	"github.com/trainweld/trainweld/internal/exit"
	"github.com/trainweld/trainweld/internal/host"
	"github.com/trainweld/trainweld/internal/workspace"
	"github.com/trainweld/trainweld/manifest"
)

// gitVersions returns two versions of the paths: a revision, and the working tree or another revision.
func gitVersions(p *host.Program, flags diffFlags, args []string) (old, new *version, err error) {
	in := flags.Flags
	in.Files = slices.Concat(args, flags.Files)
	switch {
	case len(in.Files) == 0:
		return nil, nil, exit.Usage(errors.New("--git compares paths with a revision: name files or directories"))
	case slices.Contains(slices.Concat(in.Files, flags.Runtimes, flags.PatchFiles()), manifest.Stdin):
		return nil, nil, exit.Usage(errors.New("standard input has no revision: name a file"))
	}
	first, second, two := strings.Cut(flags.git, "..")
	if two {
		rest, fromBase := strings.CutPrefix(second, ".")
		first, second = orHead(first), orHead(rest)
		if fromBase {
			if first, err = mergeBase(first, second); err != nil {
				return nil, nil, err
			}
		}
	}
	if old, err = gitVersion(first, in); err != nil {
		return nil, nil, err
	}
	new = &version{Version: comparison.Version{Name: "the working tree"}, files: p.Files, flags: in}
	if two {
		if new, err = gitVersion(second, in); err != nil {
			old.close()
			return nil, nil, err
		}
	}
	missingIsEmpty(old, new)
	return old, new, nil
}

// mergeBase returns the short name of the common ancestor of two revisions.
func mergeBase(first, second string) (string, error) {
	for _, rev := range []string{first, second} {
		r, err := host.OpenRevision(rev)
		if err != nil {
			return "", err
		}
		if err := r.Close(); err != nil {
			return "", err
		}
	}
	base, err := host.Git("merge-base", first, second)
	if err != nil {
		return "", fmt.Errorf("--git: %s and %s have no common ancestor here: %w; fetch more of their history where the clone is a shallow one", first, second, err)
	}
	short, err := host.Git("rev-parse", "--short", strings.TrimSpace(string(base)))
	return strings.TrimSpace(string(short)), err
}

func orHead(rev string) string {
	if rev == "" {
		return "HEAD"
	}
	return rev
}

// missingIsEmpty removes from each version the paths that only this version lacks, since they were added or removed. It keeps
// paths that both lack and unreadable ones, so that reading reports them.
func missingIsEmpty(old, new *version) {
	drop := func(paths func(*workspace.Flags) *[]string, file func(path string) string) {
		var inOld, inNew []string
		for _, path := range *paths(&old.flags) {
			file := file(path)
			lackedByOld, lackedByNew := old.lacks(file), new.lacks(file)
			if !lackedByOld || lackedByNew {
				inOld = append(inOld, path)
			}
			if !lackedByNew || lackedByOld {
				inNew = append(inNew, path)
			}
		}
		*paths(&old.flags), *paths(&new.flags) = inOld, inNew
	}
	itself := func(path string) string { return path }
	drop(func(f *workspace.Flags) *[]string { return &f.Files }, itself)
	drop(func(f *workspace.Flags) *[]string { return &f.Runtimes }, itself)
	drop(func(f *workspace.Flags) *[]string { return &f.Patches }, func(patch string) string { _, file := workspace.ManagerOf(patch); return file })
	if policy := old.flags.Policy; policy != "" {
		lackedByOld, lackedByNew := old.lacks(policy), new.lacks(policy)
		if lackedByOld && !lackedByNew {
			old.flags.Policy = ""
		} else if lackedByNew && !lackedByOld {
			new.flags.Policy = ""
		}
	}
}

// lacks reports whether the version has no file for a path. An unreadable path is not lacking.
func (v *version) lacks(path string) bool {
	files := &watchedFiles{FS: v.files}
	found, findings := manifest.Files(files, []string{path}, v.flags.Recursive)
	return len(found) == 0 && len(findings) > 0 && !files.failed
}

// watchedFiles records errors other than fs.ErrNotExist.
type watchedFiles struct {
	fs.FS
	failed bool
}

func (w *watchedFiles) note(err error) error {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.failed = true
	}
	return err
}

func (w *watchedFiles) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(w.FS, name)
	return info, w.note(err)
}

func (w *watchedFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(w.FS, name)
	return entries, w.note(err)
}

// gitVersion returns the version of a revision.
func gitVersion(rev string, in workspace.Flags) (*version, error) {
	files, err := host.OpenRevision(rev)
	if err != nil {
		return nil, err
	}
	return &version{Version: comparison.Version{Name: rev}, files: files, flags: in, prefix: rev + ":", done: files.Close}, nil
}
