package host

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/printable"
)

// MostNested is the number of directories above one that is searched or built. To find a file, the
// system goes through all of them.
const MostNested = 100

// Tree is a working tree, or a revision of it. Paths are absolute or relative to the working
// directory.
type Tree interface {
	fs.FS
	fs.StatFS
	fs.ReadDirFS
	// Real returns the absolute path of a file without symbolic links.
	Real(name string) (string, error)
}

var (
	_ Tree = Files{}
	_ Tree = (*GitFiles)(nil)
)

// Real returns the absolute path of a file without symbolic links.
func (Files) Real(name string) (string, error) {
	whole, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(whole)
}

// checkName rejects the name of a file that git never writes. It lies outside of the tree, or git
// would take it for its own.
func checkName(name string) error {
	if local := filepath.FromSlash(name); name == "." || name != path.Clean(name) ||
		!filepath.IsLocal(local) || slices.ContainsFunc(strings.Split(name, "/"), isGitFolder) {
		return fmt.Errorf(
			"invalid file name %s in the tree: must be below its root and outside of .git",
			printable.Quoted(name))
	}
	return nil
}

// isGitFolder reports whether a part of a path is the folder of git's own files.
func isGitFolder(part string) bool {
	return strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1")
}

// sameName returns what two names share that are one file. Other systems than Linux ignore case.
func sameName(name string) string {
	if runtime.GOOS == "linux" {
		return name
	}
	return strings.ToLower(name)
}

// leadsOut reports whether a path leads out of the tree by its links, also where it leads to
// nothing. A circle leads nowhere.
func leadsOut(name string, targets map[string]string) bool {
	at, links := ".", 0
	for rest := name; rest != ""; {
		var part string
		if part, rest, _ = strings.Cut(rest, "/"); part == ".." && at == "." {
			return true
		}
		at = path.Join(at, part)
		target := targets[sameName(at)]
		if target == "" {
			continue
		}
		if path.IsAbs(target) || filepath.IsAbs(target) {
			return true
		}
		if links++; links > mostLinks {
			return false
		}
		at, rest = path.Dir(at), target+"/"+rest
	}
	return false
}

// Rooted returns a function that returns the path of a file from the root of its repository. That
// is the repository of the working directory or, for a file outside of it, the repository that
// holds the file. The function returns the name of standard input, and of a file in no repository,
// unchanged.
func Rooted() func(file string) string {
	here, err := Files{}.Real(".")
	if err != nil {
		return func(file string) string { return file }
	}
	around := repositoryOf(here, ".")
	roots := map[string]string{} // by directory
	return func(file string) string {
		name := absolute(here, file)
		root := around
		if dir := filepath.Dir(name); root == "" || !within(root, name) {
			if _, known := roots[dir]; !known {
				roots[dir] = repositoryOf(here, dir)
			}
			root = roots[dir]
		}
		relative, err := filepath.Rel(root, name)
		if root == "" || err != nil || !filepath.IsLocal(relative) || file == "-" {
			return file
		}
		return filepath.ToSlash(relative)
	}
}
