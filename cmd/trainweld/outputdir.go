package main

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/trainweld/trainweld/internal/transaction"
)

// outputDir is a directory that is written as a whole or not at all.
type outputDir struct {
	path string
	// listed says that the files belong on the directory's list of its own files, if it has one.
	listed bool
	// prune removes the files that an earlier run wrote and this one does not.
	prune bool
	// step is told what is done with how many files of how many.
	step func(verb string, done, total int)
}

// write writes all files, or none. Files whose content is the same already are not touched, nor are any others, except
// those that pruning removes. It returns the files that were to be removed and are not what was written: somebody else
// has changed them, and they stay.
func (d outputDir) write(files []transaction.File, interrupted func() error) (edited []string, err error) {
	dir, err := transaction.Open(d.path, interrupted)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	changes, edited, err := d.changes(dir, files, interrupted)
	if err != nil {
		return nil, fmt.Errorf("%w; nothing was changed", err)
	}
	err = transaction.Write([]transaction.Changes{changes}, interrupted, func(done, total int) { d.step("wrote", done, total) })
	if err != nil {
		return nil, err
	}
	return edited, nil
}

// changes are the files that are not there already, and what is to be done with them and with files of earlier
// runs.
func (d outputDir) changes(dir *transaction.Dir, files []transaction.File, interrupted func() error) (c transaction.Changes, edited []string, err error) {
	c.Dir = dir
	var own ownFiles
	if d.listed {
		if own, err = readOwnFiles(dir, d.path); err != nil {
			return c, nil, err
		}
	}
	sums := make([]string, len(files))
	look := func(i int, text []byte) {
		if own != nil || d.prune {
			sums[i] = transaction.Sum(text)
		}
	}
	c.Write, err = dir.Changed(files, look, interrupted, func(done, total int) { d.step("compared", done, total) })
	if err != nil || own == nil && !d.prune {
		return c, nil, err
	}
	made := ownFiles{}
	for i, f := range files {
		made[f.Name] = sums[i]
	}
	var record ownFiles
	record, c.Remove, edited = own.next(dir, made, d.prune)
	if text := record.text(); !bytes.Equal(text, own.text()) || own == nil {
		c.Write = append(c.Write, transaction.File{Name: ownFilesName, Text: func() ([]byte, error) { return text, nil }})
	}
	return c, edited, nil
}
