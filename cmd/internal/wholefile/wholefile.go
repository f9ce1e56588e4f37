// Package wholefile writes files so that each is whole at every moment. It writes a new file next
// to its target, and renames it. A run that ends early leaves files of both states. Its error names
// the changed ones. A killed run may also leave files whose names end in .trainweld-new, which
// nothing reads.
//
//	dir, err := wholefile.Open("out")
//	...
//	defer dir.Close()
//	err = wholefile.Write([]wholefile.Changes{{Dir: dir, Write: files}}, interrupted, step)
//
// The path of the directory may contain symbolic links. Below it, no link is followed. A link in
// place of a file is replaced. A link in place of a folder is an error. Files keep their
// permissions. Other hard links keep the old content.
//
// Its first file to read is wholefile.go.
package wholefile

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/cmd/internal/printable"
)

// File is a file to write.
type File struct {
	// Name is its slash-separated path below the directory.
	Name string
	Text []byte
}

// Changes are the changes to one directory.
type Changes struct {
	Dir   *Dir
	Write []File
	// Remove maps the files to remove to their sums. A file with another sum stays.
	Remove map[string]string
}

// Put adds a file to write.
func (c *Changes) Put(name string, text []byte) {
	c.Write = append(c.Write, File{name, text})
}

// Delete adds a regular file to remove. The file stays if it changes before the removal.
func (c *Changes) Delete(name string) {
	if sum := c.Dir.Sum(name); len(sum) == hex.EncodedLen(sha256.Size) {
		if c.Remove == nil {
			c.Remove = map[string]string{}
		}
		c.Remove[name] = sum
	}
}

// Dir is an open directory.
type Dir struct {
	path    string
	root    *os.Root
	created []string // directories that Open has created
}

// Open opens a directory, and creates a missing one.
func Open(dir string) (*Dir, error) {
	made, err := makeDirs(dir)
	if err == nil {
		var root *os.Root
		if root, err = os.OpenRoot(dir); err == nil {
			return &Dir{dir, root, made}, nil
		}
	}
	removeDirs(made)
	return nil, fmt.Errorf("%w; name a directory that can be written to", err)
}

// Close releases the directory. Unless something is in them, it removes directories that Open has
// created.
func (d *Dir) Close() error {
	err := d.root.Close()
	removeDirs(d.created)
	return err
}

// ReadFile reads a regular file of the directory.
func (d *Dir) ReadFile(name string) ([]byte, error) {
	data, err := ownfile.Read(d.root, name)
	return data, d.named(err)
}

// Sum returns the SHA-256 sum of text in hexadecimal.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Sum returns the sum of a regular file, and "" for a missing one. For other files it returns a
// word that is not a sum.
func (d *Dir) Sum(name string) string {
	text, err := ownfile.Read(d.root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return "unreadable"
	}
	return Sum(text)
}

// Changed returns the files whose content differs.
func (d *Dir) Changed(files []File, interrupted func() error,
	step func(done, total int)) ([]File, error) {
	same := make([]bool, len(files))
	err := concurrently(len(files), func(i int) error {
		if err := interrupted(); err != nil {
			return err
		}
		old, err := d.ReadFile(files[i].Name)
		same[i] = err == nil && bytes.Equal(old, files[i].Text)
		return nil
	}, func(done int) { step(done, len(files)) })
	var changed []File
	for i, f := range files {
		if !same[i] {
			changed = append(changed, f)
		}
	}
	return changed, err
}

// Write makes all changes, one directory after the other: the files, several at once, and then the
// removals. The message of an error, also one of interrupted, names the files that were changed
// before it.
func Write(all []Changes, interrupted func() error, step func(done, total int)) error {
	r := run{known: map[dirEntry]bool{}}
	err := check(all)
	for _, c := range all {
		if err == nil {
			err = r.change(c, interrupted, step)
		}
	}
	if err == nil {
		return nil
	}
	for _, folder := range slices.Backward(r.created) {
		_ = folder.dir.root.Remove(folder.name) // one with content must stay
	}
	if r.changed == nil {
		return fmt.Errorf("%w; nothing was changed", err)
	}
	slices.Sort(r.changed)
	return fmt.Errorf("%w; changed before: %s", err, strings.Join(r.changed, ", "))
}

// check returns an error for a name that leads to no file of its directory, and for one that
// something else has. Files are written several at once, so nothing has changed only if this comes
// before all of them.
func check(all []Changes) error {
	for _, c := range all {
		names := slices.Sorted(maps.Keys(c.Remove))
		for _, f := range c.Write {
			names = append(names, f.Name)
		}
		for _, name := range names {
			if !IsName(name) {
				return fmt.Errorf("%s is not a file of the directory %s", printable.Quoted(name),
					printable.Name(c.Dir.path))
			}
		}
		for _, f := range c.Write {
			old, err := c.Dir.root.Lstat(f.Name)
			if err != nil {
				continue // writing tells
			}
			if err := c.Dir.replaces(f.Name, old); err != nil {
				return err
			}
		}
	}
	return nil
}

// dirEntry is a file or a folder of a directory.
type dirEntry struct {
	dir  *Dir
	name string
}

// run is a run that changes files.
type run struct {
	created []dirEntry // the folders that the run has made, parents first
	known   map[dirEntry]bool
	mu      sync.Mutex // guards the rest
	changed []string   // the files that the run has changed, for messages
}

const stageSuffix = ".trainweld-new"

// change makes the changes of a directory. It writes several files at once, because most of the
// time is spent waiting for the disk.
func (r *run) change(c Changes, interrupted func() error, step func(done, total int)) error {
	suffix := "." + strings.ToLower(rand.Text()[:8]) + stageSuffix // differs between runs
	files := distinctFiles(c.Write)
	for _, f := range files {
		if err := r.makeFolder(c.Dir, path.Dir(f.Name)); err != nil {
			return err
		}
	}
	err := concurrently(len(files), func(i int) error {
		if err := interrupted(); err != nil {
			return err
		}
		if err := c.Dir.write(files[i].Name, files[i].Name+suffix, files[i].Text); err != nil {
			return err
		}
		r.note(c.Dir, files[i].Name)
		return nil
	}, func(done int) { step(done, len(files)) })
	if err != nil {
		return err
	}
	return r.remove(c, interrupted)
}

// note records that a file was changed.
func (r *run) note(d *Dir, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = append(r.changed, printable.Name(d.at(name)))
}

// makeFolder makes a folder with its parents. A link in place of a folder is an error.
func (r *run) makeFolder(d *Dir, folder string) error {
	at := dirEntry{d, folder}
	if folder == "." || r.known[at] {
		return nil
	}
	if err := r.makeFolder(d, path.Dir(folder)); err != nil {
		return err
	}
	r.known[at] = true
	err := d.root.Mkdir(folder, 0o777)
	if err == nil {
		r.created = append(r.created, at)
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return d.named(err)
	}
	if info, err := d.root.Lstat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("%s exists and is not a directory; remove it or write elsewhere",
			printable.Name(d.at(folder)))
	}
	return nil
}

// remove removes the files that are as they were.
func (r *run) remove(c Changes, interrupted func() error) error {
	for _, name := range slices.Sorted(maps.Keys(c.Remove)) {
		if err := interrupted(); err != nil {
			return err
		}
		if c.Dir.Sum(name) != c.Remove[name] {
			continue
		}
		switch err := c.Dir.root.Remove(name); {
		case err == nil:
			r.note(c.Dir, name)
		case !errors.Is(err, fs.ErrNotExist):
			return c.Dir.named(err)
		}
	}
	return nil
}

// IsName reports whether a name leads to a file below the directory, outside hidden folders such as
// git's.
func IsName(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name || name == "." ||
		strings.Contains(name, `\`) && filepath.Separator == '\\' {
		return false
	}
	dir := path.Dir(name)
	return dir == "." || !strings.HasPrefix(dir, ".") && !strings.Contains(dir, "/.")
}

// distinctFiles removes files with the name of an earlier one.
func distinctFiles(files []File) []File {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(files), func(f File) bool {
		isDuplicate := seen[f.Name]
		seen[f.Name] = true
		return isDuplicate
	})
}

// at returns a path for messages.
func (d *Dir) at(name string) string { return filepath.Join(d.path, filepath.FromSlash(name)) }

// named returns an error of the root with the path for messages.
func (d *Dir) named(err error) error {
	if p, ok := err.(*fs.PathError); ok {
		return &fs.PathError{Op: strings.TrimSuffix(p.Op, "at"), Path: d.at(p.Path), Err: p.Err}
	}
	return err
}

// replaces returns an error unless a file may take the place of what has its name: a file or a
// link.
func (d *Dir) replaces(name string, old fs.FileInfo) error {
	if old.Mode().IsRegular() || old.Mode()&fs.ModeSymlink != 0 {
		return nil
	}
	return fmt.Errorf("%s exists and is not a file; remove it or write elsewhere",
		printable.Name(d.at(name)))
}

// write writes a file under a staged name, with the permissions of the file that it replaces, and
// gives it its name.
func (d *Dir) write(name, staged string, data []byte) error {
	mode, replaces := fs.FileMode(0o666), false
	switch old, err := d.root.Lstat(name); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return d.named(err)
	case err == nil && old.Mode().IsRegular():
		mode, replaces = old.Mode().Perm(), true
	case err == nil:
		if err := d.replaces(name, old); err != nil {
			return err
		}
	}
	f, err := d.root.OpenFile(staged, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return d.named(err)
	}
	if replaces {
		err = f.Chmod(mode) // the umask has removed some permissions
	}
	_, errWrite := f.Write(data)
	if err = errors.Join(err, errWrite, f.Sync(), f.Close()); err == nil {
		if err = d.root.Rename(staged, name); err != nil {
			err = fmt.Errorf("%s: %w", printable.Name(d.at(name)), errors.Unwrap(err))
		}
	}
	if err != nil {
		_ = d.root.Remove(staged) // nothing reads it
	}
	return err
}

// makeDirs creates a directory with its parents, and returns the created ones, innermost first.
func makeDirs(dir string) ([]string, error) {
	var made []string
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); err == nil || d == filepath.Dir(d) {
			break
		}
		made = append(made, d)
	}
	return made, os.MkdirAll(dir, 0o777)
}

// removeDirs removes empty directories.
func removeDirs(dirs []string) {
	for _, d := range dirs {
		_ = os.Remove(d)
	}
}

// diskQueue is the number of concurrent writes. A disk syncs several files faster than one file
// after another.
const diskQueue = 8

// concurrently runs work for 0 to n-1, several at once, since each waits for the disk. It returns
// the error with the lowest index, and may skip work behind it. After each piece, it calls tell
// with the number of finished ones, from one goroutine at a time.
func concurrently(n int, work func(int) error, tell func(done int)) error {
	var (
		mu     sync.Mutex
		next   int
		done   int
		failed = n
		first  error
		wait   sync.WaitGroup
	)
	for range min(diskQueue, n) {
		wait.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := i >= failed
				mu.Unlock()
				if stop {
					return
				}
				err := work(i)
				mu.Lock()
				done++
				tell(done)
				if err != nil && i < failed {
					failed, first = i, err
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return first
}
