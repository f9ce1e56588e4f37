// Package revision reads two versions of the inputs: a revision of git, and the working tree or
// another revision.
//
//	old, new, err := revision.Sides(p, "origin/main...HEAD", flags)
//	if err != nil {
//		return err
//	}
//	defer old.Close()
//	defer new.Close()
//	before := workspace.Read(old.Program(p), old.Flags)
//
// Its first file to read is revision.go.
package revision

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/render/manifest"
)

// Side is one of the two versions.
type Side struct {
	// Name is the revision, or "the working tree".
	Name string
	// Files are the files of the version.
	Files fs.FS
	// Flags select the input. They omit paths that only the other version has.
	Flags workspace.Flags
	// Prefix precedes names of files in reports. It is empty for the working tree.
	Prefix string

	done func() error // may be nil
}

// Close releases the resources of reading.
func (s *Side) Close() {
	if s.done != nil {
		_ = s.done() // everything has been read
	}
}

// Commit describes the commit of a revision, or returns "" for other files.
func (s *Side) Commit() string {
	if files, ok := s.Files.(*host.GitFiles); ok {
		return files.Commit()
	}
	return ""
}

// Label returns the name of a file in reports.
func (s *Side) Label(file string) string {
	if files, ok := s.Files.(*host.GitFiles); file == "" || ok && files.IsBeside(file) {
		return file
	}
	return s.Prefix + file
}

// Program returns the program with the files of this version.
func (s *Side) Program(p *host.Program) *host.Program {
	reader := *p
	reader.Files = s.Files
	return &reader
}

// Sides returns the two versions that rev names: REV and the working tree, or two revisions for
// REV..REV. REV...REV stands for the second revision and their merge base. A path that one version
// lacks is absent from its flags; a runtime, a patch or a policy outside of the repository is in
// both. Sides returns an error for no paths, for standard input, and for
// an unknown revision.
func Sides(p *host.Program, rev string, flags workspace.Flags) (old, new *Side, err error) {
	switch {
	case flags.Empty():
		return nil, nil,
			exit.Usage(errors.New(
				"--git compares paths with a revision: name files or directories"))
	case slices.Contains(slices.Concat(flags.Files, flags.Runtimes, flags.PatchFiles()),
		manifest.Stdin):
		return nil, nil, exit.Usage(errors.New("standard input has no revision: name a file"))
	}
	first, second, two := strings.Cut(rev, "..")
	if two {
		rest, fromBase := strings.CutPrefix(second, ".")
		first, second = cmp.Or(first, "HEAD"), cmp.Or(rest, "HEAD")
		if fromBase {
			if first, err = host.MergeBase(first, second); err != nil {
				return nil, nil, err
			}
		}
	}
	if old, err = openRevision(first, flags); err != nil {
		return nil, nil, err
	}
	new = &Side{Name: "the working tree", Files: p.Files, Flags: flags}
	if two {
		if new, err = openRevision(second, flags); err != nil {
			old.Close()
			return nil, nil, err
		}
	}
	missingIsEmpty(old, new)
	return old, new, nil
}

// missingIsEmpty removes from each version the paths that only this version lacks, since they were
// added or removed. It keeps paths that both lack and unreadable ones, so that reading reports
// them.
func missingIsEmpty(old, new *Side) {
	drop := func(paths func(*workspace.Flags) *[]string, lacks func(s *Side, path string) bool) {
		var inOld, inNew []string
		for _, path := range *paths(&old.Flags) {
			lackedByOld, lackedByNew := lacks(old, path), lacks(new, path)
			if !lackedByOld || lackedByNew {
				inOld = append(inOld, path)
			}
			if !lackedByNew || lackedByOld {
				inNew = append(inNew, path)
			}
		}
		*paths(&old.Flags), *paths(&new.Flags) = inOld, inNew
	}
	drop(func(f *workspace.Flags) *[]string { return &f.Files }, (*Side).lacks)
	drop(func(f *workspace.Flags) *[]string { return &f.Kustomize }, (*Side).lacksDir)
	drop(func(f *workspace.Flags) *[]string { return &f.Runtimes }, (*Side).lacks)
	drop(func(f *workspace.Flags) *[]string {
		return &f.Patches
	}, func(s *Side, patch string) bool {
		_, file := workspace.ManagerOf(patch)
		return s.lacks(file)
	})
	if policy := old.Flags.Policy; policy != "" {
		lackedByOld, lackedByNew := old.lacks(policy), new.lacks(policy)
		if lackedByOld && !lackedByNew {
			old.Flags.Policy = ""
		} else if lackedByNew && !lackedByOld {
			new.Flags.Policy = ""
		}
	}
}

// lacksDir reports whether the version has nothing at a path or a pattern.
func (s *Side) lacksDir(path string) bool {
	_, err := fs.Stat(s.Files, path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	matches, _ := manifest.Match(s.Files, path)
	return len(matches) == 0
}

// lacks reports whether the version has no file for a path. An unreadable path is not lacking.
func (s *Side) lacks(path string) bool {
	files := &watchedFiles{FS: s.Files}
	found, findings := manifest.Files(files, []string{path}, s.Flags.Recursive)
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

// openRevision returns the version of a revision.
func openRevision(rev string, flags workspace.Flags) (*Side, error) {
	files, err := host.OpenRevision(rev)
	if err != nil {
		return nil, err
	}
	for _, path := range flags.Files {
		if err := files.Outside(path); err != nil {
			_ = files.Close() // nothing was read
			return nil, exit.Usage(fmt.Errorf(
				"%s %w: --git compares the files of one repository; name a runtime outside of it "+
					"with -r",
				path, err))
		}
	}
	shared := append(flags.PatchFiles(), flags.Runtimes...)
	files.Beside(host.Files{}, slices.DeleteFunc(append(shared, flags.Policy), func(path string) bool {
		return path == ""
	})...)
	return &Side{Name: rev, Files: files, Flags: flags, Prefix: rev + ":", done: files.Close}, nil
}
