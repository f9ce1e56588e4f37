package output

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/wholefile"
	"github.com/trainweld/trainweld/fieldpath/printable"
)

// Dir is a directory for the output files.
type Dir struct {
	Path string
	// Prune removes files that an earlier run wrote and this run does not, by the directory's list
	// of its own files. Without Prune, a list that is there stays true.
	Prune bool
	// Step receives the progress.
	Step func(verb string, done, total int)
}

// Outcome names the files that a write changed, sorted.
type Outcome struct {
	Wrote, Removed []string
	// Edited are the files that pruning keeps because someone has edited them.
	Edited []string
}

// Write writes the files, each whole, and then the directory's list. It leaves files with equal
// content and other files untouched, except files that pruning removes. An error names the files
// that were changed before it.
func (d Dir) Write(files []wholefile.File, interrupted func() error) (made Outcome, err error) {
	dir, err := openOutput(d.Path)
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	changes := wholefile.Changes{Dir: dir}
	changes.Write, err = dir.Changed(files, interrupted, func(done, total int) {
		d.Step("compared", done, total)
	})
	var all []wholefile.Changes
	var edited []string
	if err == nil {
		all, edited, err = d.listed(changes, files)
	}
	if err != nil {
		return made, fmt.Errorf("%w; nothing was changed", err)
	}
	err = wholefile.Write(all, interrupted, func(done, total int) { d.Step("wrote", done, total) })
	if err != nil {
		return made, err
	}
	made.Removed, made.Edited = slices.Sorted(maps.Keys(all[0].Remove)), edited
	for _, c := range all {
		for _, f := range c.Write {
			made.Wrote = append(made.Wrote, f.Name)
		}
	}
	slices.Sort(made.Wrote)
	return made, nil
}

// openOutput opens a directory for writing. No link of a repository chooses one outside of it.
func openOutput(dir string) (*wholefile.Dir, error) {
	if host.LeadsOut(dir) {
		return nil, fmt.Errorf("%s %w; name where the link leads, or remove it",
			printable.Name(dir), host.ErrOutside)
	}
	return wholefile.Open(dir)
}

// listed adds the removal of files of earlier runs to the changes, and the list if it changes. It
// comes last, so that it lists no file that a run did not write.
func (d Dir) listed(changes wholefile.Changes,
	files []wholefile.File) (all []wholefile.Changes, edited []string, err error) {
	own, err := readOwnFiles(changes.Dir, d.Path)
	if err != nil || own == nil && !d.Prune {
		return []wholefile.Changes{changes}, nil, err
	}
	made := ownFiles{}
	for _, f := range files {
		made[f.Name] = wholefile.Sum(f.Text)
	}
	var record ownFiles
	record, changes.Remove, edited = own.next(changes.Dir, made, d.Prune)
	all = []wholefile.Changes{changes}
	if text := record.text(); !bytes.Equal(text, own.text()) || own == nil {
		list := wholefile.Changes{Dir: changes.Dir}
		list.Put(OwnFilesName, text)
		all = append(all, list)
	}
	return all, edited, nil
}
