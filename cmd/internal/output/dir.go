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
	// Listed adds the files to the directory's list of its own files, if it has one.
	Listed bool
	// Prune removes files that an earlier run wrote and this run does not.
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
	changes, list, edited, err := d.changes(dir, files, interrupted)
	if err != nil {
		return made, fmt.Errorf("%w; nothing was changed", err)
	}
	all := []wholefile.Changes{changes}
	if list != nil { // the last one, so that it lists no file that a run did not write
		all = append(all, wholefile.Changes{Dir: dir, Write: []wholefile.File{*list}})
	}
	err = wholefile.Write(all, interrupted, func(done, total int) { d.Step("wrote", done, total) })
	if err != nil {
		return made, err
	}
	made.Removed, made.Edited = slices.Sorted(maps.Keys(changes.Remove)), edited
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

// changes returns the changed files and the changes to files of earlier runs, and the list if it
// changes.
func (d Dir) changes(dir *wholefile.Dir, files []wholefile.File,
	interrupted func() error) (c wholefile.Changes, list *wholefile.File, edited []string,
	err error) {
	c.Dir = dir
	var own ownFiles
	if d.Listed {
		if own, err = readOwnFiles(dir, d.Path); err != nil {
			return c, nil, nil, err
		}
	}
	sums := make([]string, len(files))
	look := func(i int, text []byte) {
		if own != nil || d.Prune {
			sums[i] = wholefile.Sum(text)
		}
	}
	c.Write, err = dir.Changed(files, look, interrupted, func(done, total int) {
		d.Step("compared", done, total)
	})
	if err != nil || own == nil && !d.Prune {
		return c, nil, nil, err
	}
	made := ownFiles{}
	for i, f := range files {
		made[f.Name] = sums[i]
	}
	var record ownFiles
	record, c.Remove, edited = own.next(dir, made, d.Prune)
	if text := record.text(); !bytes.Equal(text, own.text()) || own == nil {
		list = &wholefile.File{Name: OwnFilesName, Text: func() ([]byte, error) {
			return text, nil
		}}
	}
	return c, list, edited, nil
}
