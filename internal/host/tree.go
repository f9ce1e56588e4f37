package host

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

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

// Copy copies the files that git tracks or would add: no ignored file. Outside of a repository, it copies the working directory.
func (Files) Copy(dir string) (prefix string, err error) {
	place, err := Git("rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil {
		here, err := os.Getwd()
		if err != nil {
			return "", err
		}
		return "", copyFolder(here, dir)
	}
	lines := strings.Split(string(place), "\n")
	root := filepath.FromSlash(lines[0])
	listing, err := Git("-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return "", fmt.Errorf("the files of %s cannot be listed: %w", root, err)
	}
	c := copying{from: root, to: dir}
	for name := range strings.SplitSeq(string(listing), "\x00") {
		if name == "" {
			continue
		}
		if err := c.file(name); err != nil {
			return "", err
		}
	}
	return strings.TrimSuffix(lines[1], "/"), c.check()
}

// copyFolder copies a folder that is in no repository.
func copyFolder(from, to string) error {
	c := copying{from: from, to: to}
	err := fs.WalkDir(os.DirFS(from), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return c.file(name)
	})
	return cmp.Or(err, c.check())
}

// copying copies files below a directory.
type copying struct {
	from, to string
	bytes    int64
	links    []string
}

// file copies a regular file or a link. It skips a file that was deleted, a directory, which is a submodule, and a device.
func (c *copying) file(name string) error {
	from := filepath.Join(c.from, filepath.FromSlash(name))
	info, err := os.Lstat(from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return c.link(name, target)
	case !info.Mode().IsRegular():
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // reading only
	return c.write(name, in, info.Mode().Perm())
}

func (c *copying) write(name string, from io.Reader, mode fs.FileMode) error {
	to := filepath.Join(c.to, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode|0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(from, mostCopied-c.bytes+1))
	if c.bytes += n; c.bytes > mostCopied {
		err = errors.Join(err, fmt.Errorf("the tree is larger than %d MiB: a build gets a copy of it", mostCopied>>20))
	}
	return errors.Join(err, out.Close())
}

// link copies a symbolic link. It rejects one that leaves the tree, through which a build could reach other files.
func (c *copying) link(name, target string) error {
	slashed := filepath.ToSlash(target)
	inside := path.Join(path.Dir(name), slashed)
	if path.IsAbs(slashed) || filepath.IsAbs(target) || inside == ".." || strings.HasPrefix(inside, "../") {
		return leavesTree(name)
	}
	to := filepath.Join(c.to, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	c.links = append(c.links, name)
	return os.Symlink(target, to)
}

// check rejects a link that leaves the tree by way of another one.
func (c *copying) check() error {
	root, err := filepath.EvalSymlinks(c.to)
	if err != nil {
		return err
	}
	for _, name := range c.links {
		real, err := filepath.EvalSymlinks(filepath.Join(c.to, filepath.FromSlash(name)))
		if err != nil {
			continue // it leads nowhere
		}
		if real != root && !strings.HasPrefix(real, root+string(filepath.Separator)) {
			return leavesTree(name)
		}
	}
	return nil
}

func leavesTree(name string) error {
	return fmt.Errorf("%s is a link out of the tree, and a build gets a copy of the tree: remove the link, or let git ignore it", name)
}
