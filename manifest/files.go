package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
)

// maxFile is the size of the largest file that is read: twenty documents of the largest size.
const maxFile = 64 << 20

// Stdin is the path that means standard input.
const Stdin = "-"

// Files returns the files that the paths name: a file is itself; a directory its *.yaml, *.yml and *.json files
// sorted by name, with recursive also those of the directories below; a pattern of path.Match what it
// matches; and [Stdin] itself. The order is that of the paths, and a file that is named twice
// comes once. Names that begin with a dot are left out unless they are asked for by name.
//
// A path that does not exist, a directory that cannot be read and a path that names no file at all
// are findings of severity Error, and the others are returned.
//
// The file system may take any path, also absolute and relative ones that io/fs calls invalid, with
// slashes. One that implements fs.StatFS is asked about a path without opening it, which matters for
// named pipes. Symbolic links to files are followed, those to directories only where they are named.
func Files(fsys fs.FS, paths []string, recursive bool) ([]string, finding.List) {
	if fsys == nil {
		fsys = noFiles{}
	}
	l := &listing{fsys: fsys, recursive: recursive, seen: map[string]bool{}}
	for _, p := range paths {
		l.path(p)
	}
	return l.files, l.findings
}

type listing struct {
	fsys      fs.FS
	recursive bool
	seen      map[string]bool
	files     []string
	findings  finding.List
}

func (l *listing) fail(file, message, help string) {
	l.findings = append(l.findings, unreadable(file, message, help))
}

func unreadable(file, message, help string) finding.Finding {
	return finding.Finding{
		Code: finding.CodeUnreadable, Severity: finding.Error, Position: fieldpath.Position{File: file},
		Message: message, Remedy: finding.Remedy{Text: help},
	}
}

func (l *listing) file(name string) {
	key := path.Clean(name)
	if name == Stdin {
		key = "" // a file of that name is ./-
	}
	if !l.seen[key] {
		l.seen[key] = true
		l.files = append(l.files, name)
	}
}

func (l *listing) path(p string) {
	if p == Stdin {
		l.file(p)
		return
	}
	info, err := fs.Stat(l.fsys, p)
	switch {
	case err == nil && info.IsDir():
		l.named(p)
	case err == nil:
		l.file(p)
	case strings.ContainsAny(p, "*?["):
		l.pattern(p)
	case errors.Is(err, fs.ErrNotExist):
		l.fail(p, "does not exist", "check the path; it is relative to the working directory")
	default:
		l.fail(p, "cannot be read: "+reason(err), "check that it exists and that you may read it")
	}
}

// named reads a directory that was asked for, which should hold something.
func (l *listing) named(dir string) {
	before, failed := len(l.seen), len(l.findings)
	if held := l.directory(dir); !held && before == len(l.seen) && failed == len(l.findings) {
		help := "name a directory that holds manifests"
		if !l.recursive {
			help = "name a directory that holds manifests, or descend with -R"
		}
		l.fail(dir, "holds no *.yaml, *.yml or *.json file", help)
	}
}

// directory adds the files of a directory and says whether it has any, also those that were added before.
func (l *listing) directory(dir string) (held bool) {
	entries, err := fs.ReadDir(l.fsys, dir)
	if err != nil {
		l.fail(dir, "cannot be read: "+reason(err), "check that you may read it")
	}
	// A file system need not sort, and gives what it could read also when it failed.
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		isDir := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			// A link to a directory is not followed: it could lead back up. A broken one fails when read.
			if info, err := fs.Stat(l.fsys, name); err == nil && info.IsDir() {
				continue
			}
		}
		switch {
		case isDir && l.recursive:
			held = l.directory(name) || held
		case isDir:
		case slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)):
			held = true
			l.file(name)
		}
	}
	return held
}

// pattern adds what a glob matches, a directory with its files.
func (l *listing) pattern(p string) {
	if _, err := path.Match(p, ""); err != nil {
		l.fail(p, "is a malformed pattern", `close every "[" or put "\" in front of it`)
		return
	}
	before := len(l.findings)
	names := l.match(path.Clean(p))
	if len(names) == 0 && before == len(l.findings) {
		l.fail(p, "matches no file", "check the pattern; * does not match a /")
	}
	for _, name := range names {
		if info, err := fs.Stat(l.fsys, name); err == nil && info.IsDir() {
			l.directory(name)
		} else {
			l.file(name)
		}
	}
}

// match expands a pattern, element by element. fs.Glob would not take paths such as /a or ../b.
func (l *listing) match(pattern string) []string {
	if !strings.ContainsAny(pattern, `*?[\`) {
		if _, err := fs.Stat(l.fsys, pattern); err != nil {
			return nil
		}
		return []string{pattern}
	}
	dir, last := path.Split(pattern)
	parents := []string{"."}
	switch {
	case dir == "/":
		parents = []string{"/"}
	case dir != "":
		parents = l.match(strings.TrimSuffix(dir, "/"))
	}
	var names []string
	for _, parent := range parents {
		info, err := fs.Stat(l.fsys, parent)
		if err != nil || !info.IsDir() {
			continue
		}
		entries, err := fs.ReadDir(l.fsys, parent)
		if err != nil {
			l.fail(parent, "cannot be read: "+reason(err), "check that you may read it")
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(last, ".") {
				continue
			}
			if ok, _ := path.Match(last, e.Name()); ok { // the pattern was checked as a whole
				names = append(names, path.Join(parent, e.Name()))
			}
		}
	}
	slices.Sort(names)
	return names
}

// Read reads a file, or stdin if its name is [Stdin]. A file above 64 MiB is refused without being read,
// a stream as soon as it goes beyond.
func Read(fsys fs.FS, stdin io.Reader, file string) ([]byte, *finding.Finding) {
	if file == Stdin {
		if stdin == nil {
			f := unreadable(file, "there is no standard input", "name a file")
			return nil, &f
		}
		return readAll(file, stdin, 0)
	}
	if fsys == nil {
		fsys = noFiles{}
	}
	f, err := fsys.Open(file)
	if err != nil {
		return nil, failed(file, err)
	}
	defer f.Close() // nothing was written
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, failed(file, err)
	case info.IsDir():
		f := unreadable(file, "is a directory", "name the files in it, or list it first")
		return nil, &f
	case info.Size() > maxFile:
		return nil, tooLarge(file)
	}
	return readAll(file, f, info.Size())
}

// noFiles is what a nil file system stands for.
type noFiles struct{}

func (noFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func readAll(file string, r io.Reader, size int64) ([]byte, *finding.Finding) {
	var b bytes.Buffer
	b.Grow(int(size) + bytes.MinRead)
	_, err := b.ReadFrom(io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		return nil, failed(file, err)
	case b.Len() > maxFile:
		return nil, tooLarge(file)
	}
	return b.Bytes(), nil
}

func failed(file string, err error) *finding.Finding {
	f := unreadable(file, "cannot be read: "+reason(err), "check that it exists and that you may read it")
	return &f
}

func tooLarge(file string) *finding.Finding {
	return &finding.Finding{
		Code: finding.CodeSyntax, Severity: finding.Error, Position: fieldpath.Position{File: file},
		Message: fmt.Sprintf("is larger than %d MiB", maxFile>>20),
		Remedy:  finding.Remedy{Text: "split it into several files"},
	}
}

// reason is the error without the path, which the position already has.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
