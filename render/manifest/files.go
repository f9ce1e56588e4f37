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
	"github.com/trainweld/trainweld/render/codes"
)

// maxFile is the size of the largest file that is read, about twenty of the largest documents.
const maxFile = 64 << 20

// Stdin is the path of standard input.
const Stdin = "-"

// Files returns the files that the paths name. A path is a file, a directory, a pattern of
// path.Match, or [Stdin]. A directory stands for its *.yaml, *.yml and *.json files sorted by name.
// With recursive, it includes the files of its subdirectories, except golden cases: folders that
// hold manifests and a folder want. A note names each of them. Files have the order of the paths,
// without duplicates. Hidden files are omitted unless a path names them.
//
// A missing path, an unreadable directory and a path without any file are errors among the
// findings. Files returns the other files.
//
// The file system may take any slash-separated path, even paths that io/fs rejects, such as
// absolute ones. If it implements fs.StatFS, Files does not open the paths, which matters for named
// pipes. It follows symbolic links to files. It follows a link to a directory only if a path names
// it. The same holds for a device or a named pipe.
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
		Code: codes.Unreadable, Severity: finding.Error, Position: fieldpath.Position{File: file},
		Message: message, Remedy: finding.Remedy{Text: help},
	}
}

func (l *listing) file(name string) {
	key := path.Clean(name)
	if name == Stdin {
		key = "" // distinct from a file of that name, which is ./-
	}
	if !l.seen[key] {
		l.seen[key] = true
		l.files = append(l.files, name)
	}
}

// found adds a file that no path names by itself. A named pipe could wait for its writer forever,
// and a device has no end.
func (l *listing) found(name string, kind fs.FileMode) {
	if kind&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0 {
		l.fail(name, "must be a regular file", "name the file itself")
		return
	}
	l.file(name)
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
	default:
		l.findings = append(l.findings, *failed(p, err))
	}
}

// named reads a directory of the command line, which must hold a file.
func (l *listing) named(dir string) {
	before, failed := len(l.seen), len(l.findings)
	if held := l.directory(dir, true); !held && before == len(l.seen) && failed == len(l.findings) {
		help := "name a directory that holds manifests"
		if !l.recursive {
			help = "add -R to descend into directories"
		}
		l.fail(dir, "holds no *.yaml, *.yml or *.json file", help)
	}
}

// directory adds the files of a directory. It reports whether it has any, including files added
// before.
func (l *listing) directory(dir string, isNamed bool) (held bool) {
	entries, err := fs.ReadDir(l.fsys, dir)
	if err != nil {
		l.findings = append(l.findings, *failed(dir, err))
	}
	isCase := l.recursive && isGolden(entries)
	if isCase && !isNamed {
		l.findings = append(l.findings, finding.Finding{
			Code: codes.GoldenCase, Severity: finding.Note, Position: fieldpath.Position{File: dir},
			Message: "golden case is skipped",
			Remedy:  finding.Remedy{Text: "name the folder to read it"},
		})
		return false
	}
	// A file system need not sort, and may return entries along with an error.
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return strings.Compare(a.Name(), b.Name())
	})
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		isDir, isBroken, kind := e.IsDir(), false, e.Type()
		if kind&fs.ModeSymlink != 0 {
			info, err := fs.Stat(l.fsys, name)
			if err == nil && info.IsDir() {
				continue // the link could lead back up
			}
			if isBroken = errors.Is(err, fs.ErrNotExist); err == nil {
				kind = info.Mode().Type()
			}
		}
		switch {
		case isDir && isCase && e.Name() == goldenFolder:
		case isDir && l.recursive:
			held = l.directory(name, false) || held
		case isDir:
		case !isManifest(name):
		case isBroken:
			l.fail(name, "is a link to a file that does not exist", "correct the link")
		default:
			held = true
			l.found(name, kind)
		}
	}
	return held
}

// goldenFolder is the folder with the expected output of a golden case, as in package golden.
const goldenFolder = "want"

// isGolden reports whether a folder is a golden case. Its TrainJobs may be wrong on purpose, and
// its output is rendered already.
func isGolden(entries []fs.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.IsDir() && e.Name() == goldenFolder
	}) &&
		slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			return !e.IsDir() && isManifest(e.Name())
		})
}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// pattern adds the matches of a glob, and the files of matching directories.
func (l *listing) pattern(p string) {
	if _, err := path.Match(p, ""); err != nil {
		l.fail(p, "invalid pattern", `close every "[" or put "\" in front of it`)
		return
	}
	before := len(l.findings)
	names := l.match(path.Clean(p))
	if len(names) == 0 && before == len(l.findings) {
		l.fail(p, "matches no file", "check the pattern; * does not match a /")
	}
	for _, name := range names {
		switch info, err := fs.Stat(l.fsys, name); {
		case err != nil:
			l.file(name)
		case info.IsDir():
			l.directory(name, true)
		default:
			l.found(name, info.Mode().Type())
		}
	}
}

// Match returns the paths that a pattern of path.Match selects, sorted. It takes paths that fs.Glob
// rejects, such as ../*.
func Match(fsys fs.FS, pattern string) ([]string, finding.List) {
	if fsys == nil {
		fsys = noFiles{}
	}
	l := &listing{fsys: fsys}
	return l.match(path.Clean(pattern)), l.findings
}

// match expands a pattern, element by element. fs.Glob rejects paths such as /a or ../b.
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
			l.findings = append(l.findings, *failed(parent, err))
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

// Read reads a file, or stdin if its name is [Stdin]. It does not read a file above 64 MiB, and
// stops in such a stream. It returns each error as a finding.
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
	defer f.Close() // reading only
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

// noFiles replaces a nil file system.
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

// failed returns the finding on a file or a directory that cannot be read.
func failed(name string, err error) *finding.Finding {
	f := unreadable(name, "cannot be read: "+reason(err),
		"check the path, and that you may read it")
	if errors.Is(err, fs.ErrNotExist) {
		f = unreadable(name, "does not exist",
			"check the path; it is relative to the working directory")
	}
	return &f
}

func tooLarge(file string) *finding.Finding {
	return &finding.Finding{
		Code: codes.Syntax, Severity: finding.Error, Position: fieldpath.Position{File: file},
		Message: fmt.Sprintf("is larger than %d MiB", maxFile>>20),
		Remedy:  finding.Remedy{Text: "split it into several files"},
	}
}

// reason returns an error without its path, which the position includes.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
