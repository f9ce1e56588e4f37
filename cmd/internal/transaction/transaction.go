// Package transaction changes files so that each is whole at every moment. It writes new files next to their targets first, and
// renames them once all are complete. An error or a signal before that leaves everything as it was. A killed run may leave files
// of both states, and files whose names end in .trainweld-new, which nothing reads.
//
//	dir, err := transaction.Open("out")
//	...
//	defer dir.Close()
//	err = transaction.Write([]transaction.Changes{{Dir: dir, Write: files}}, interrupted, step)
//
// The path of the directory may contain symbolic links. Below it, no link is followed. A link in place of a file is replaced.
// A link in place of a folder is an error. Files keep their permissions. Other hard links keep the old content.
package transaction

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

	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/fieldpath/printable"
)

// File is a file to write.
type File struct {
	// Name is its slash-separated path below the directory.
	Name string
	// Text returns its content. It may be called several times.
	Text func() ([]byte, error)
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
	c.Write = append(c.Write, File{name, func() ([]byte, error) { return text, nil }})
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

// Close releases the directory. Unless something is in them, it removes directories that Open has created.
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

// Exists reports whether any file has that name.
func (d *Dir) Exists(name string) bool {
	_, err := d.root.Lstat(name)
	return err == nil
}

// Sum returns the SHA-256 sum of text in hexadecimal.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Sum returns the sum of a regular file, and "" for a missing one. For other files it returns a word that is not a sum.
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

// Changed returns the files whose content differs. It calls look with the index and the content of each file, from several
// goroutines.
func (d *Dir) Changed(files []File, look func(i int, text []byte), interrupted func() error, step func(done, total int)) ([]File, error) {
	same := make([]bool, len(files))
	err := concurrently(len(files), func(i int) error {
		if err := interrupted(); err != nil {
			return err
		}
		text, err := files[i].Text()
		if err != nil {
			return err
		}
		look(i, text)
		old, err := d.ReadFile(files[i].Name)
		same[i] = err == nil && bytes.Equal(old, text)
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

// Write applies all changes. An error before all new files are complete, also one of interrupted, leaves everything as it was. The
// message of a later error, such as a folder in place of a file, names the changed files.
func Write(all []Changes, interrupted func() error, step func(done, total int)) error {
	s := stage{known: map[dirEntry]bool{}}
	err := s.fill(all, interrupted, step)
	if err == nil {
		err = interrupted()
	}
	if err != nil {
		s.undo()
		return fmt.Errorf("%w; nothing was changed", err)
	}
	err = s.rename()
	for _, c := range all {
		if err == nil {
			err = s.remove(c)
		}
	}
	if err != nil {
		s.undo()
		if s.changed == nil {
			return fmt.Errorf("%w; nothing was changed", err)
		}
		return fmt.Errorf("%w; changed before: %s", err, strings.Join(s.changed, ", "))
	}
	return nil
}

// dirEntry is a file or a folder of a directory.
type dirEntry struct {
	dir  *Dir
	name string
}

// stage holds the new files of a run under their staged names.
type stage struct {
	files   []stagedFile // that are not renamed yet
	created []dirEntry   // the folders that the run has made, parents first
	known   map[dirEntry]bool
	changed []string // the files that the run has changed, for messages
}

// stagedFile is a file, and its name until all files are complete. It differs between runs, and between a directory and a folder of it.
type stagedFile struct {
	dirEntry
	as string
}

const stageSuffix = ".trainweld-new"

// fill makes the folders, then all staged files. It makes several at once, because most of the time is spent waiting for the disk.
func (s *stage) fill(all []Changes, interrupted func() error, step func(done, total int)) error {
	var texts []func() ([]byte, error)
	for _, c := range all {
		suffix := "." + strings.ToLower(rand.Text()[:8]) + stageSuffix
		for _, name := range slices.Sorted(maps.Keys(c.Remove)) {
			if !IsName(name) {
				return notOf(c.Dir, name)
			}
		}
		for _, f := range distinctFiles(c.Write) {
			if !IsName(f.Name) {
				return notOf(c.Dir, f.Name)
			}
			if err := s.makeFolder(c.Dir, path.Dir(f.Name)); err != nil {
				return err
			}
			s.files, texts = append(s.files, stagedFile{dirEntry{c.Dir, f.Name}, f.Name + suffix}), append(texts, f.Text)
		}
	}
	return concurrently(len(texts), func(i int) error {
		if err := interrupted(); err != nil {
			return err
		}
		text, err := texts[i]()
		if err != nil {
			return err
		}
		return s.files[i].dir.writeNew(s.files[i].name, s.files[i].as, text)
	}, func(done int) { step(done, len(texts)) })
}

func notOf(d *Dir, name string) error {
	return fmt.Errorf("%s is not a file of the directory %s", printable.Quoted(name), printable.Name(d.path))
}

// makeFolder makes a folder with its parents. A link in place of a folder is an error.
func (s *stage) makeFolder(d *Dir, folder string) error {
	at := dirEntry{d, folder}
	if folder == "." || s.known[at] {
		return nil
	}
	if err := s.makeFolder(d, path.Dir(folder)); err != nil {
		return err
	}
	s.known[at] = true
	err := d.root.Mkdir(folder, 0o777)
	if err == nil {
		s.created = append(s.created, at)
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return d.named(err)
	}
	if info, err := d.root.Lstat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is there and no directory; remove it or write elsewhere", printable.Name(d.at(folder)))
	}
	return nil
}

// rename gives the staged files their names.
func (s *stage) rename() error {
	for len(s.files) > 0 {
		f := s.files[0]
		name := printable.Name(f.dir.at(f.name))
		if err := f.dir.root.Rename(f.as, f.name); err != nil {
			return fmt.Errorf("%s: %w", name, errors.Unwrap(err))
		}
		s.files, s.changed = s.files[1:], append(s.changed, name)
	}
	return nil
}

// remove removes the files that are as they were.
func (s *stage) remove(c Changes) error {
	for _, name := range slices.Sorted(maps.Keys(c.Remove)) {
		if c.Dir.Sum(name) != c.Remove[name] {
			continue
		}
		switch err := c.Dir.root.Remove(name); {
		case err == nil:
			s.changed = append(s.changed, printable.Name(c.Dir.at(name)))
		case !errors.Is(err, fs.ErrNotExist):
			return c.Dir.named(err)
		}
	}
	return nil
}

// undo removes the rest of the stage. It ignores errors: a staged file is not a manifest, and a folder with content must stay.
func (s *stage) undo() {
	for _, f := range s.files {
		_ = f.dir.root.Remove(f.as)
	}
	for _, folder := range slices.Backward(s.created) {
		_ = folder.dir.root.Remove(folder.name)
	}
}

// IsName reports whether a name leads to a file below the directory, outside hidden folders such as git's.
func IsName(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name || name == "." || strings.Contains(name, `\`) && filepath.Separator == '\\' {
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

// writeNew writes a staged file with the permissions of the file that it replaces.
func (d *Dir) writeNew(name, staged string, data []byte) error {
	mode, replaces := fs.FileMode(0o666), false
	switch old, err := d.root.Lstat(name); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return d.named(err)
	case err == nil && old.Mode().IsRegular():
		mode, replaces = old.Mode().Perm(), true
	case err == nil && old.Mode()&fs.ModeSymlink == 0:
		return fmt.Errorf("%s is there and no file; remove it or write elsewhere", printable.Name(d.at(name)))
	}
	f, err := d.root.OpenFile(staged, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return d.named(err)
	}
	if replaces {
		err = f.Chmod(mode) // the umask has removed some permissions
	}
	_, errWrite := f.Write(data)
	return errors.Join(err, errWrite, f.Sync(), f.Close())
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
