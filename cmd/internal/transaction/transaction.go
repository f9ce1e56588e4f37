// Package transaction changes files as a whole or not at all. A transaction stages new files next to their targets. Then it
// records in the directories' journals that all are complete, and renames them. If it is killed before the record, nothing has
// changed, and the next transaction cleans up. If it is killed later, the next transaction completes it. So every file is
// complete at every moment.
//
//	dir, err := transaction.Open("out", interrupted)
//	...
//	defer dir.Close()
//	err = transaction.Write([]transaction.Changes{{Dir: dir, Write: files}}, interrupted, step)
//
// The path of the directory may contain symbolic links. Below it, no link is followed. A link in place of a file is replaced.
// A link in place of a folder or the journal is an error. Files keep their permissions. Other hard links keep the old content.
package transaction

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

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

// Dir is an open directory. No other transaction writes to it until Close.
type Dir struct {
	path    string
	root    *os.Root
	journal *lockedfile.File
	made    []string // directories that Open has created
	left    bool     // the journal must stay: the next run has work to do
}

// Open opens a directory, and creates a missing one. It waits for other transactions on it, and completes or undoes the
// changes of a killed one. An error of interrupted, which may be nil, ends the waiting and is returned.
func Open(dir string, interrupted func() error) (_ *Dir, err error) {
	if interrupted == nil {
		interrupted = func() error { return nil }
	}
	made, err := makeDirs(dir)
	defer func() {
		if err != nil {
			removeDirs(made)
		}
	}()
	if err != nil {
		return nil, fmt.Errorf("%w; name a directory that can be written to", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	d := &Dir{path: dir, root: root, made: made}
	if err := d.lock(interrupted); err != nil {
		isGone := errors.Is(err, fs.ErrNotExist) && !d.Is(dir)
		if err = errors.Join(err, root.Close()); isGone {
			return Open(dir, interrupted) // another run had created the directory, has written nothing and has removed it
		}
		return nil, err
	}
	if err := d.recover(); err != nil {
		d.left = true
		return nil, errors.Join(fmt.Errorf("finishing what a killed run left: %w", err), d.Close())
	}
	return d, nil
}

// Recover completes or undoes the changes of a killed transaction in a directory, if there is one.
func Recover(dir string, interrupted func() error) error {
	if _, err := os.Lstat(filepath.Join(dir, journalName)); err != nil {
		return nil // no journal, or an invalid directory that other code reports
	}
	d, err := Open(dir, interrupted)
	if err != nil {
		return err
	}
	return d.Close()
}

// Close releases the directory. Unless something is in them, it removes directories that Open has created.
func (d *Dir) Close() error {
	var err error
	if !d.left {
		err = d.removeJournal()
	}
	err = errors.Join(err, d.journal.Close(), d.root.Close())
	removeDirs(d.made)
	return err
}

// Is reports whether d is the directory at a path.
func (d *Dir) Is(dir string) bool {
	own, _ := d.root.Stat(".")
	other, _ := os.Stat(dir) // nothing is no file
	return os.SameFile(own, other)
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

// Write applies all changes or none. An error of interrupted undoes them until the staged files are complete. If the program
// is killed later, some directories may be changed. The next run into each of them completes the changes.
func Write(all []Changes, interrupted func() error, step func(done, total int)) error {
	plans, err := plansFor(all)
	if err == nil {
		err = stage(all, plans, interrupted, step)
	}
	if err == nil {
		err = interrupted()
	}
	// The first committed journal is the point of no return.
	committed := 0
	for err == nil && committed < len(all) {
		if err = all[committed].Dir.commit(); err == nil {
			committed++
		}
	}
	for i, c := range all {
		if i >= committed {
			plans[i].undo(c.Dir.root)
		} else if errFinish := c.Dir.finish(plans[i]); errFinish != nil {
			err = errors.Join(err, fmt.Errorf("%w; run it again to do the rest", errFinish))
		}
	}
	if err != nil && committed == 0 {
		return fmt.Errorf("%w; nothing was changed", err)
	}
	return err
}

// finish applies a committed plan.
func (d *Dir) finish(p plan) error {
	err := p.finish(d)
	d.left = err != nil
	return err
}

// plansFor returns the plans of all directories.
func plansFor(all []Changes) ([]plan, error) {
	plans := make([]plan, len(all)) // empty plans behind an error have nothing to undo
	for i, c := range all {
		c.Write = distinct(c.Write)
		all[i].Write = c.Write
		p := plan{Stage: strings.ToLower(rand.Text()[:8]), Remove: c.Remove}
		for _, f := range c.Write {
			p.Write = append(p.Write, f.Name)
		}
		made := map[string]bool{}
		for _, name := range p.names() {
			if !IsName(name) {
				return plans, fmt.Errorf("%s is not a file of the directory %s", printable.Quoted(name), printable.Name(c.Dir.path))
			}
			missing, err := c.Dir.missing(path.Dir(name))
			if err != nil {
				return plans, err
			}
			for _, dir := range missing {
				if !made[dir] {
					made[dir] = true
					p.Make = append(p.Make, dir)
				}
			}
		}
		sums := make([]string, len(p.Write))
		err := concurrently(len(sums), func(n int) error {
			sums[n] = c.Dir.Sum(p.Write[n])
			return nil
		}, func(int) {})
		if err != nil {
			return plans, err
		}
		p.Was = map[string]string{}
		for n, name := range p.Write {
			p.Was[name] = sums[n]
		}
		plans[i] = p
	}
	return plans, nil
}

// distinct removes files with the name of an earlier one.
func distinct(files []File) []File {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(files), func(f File) bool {
		again := seen[f.Name]
		seen[f.Name] = true
		return again
	})
}

// missing returns the missing parents of a folder, outermost first. A link in place of a folder is an error.
func (d *Dir) missing(folder string) ([]string, error) {
	var missing []string
	for ; folder != "."; folder = path.Dir(folder) {
		info, err := d.root.Lstat(folder)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, folder)
		case err != nil:
			return nil, d.named(err)
		case !info.IsDir():
			return nil, fmt.Errorf("%s is there and no directory; remove it or write elsewhere", d.at(folder))
		}
	}
	slices.Reverse(missing)
	return missing, nil
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

// stage writes all staged files, several at once, because most of the time is spent waiting for the disk.
func stage(all []Changes, plans []plan, interrupted func() error, step func(done, total int)) error {
	type piece struct{ dir, file int }
	var pieces []piece
	for i, c := range all {
		if err := c.Dir.begin(plans[i]); err != nil {
			return err
		}
		for n := range c.Write {
			pieces = append(pieces, piece{i, n})
		}
	}
	return concurrently(len(pieces), func(i int) error {
		if err := interrupted(); err != nil {
			return err
		}
		c, p := all[pieces[i].dir], plans[pieces[i].dir]
		f := c.Write[pieces[i].file]
		text, err := f.Text()
		if err != nil {
			return err
		}
		return c.Dir.writeNew(f.Name, p.staged(f.Name), text)
	}, func(done int) { step(done, len(pieces)) })
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
