package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// outputFile is a file to be written into an output directory.
type outputFile struct {
	name string
	text func() ([]byte, error)
}

// outputDir is a directory that is written as a whole or not at all.
type outputDir struct {
	path string
	// listed says that the files belong on the directory's list of its own files, if it has one.
	listed bool
	// prune removes the files that an earlier run wrote and this one does not.
	prune bool
	// interruptions undo everything, until all is written.
	interruptions interruptions
	// step is told what is done with how many files of how many.
	step func(verb string, done, total int)
}

// write writes all files, or none. Each file is complete at every moment, since it is written beside its place
// and renamed. A run that is killed before the commit has changed nothing, and the next run clears up after
// it; of one that is killed later, the next run does the rest. Files whose content is the same already are not
// touched, nor are any others, but for those that pruning removes. It returns the files that were to be removed
// and are not what was written: somebody else has changed them, and they stay.
func (d outputDir) write(files []outputFile) (edited []string, err error) {
	made, err := makeDirs(d.path)
	if err != nil {
		return nil, fmt.Errorf("%w; name a directory that can be written to", err)
	}
	defer func() {
		if err != nil {
			removeDirs(made)
		}
	}()
	journal, err := openJournal(d.path)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, journal.Close())
	}()
	interruption, end := d.interruptions.listen()
	defer end()
	if err := recoverDir(d.path, journal); err != nil {
		return nil, fmt.Errorf("finishing what a killed run left: %w", err)
	}
	changed, plan, edited, err := d.changes(files, interruption)
	if err == nil {
		err = d.stage(journal, changed, plan, interruption)
	}
	if err != nil {
		plan.undo(d.path)
		return nil, fmt.Errorf("%w; nothing was changed", errors.Join(err, removeJournal(journal)))
	}
	if err := plan.finish(d.path); err != nil {
		return nil, fmt.Errorf("%w; run it again to do the rest", err)
	}
	return edited, removeJournal(journal)
}

// writeDir writes files into a directory, all or none, as outputDir does. They do not count as files
// that trainweld has made and may prune.
func writeDir(dir string, files []outputFile) error {
	_, err := outputDir{path: dir, interruptions: peace{}, step: func(string, int, int) {}}.write(files)
	return err
}

// makeDirs makes a directory and those above it, and returns those that were not there.
func makeDirs(dir string) ([]string, error) {
	var made []string
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) || d == filepath.Dir(d) {
			break
		}
		made = append(made, d)
	}
	return made, os.MkdirAll(dir, 0o777)
}

// removeDirs removes directories that nobody has put anything into.
func removeDirs(dirs []string) {
	for _, d := range dirs {
		_ = os.Remove(d)
	}
}

// changes are the files that are not there already, and what is to be done with them and with files of earlier
// runs.
func (d outputDir) changes(files []outputFile, interruption func() error) (changed []outputFile, p plan, edited []string, err error) {
	var own ownFiles
	if d.listed {
		if own, err = readOwnFiles(d.path); err != nil {
			return nil, p, nil, err
		}
	}
	sums, same := make([]string, len(files)), make([]bool, len(files))
	err = concurrently(len(files), func(i int) error {
		if err := interruption(); err != nil {
			return err
		}
		text, err := files[i].text()
		if err != nil {
			return err
		}
		if own != nil || d.prune {
			sums[i] = sumOf(text)
		}
		old, err := os.ReadFile(filepath.Join(d.path, files[i].name))
		same[i] = err == nil && bytes.Equal(old, text)
		return nil
	}, func(done int) { d.step("compared", done, len(files)) })
	if err != nil {
		return nil, p, nil, err
	}
	for i, f := range files {
		if !same[i] {
			changed = append(changed, f)
		}
	}
	if own != nil || d.prune {
		made := ownFiles{}
		for i, f := range files {
			made[f.name] = sums[i]
		}
		var record ownFiles
		record, p.Remove, edited = own.next(d.path, made, d.prune)
		if text := record.text(); !bytes.Equal(text, own.text()) || own == nil {
			changed = append(changed, outputFile{ownFilesName, func() ([]byte, error) { return text, nil }})
		}
	}
	p.Write = make([]string, len(changed))
	for i, f := range changed {
		p.Write[i] = f.name
	}
	return changed, p, edited, nil
}

// stage writes the files beside their places and commits. Most of the time goes by while the disk writes, so
// several files are under way at once.
func (d outputDir) stage(journal *lockedfile.File, files []outputFile, p plan, interruption func() error) error {
	if err := writePlan(journal, p); err != nil {
		return err
	}
	err := concurrently(len(files), func(i int) error {
		if err := interruption(); err != nil {
			return err
		}
		text, err := files[i].text()
		if err != nil {
			return err
		}
		return writeNew(filepath.Join(d.path, files[i].name), text)
	}, func(done int) { d.step("wrote", done, len(files)) })
	if err != nil {
		return err
	}
	// From the next line on there is no way back.
	if err := interruption(); err != nil {
		return err
	}
	return appendLine(journal, commitLine)
}

// writeNew writes the file that is to take the place of path, with the permissions that path has.
func writeNew(path string, data []byte) error {
	mode, replaces := fs.FileMode(0o666), false
	if old, err := os.Stat(path); err == nil {
		if !old.Mode().IsRegular() {
			return fmt.Errorf("%s is there and no file; remove it or write elsewhere", path)
		}
		mode, replaces = old.Mode().Perm(), true
	}
	// What stands there is of no run that is under way. Were it a link, it would lead elsewhere.
	if err := os.Remove(path + stageSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path+stageSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if replaces {
		err = f.Chmod(mode) // the process' mask was taken off it
	}
	_, errWrite := f.Write(data)
	return errors.Join(err, errWrite, f.Sync(), f.Close())
}
