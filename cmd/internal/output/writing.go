package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/transaction"
	"github.com/trainweld/trainweld/cmd/internal/workspace"
	"github.com/trainweld/trainweld/fieldpath/printable"
	"github.com/trainweld/trainweld/render/manifest"
)

// Writing collects changes to files of several directories. They apply as a whole or not at all.
type Writing struct {
	Interrupted func() error
	dirs        []*transaction.Changes
	byName      map[string]*transaction.Changes
}

// WriteAll applies the changes that add collects. A signal undoes them until the commit.
func WriteAll(p *host.Program, add func(*Writing) error) (err error) {
	w := &Writing{byName: map[string]*transaction.Changes{}}
	var end func()
	w.Interrupted, end = p.Listen()
	defer end()
	defer func() {
		for _, c := range w.dirs {
			err = errors.Join(err, c.Dir.Close())
		}
	}()
	if err := add(w); err != nil {
		return fmt.Errorf("%w; nothing was changed", err)
	}
	var all []transaction.Changes
	for _, c := range w.dirs {
		if len(c.Write)+len(c.Remove) > 0 {
			all = append(all, *c)
		}
	}
	return transaction.Write(all, w.Interrupted, func(int, int) {})
}

// In returns the changes to a directory. It opens a new directory.
func (w *Writing) In(dir string) (*transaction.Changes, error) {
	if c := w.byName[dir]; c != nil {
		return c, nil
	}
	for _, c := range w.dirs {
		if c.Dir.Is(dir) {
			w.byName[dir] = c
			return c, nil
		}
	}
	d, err := open(dir, w.Interrupted)
	if err != nil {
		return nil, err
	}
	c := &transaction.Changes{Dir: d}
	w.dirs, w.byName[dir] = append(w.dirs, c), c
	return c, nil
}

// Recover completes or undoes the changes of killed runs in directories.
func Recover(p *host.Program, dirs []string) error {
	interrupted, end := p.Listen()
	defer end()
	for _, dir := range dirs {
		if err := transaction.Recover(dir, interrupted); err != nil {
			return err
		}
	}
	return nil
}

// Places are the directories, without links, in which a run rewrites files. They are the directories that its paths name, and
// the parents of other files. They do not depend on file contents, so the run after a killed one finds its journals.
type Places []string

// PlacesOf returns the directories for the files that flags name.
func PlacesOf(p *host.Program, flags workspace.Flags) Places {
	var all Places
	paths := slices.Concat(flags.Files, flags.Runtimes, flags.PatchFiles())
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			all = append(all, real)
		}
	}
	slices.Sort(all)                                            // parents first
	files, _ := manifest.Files(p.Files, paths, flags.Recursive) // reading reports the findings
	return all.With(files)
}

// With returns the directories for further files, too: their parents, unless they are below one of the directories.
func (p Places) With(files []string) Places {
	all := slices.Clone(p)
	for _, file := range files {
		if real, err := filepath.EvalSymlinks(file); err == nil {
			if dir, _ := all.find(real); dir == "" {
				all = append(all, filepath.Dir(real))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// find returns the directory of a file, and the file's slash-separated name in it.
func (p Places) find(file string) (dir, name string) {
	for _, dir := range p {
		rel, err := filepath.Rel(dir, file)
		if name := filepath.ToSlash(rel); err == nil && transaction.IsName(name) {
			return dir, name
		}
	}
	return "", ""
}

// WriteInPlace writes the changed files. It returns an error if another program changed one since it was read, and for a read-only
// file.
func WriteInPlace(p *host.Program, all Places, files []Rewritten) error {
	return WriteAll(p, func(w *Writing) error {
		for _, f := range files {
			if !f.Changed() {
				continue
			}
			real, err := filepath.EvalSymlinks(f.Name)
			if err != nil {
				return err
			}
			dir, name := all.find(real)
			if dir == "" {
				return fmt.Errorf("%s was moved while it was read", f.Name)
			}
			changes, err := w.In(dir)
			if err != nil {
				return err
			}
			now, err := changes.Dir.ReadFile(name)
			if err != nil {
				return err
			}
			if info, err := os.Stat(real); err == nil && info.Mode().Perm()&0o222 == 0 {
				return fmt.Errorf("%s is read-only", f.Name)
			}
			switch {
			case bytes.Equal(now, f.Old):
				changes.Put(name, f.New)
			case !bytes.Equal(now, f.New): // another run made the same change
				return fmt.Errorf("%s was changed while it was read", f.Name)
			}
		}
		return nil
	})
}

// Rewritten is a file with its old and its new content.
type Rewritten struct {
	Name     string
	Old, New []byte
}

// Changed reports whether the content differs.
func (r Rewritten) Changed() bool { return !bytes.Equal(r.Old, r.New) }

// WriteDiffs writes the changes of the files as unified diffs.
func WriteDiffs(w io.Writer, files []Rewritten) error {
	var out bytes.Buffer
	for _, f := range files {
		if f.Changed() {
			for line := range strings.Lines(string(diff.Diff(printable.Name(f.Name+".orig"), f.Old, printable.Name(f.Name), f.New))) {
				fmt.Fprintln(&out, report.PrintableTabs(strings.TrimSuffix(line, "\n")))
			}
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}
