package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/ownfile"
)

// ErrOutside is the error for a file outside of the tree, by its path or by a link.
var ErrOutside = errors.New("is outside of the repository")

// Bounded returns the files of the trees in which the named files lie. A tree is the repository of
// git, or without one the working directory, or else the named directory. The result opens regular
// files only. It opens no file in a folder .git, and none to which a path or a link leads out of
// the trees. A revision has these bounds already, and so do files of another kind: Bounded returns
// them as they are.
func Bounded(fsys fs.FS, names ...string) fs.FS {
	if files, ok := fsys.(Files); ok {
		return boundedBy(files, "", names)
	}
	return fsys
}

// BoundedFolder returns the files of a folder, by their names below it, with the bounds of Bounded.
// Unlike with [os.DirFS], the names need not be UTF-8.
func BoundedFolder(dir string) fs.FS { return boundedBy(Files{}, dir, []string{dir}) }

func boundedBy(files Files, folder string, names []string) *bounded {
	b := &bounded{Tree: files, folder: folder}
	for _, name := range names {
		if root, err := treeOf(name); err == nil {
			b.roots = append(b.roots, root)
		}
	}
	return b
}

// bounded holds the files below its roots.
type bounded struct {
	Tree
	folder string   // of a file system of one folder
	roots  []string // without links
}

// treeOf returns the root of the tree of a path: its repository, or without one the working
// directory or the path itself.
func treeOf(name string) (root string, err error) {
	here, err := Files{}.Real(".")
	if err != nil {
		return "", err
	}
	name = withoutPattern(name)
	if root := repositoryOf(here, name); root != "" {
		return root, nil
	}
	whole := absolute(here, name)
	if within(here, whole) {
		return here, nil
	}
	if root, err = filepath.EvalSymlinks(whole); err != nil {
		return "", err
	}
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		root = filepath.Dir(root)
	}
	return root, nil
}

// withoutPattern returns the directory of a pattern, and other names as they are.
func withoutPattern(name string) string {
	for strings.ContainsAny(name, "*?[") {
		if _, err := os.Lstat(name); err == nil {
			break
		}
		name = filepath.Dir(name)
	}
	return name
}

func absolute(here, name string) string {
	if name = filepath.Clean(name); filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(here, name)
}

// repositoryOf returns the root of the repository of a path, or "". A link that leads out of a
// repository stays in it, and so leads out of the tree.
func repositoryOf(here, name string) (root string) {
	for dir := absolute(here, name); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			if real, err := filepath.EvalSymlinks(dir); err == nil &&
				(root == "" || !within(real, root)) {
				root = real
			}
		}
		if dir == filepath.Dir(dir) {
			return root
		}
	}
}

// Roots returns what a build of each directory may read: its repository. Where there is none, it is
// the whole disk, and kustomize's own restriction holds: files lie in or below the directory of the
// kustomization that names them, and bases anywhere.
func Roots(dirs ...string) (roots []string) {
	here, err := Files{}.Real(".")
	if err != nil {
		return nil
	}
	for _, dir := range dirs {
		dir = withoutPattern(dir)
		root := repositoryOf(here, dir)
		if root == "" {
			root = filepath.VolumeName(absolute(here, dir)) + string(filepath.Separator)
		}
		if !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	return roots
}

// Within returns the files of a disk below roots, which have no links. It has only regular files,
// and none of a folder .git. Links are resolved, and must lead to a file below a root. Each file is
// opened through an [os.Root].
func Within(files Files, roots ...string) Tree { return &bounded{Tree: files, roots: roots} }

// LeadsOut reports whether the path of a directory lies in a repository and leads out of it by a
// link. The directory may be missing.
func LeadsOut(dir string) bool {
	root, err := treeOf(dir)
	if _, errGit := os.Lstat(filepath.Join(root, ".git")); err != nil || errGit != nil {
		return false
	}
	for ; ; dir = filepath.Dir(dir) {
		if real, err := (Files{}).Real(dir); err == nil || dir == filepath.Dir(dir) {
			return err == nil && !holds(root, real)
		}
	}
}

// within reports whether a path is a directory or below it.
func within(dir, path string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(relative)
}

// holds reports whether a file lies in a tree. The folder .git in it belongs to git, and its
// configuration may hold a password.
func holds(root, real string) bool {
	relative, err := filepath.Rel(root, real)
	return err == nil && filepath.IsLocal(relative) &&
		!slices.ContainsFunc(strings.Split(filepath.ToSlash(relative), "/"), isGitFolder)
}

// locate returns a file without links, and the root of its tree.
func (b *bounded) locate(name string) (dir, real string, err error) {
	if b.folder != "" {
		local := filepath.FromSlash(name)
		if !filepath.IsLocal(local) {
			return "", "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
		}
		name = filepath.Join(b.folder, local)
	}
	if real, err = b.Tree.Real(name); err != nil {
		return "", "", err
	}
	for _, dir := range b.roots {
		if holds(dir, real) {
			return dir, real, nil
		}
	}
	return "", "", &fs.PathError{Op: "open", Path: name, Err: ErrOutside}
}

// in opens the root of a file's tree, and calls open with it and the path of the file below it.
func in[T any](b *bounded, name string,
	open func(root *os.Root, below string) (T, error)) (opened T, err error) {
	dir, real, err := b.locate(name)
	if err != nil {
		return opened, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return opened, err
	}
	defer root.Close() // reading only
	below, err := filepath.Rel(dir, real)
	if err != nil {
		return opened, err
	}
	return open(root, below)
}

// Real returns the absolute path of a file without symbolic links.
func (b *bounded) Real(name string) (string, error) {
	_, real, err := b.locate(name)
	return real, err
}

func (b *bounded) Open(name string) (fs.File, error) {
	return in(b, name, func(root *os.Root, below string) (fs.File, error) {
		return ownfile.Open(root, below)
	})
}

func (b *bounded) Stat(name string) (fs.FileInfo, error) { return in(b, name, (*os.Root).Stat) }

// Lstat describes a file, and follows no link in its last place.
func (b *bounded) Lstat(name string) (fs.FileInfo, error) {
	return in(b, filepath.Dir(name), func(root *os.Root, below string) (fs.FileInfo, error) {
		return root.Lstat(filepath.Join(below, filepath.Base(name)))
	})
}

// ReadLink returns the target of a link.
func (b *bounded) ReadLink(name string) (string, error) {
	return in(b, filepath.Dir(name), func(root *os.Root, below string) (string, error) {
		return root.Readlink(filepath.Join(below, filepath.Base(name)))
	})
}

func (b *bounded) ReadDir(name string) ([]fs.DirEntry, error) {
	return in(b, name, func(root *os.Root, below string) ([]fs.DirEntry, error) {
		dir, err := root.Open(below) // root.FS() rejects names that are no UTF-8
		if err != nil {
			return nil, err
		}
		defer dir.Close() // reading only
		entries, err := dir.ReadDir(-1)
		slices.SortFunc(entries, func(a, b fs.DirEntry) int {
			return strings.Compare(a.Name(), b.Name())
		})
		return entries, err
	})
}
