package output

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/cmd/internal/wholefile"
)

// Writing collects changes to files of several directories.
type Writing struct {
	Interrupted func() error
	dirs        []*wholefile.Changes
	byPath      map[string]*wholefile.Changes // by the paths without links
}

// WriteAll makes the changes that add collects. Each file is whole. A signal ends the run, and its
// error names the changed files.
func WriteAll(p *host.Program, add func(*Writing) error) (err error) {
	w := &Writing{byPath: map[string]*wholefile.Changes{}}
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
	var all []wholefile.Changes
	for _, c := range w.dirs {
		if len(c.Write)+len(c.Remove) > 0 {
			all = append(all, *c)
		}
	}
	return wholefile.Write(all, w.Interrupted, func(int, int) {})
}

// In returns the changes to a directory. It opens a new directory.
func (w *Writing) In(dir string) (*wholefile.Changes, error) {
	real := filepath.Clean(dir)
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		real = target
	}
	if c := w.byPath[real]; c != nil {
		return c, nil
	}
	d, err := openOutput(dir)
	if err != nil {
		return nil, err
	}
	c := &wholefile.Changes{Dir: d}
	w.dirs, w.byPath[real] = append(w.dirs, c), c
	return c, nil
}

// WriteInPlace writes the changed files. It returns an error if another program changed one since
// it was read, and for a read-only file.
func WriteInPlace(p *host.Program, files []Rewritten) error {
	return WriteAll(p, func(w *Writing) error {
		for _, f := range files {
			if !f.Changed() {
				continue
			}
			real, err := filepath.EvalSymlinks(f.Name)
			if err != nil {
				return err
			}
			name := filepath.Base(real)
			changes, err := w.In(filepath.Dir(real))
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

// WriteDiff writes the change of a file as a unified diff.
func (r Rewritten) WriteDiff(out *bytes.Buffer) {
	if !r.Changed() {
		return
	}
	for line := range strings.Lines(string(diff.Diff(printable.Name(r.Name+".orig"), r.Old,
		printable.Name(r.Name), r.New))) {
		fmt.Fprintln(out, report.PrintableTabs(strings.TrimSuffix(line, "\n")))
	}
}
