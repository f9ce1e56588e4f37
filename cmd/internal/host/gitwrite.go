package host

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mostWritten is the size of the largest revision that is written.
const mostWritten = 1 << 30

// Root returns the root of the tree, without links. [GitFiles.Real] returns paths below it.
func (r *GitFiles) Root() string { return r.root }

// Write writes the files of the revision into an empty directory, through an [os.Root]: regular
// files, and links within the tree. It omits other links and submodules. It returns an error for a
// name that leads out of the tree or into a folder .git, and for a revision that is too large,
// before it writes a file.
func (r *GitFiles) Write(dir string) error {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(r.tree)), func(name string) bool {
		mode := r.tree[name].mode
		return mode == gitTree || mode == gitSubmodule
	})
	if err := r.checkWrite(names); err != nil {
		return err
	}
	targets := make(map[string]string, len(names)) // "" for a file that is no link
	for _, name := range names {
		target := []byte(nil)
		if entry := r.tree[name]; entry.mode == gitLink {
			var err error
			if target, err = r.blob(entry, mostTarget); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		targets[sameName(name)] = filepath.ToSlash(string(target))
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close() // writing reports its errors
	for _, name := range names {
		if err := r.writeFile(to, name, targets); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkWrite checks every name, and the size of all files.
func (r *GitFiles) checkWrite(names []string) error {
	for _, name := range names {
		if err := checkName(name); err != nil {
			return err
		}
	}
	sizes, err := r.sizes(names)
	if err != nil {
		return err
	}
	all := int64(0)
	for _, size := range sizes {
		if all += size; all > mostWritten || size > mostWritten {
			return fmt.Errorf("the revision is larger than %d MiB, and a build needs its files",
				mostWritten>>20)
		}
	}
	return nil
}

// writeFile writes a file or a link within the tree.
func (r *GitFiles) writeFile(to *os.Root, name string, targets map[string]string) error {
	local := filepath.FromSlash(name)
	if err := to.MkdirAll(filepath.Dir(local), 0o700); err != nil {
		return err
	}
	entry := r.tree[name]
	if entry.mode == gitLink {
		if leadsOut(name, targets) {
			return nil
		}
		return to.Symlink(targets[sameName(name)], local)
	}
	data, err := r.blob(entry, mostBlob)
	if err != nil {
		return err
	}
	// never through a link of the same name
	out, err := to.OpenFile(local, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return errors.Join(err, out.Close())
}

// sizes returns the size of each file without reading it.
func (r *GitFiles) sizes(names []string) ([]int64, error) {
	var hashes bytes.Buffer
	for _, name := range names {
		fmt.Fprintln(&hashes, r.tree[name].hash)
	}
	out, err := gitWithin(r.most, &hashes, r.root, "cat-file", "--batch-check=%(objectsize)")
	if err != nil {
		return nil, err
	}
	sizes := make([]int64, 0, len(names))
	for text := range strings.Lines(string(out)) {
		size, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("git cat-file: %s", strings.TrimSpace(text))
		}
		sizes = append(sizes, size)
	}
	if len(sizes) != len(names) {
		return nil, fmt.Errorf("git cat-file: %d sizes for %d files", len(sizes), len(names))
	}
	return sizes, nil
}
