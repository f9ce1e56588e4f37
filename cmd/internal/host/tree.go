package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/process"
	"github.com/trainweld/trainweld/fieldpath/printable"
)

// MostNested is the number of directories above one that is searched or built. To find a file, the system goes through all of them.
const MostNested = 100

// Tree is a working tree, or a revision of it. Paths are absolute or relative to the working directory.
type Tree interface {
	fs.FS
	fs.StatFS
	fs.ReadDirFS
	// Real returns the absolute path of a file without symbolic links.
	Real(name string) (string, error)
	// Copy copies all files of the tree into a directory. It returns the path of the working directory below the tree's root.
	Copy(dir string) (prefix string, err error)
}

var (
	_ Tree = Files{}
	_ Tree = (*GitFiles)(nil)
)

// mostCopied is the size of the largest tree that is copied, in bytes.
const mostCopied = 1 << 30

// Real returns the absolute path of a file without symbolic links.
func (Files) Real(name string) (string, error) {
	whole, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(whole)
}

// Copy copies the files that git tracks or would add: no ignored file. Outside of a repository, or
// without git, it copies the working directory.
func (Files) Copy(dir string) (prefix string, err error) {
	root, prefix, err := worktree(".")
	var names []string
	switch {
	case errors.Is(err, errNoRepository), errors.Is(err, process.ErrNotFound):
		if root, err = os.Getwd(); err == nil {
			names, err = filesBelow(root)
		}
	case err == nil:
		names, err = listed(root, "--cached", "--others")
	}
	if err != nil {
		return "", err
	}
	return prefix, copyFiles(root, names, dir)
}

// filesBelow returns the files of a folder, without the files of a repository. Their names may be no UTF-8, which os.DirFS rejects.
func filesBelow(folder string) (names []string, err error) {
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.Name() == ".git" {
			return skip(d)
		}
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(folder, name)
		names = append(names, filepath.ToSlash(below))
		return err
	})
	return names, err
}

// skip returns the error that makes fs.WalkDir pass over an entry.
func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// copyFiles copies files below a folder, which may be regular files and links. It skips a file that was deleted, a directory, which is
// a submodule, and a device.
func copyFiles(folder string, names []string, dir string) error {
	from, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer from.Close() // reading only
	var c copying
	for _, name := range names {
		local := filepath.FromSlash(name)
		info, err := from.Lstat(local)
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted since
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := from.Readlink(local)
			if err != nil {
				return err
			}
			c.add(copied{name: name, link: target})
		case info.Mode().IsRegular():
			c.add(copied{name: name, size: info.Size(), mode: info.Mode().Perm(), open: func() (io.ReadCloser, error) { return from.Open(local) }})
		}
	}
	return c.write(dir)
}

// copying is a copy of a tree. Every name and every size is known and checked before the first file is written.
type copying struct {
	files []copied
	bytes int64
}

// copied is a regular file, or a link.
type copied struct {
	name string // below the root, with slashes
	link string // the target of a link
	size int64
	mode fs.FileMode
	open func() (io.ReadCloser, error) // nil for a link
}

func (c *copying) add(f copied) {
	c.files = append(c.files, f)
	c.bytes += min(f.size, mostCopied+1) // a sparse file may have any size
}

// write checks the tree and writes it below a directory.
func (c *copying) write(dir string) error {
	if err := c.check(); err != nil {
		return err
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close() // writeFile reports the errors of writing
	for _, f := range c.files {
		local := filepath.FromSlash(f.name)
		if err := to.MkdirAll(filepath.Dir(local), 0o700); err != nil {
			return err
		}
		if f.open == nil {
			err = to.Symlink(f.link, local)
		} else {
			err = writeFile(to, local, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeFile copies a file of the size that was checked. A file that has grown since is cut there.
func writeFile(to *os.Root, local string, f copied) error {
	in, err := f.open()
	if err != nil {
		return err
	}
	defer in.Close() // reading only
	out, err := to.OpenFile(local, os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.mode|0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(out, in, f.size)
	if errors.Is(err, io.EOF) {
		err = nil // the file has become shorter
	}
	return errors.Join(err, out.Close())
}

// check rejects names and links that lead out of the tree, files below a link, and trees beyond the limits.
func (c *copying) check() error {
	targets := make(map[string]string, len(c.files)) // "" for a file that is no link
	for _, f := range c.files {
		if err := checkName(f.name); err != nil {
			return err
		}
		targets[sameName(f.name)] = filepath.ToSlash(f.link)
	}
	for _, f := range c.files {
		for above := path.Dir(f.name); above != "."; above = path.Dir(above) {
			if _, isFile := targets[sameName(above)]; isFile {
				return fmt.Errorf("%s is a file or a link, and %s lies below it", printable.Quoted(above), printable.Quoted(f.name))
			}
		}
		if f.open == nil && leadsOut(f.name, targets) {
			return fmt.Errorf("%s is a link out of the tree, and a build gets a copy of the tree: remove the link, or let git ignore it", printable.Quoted(f.name))
		}
	}
	if c.bytes > mostCopied {
		return fmt.Errorf("the tree is larger than %d MiB: a build gets a copy of it", mostCopied>>20)
	}
	return nil
}

// checkName rejects the name of a file that git never writes. It lies outside of the tree, or git would take it for its own.
func checkName(name string) error {
	if local := filepath.FromSlash(name); name == "." || name != path.Clean(name) || !filepath.IsLocal(local) || slices.ContainsFunc(strings.Split(name, "/"), isGitFolder) {
		return fmt.Errorf("invalid file name %s in the tree: must be below its root and outside of .git", printable.Quoted(name))
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

// leadsOut reports whether a path leads out of the tree by its links, also where it leads to nothing. A circle leads nowhere.
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
