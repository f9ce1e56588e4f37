package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainweld/trainweld/schema"
	"github.com/trainweld/trainweld/schema/manifest"
)

// outputFile is a file to be written into an output directory.
type outputFile struct {
	name string
	data []byte
}

// fileName is the name of a TrainJob's file: no namespace and no name holds an underscore, so two
// TrainJobs never share one.
func fileName(j job, format manifest.Format) string {
	return j.Namespace + "_" + j.Name + "." + format.String()
}

// unsafeNames refuses TrainJobs whose names would make a path of the file's name. A cluster takes no
// such names either, but they come from a file, and the file may come from anywhere.
func unsafeNames(all []rendered) schema.Findings {
	var found schema.Findings
	for _, r := range all {
		j := r.job
		for _, part := range []struct{ field, value string }{{"name", j.Name}, {"namespace", j.Namespace}} {
			if problems := validation.IsDNS1123Subdomain(part.value); len(problems) > 0 {
				path := schema.Fields("metadata", part.field)
				found = append(found, schema.Finding{
					Code: schema.CodeUnsafeOutputName, Severity: schema.Error,
					Object: schema.Object{Kind: schema.TrainJobKind, Namespace: j.Namespace, Name: j.Name},
					Path:   path, Position: j.document.Position(path),
					Message: fmt.Sprintf("no file is written for the %s %q: it is no name that a cluster takes, and may lead out of the directory", part.field, part.value),
					Help:    "use lower-case letters, digits, dashes and dots, 253 at most, and begin and end with a letter or digit",
				})
			}
		}
	}
	return found
}

// The journal of a directory. While it exists, a run is under way or was killed; it is locked while a
// run is under way, so that two runs never mix. Its lines are, in this order: the list of files as
// JSON, before the first of them is touched, and "commit", once all of them lie complete beside
// their places. A line counts once its line break is written.
const (
	journalName = ".trainweld-journal"
	stageSuffix = ".trainweld-new"
	commitLine  = "commit"
)

// writeDir writes all files into a directory, or none. Each file is complete at every moment, since
// it is written beside its place and renamed. A run that is killed before the commit has changed
// nothing, and the next run clears up after it; of one that is killed later, the next run does the
// rest. Files whose content is the same already are not touched, nor are any others.
func writeDir(dir string, files []outputFile) (err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("%w; name a directory that can be written to", err)
	}
	journal, err := openJournal(dir)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, journal.Close())
	}()
	if err := recoverDir(dir, journal); err != nil {
		return fmt.Errorf("finishing what a killed run left: %w", err)
	}
	var changed []outputFile
	for _, f := range files {
		old, err := os.ReadFile(filepath.Join(dir, f.name))
		if err == nil && bytes.Equal(old, f.data) {
			continue
		}
		changed = append(changed, f)
	}
	if err := stage(dir, journal, changed); err != nil {
		undo(dir, names(changed))
		return fmt.Errorf("%w; nothing was changed", errors.Join(err, removeJournal(journal)))
	}
	if err := finish(dir, names(changed)); err != nil {
		return fmt.Errorf("%w; run it again to do the rest", err)
	}
	return removeJournal(journal)
}

// removeJournal takes the journal away, or, where an open file cannot be removed, leaves it empty,
// which says the same.
func removeJournal(journal *lockedfile.File) error {
	err := journal.Truncate(0)
	_ = os.Remove(journal.Name())
	return err
}

// openJournal opens and locks the journal. A run that waited for the lock may hold a journal that the
// other run has removed by then, and opens the next one.
func openJournal(dir string) (*lockedfile.File, error) {
	path := filepath.Join(dir, journalName)
	for {
		journal, err := lockedfile.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		mine, err := journal.Stat()
		if err == nil {
			var there fs.FileInfo
			if there, err = os.Stat(path); err == nil && os.SameFile(mine, there) {
				return journal, nil
			}
		}
		journal.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// recoverDir ends what a killed run began, and empties the journal.
func recoverDir(dir string, journal *lockedfile.File) error {
	lines, err := readJournal(journal)
	if err != nil {
		return err
	}
	if len(lines) > 0 {
		var files []string
		if err := json.Unmarshal([]byte(lines[0]), &files); err != nil {
			return fmt.Errorf("%s: %w; remove it if it is not trainweld's", journal.Name(), err)
		}
		for _, name := range files {
			if filepath.Base(name) != name || !filepath.IsLocal(name) {
				return fmt.Errorf("%s names %q, which is no file of this directory; remove it if it is not trainweld's", journal.Name(), name)
			}
		}
		if len(lines) > 1 && lines[1] == commitLine {
			err = finish(dir, files)
		} else {
			undo(dir, files)
		}
		if err != nil {
			return err
		}
	}
	if err := journal.Truncate(0); err != nil {
		return err
	}
	_, err = journal.Seek(0, io.SeekStart)
	return err
}

// readJournal returns the complete lines of the journal.
func readJournal(journal io.Reader) ([]string, error) {
	var lines []string
	for r := bufio.NewReader(journal); ; {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
}

// stage writes the files beside their places and commits.
func stage(dir string, journal *lockedfile.File, files []outputFile) error {
	list, err := json.Marshal(names(files))
	if err != nil {
		return err
	}
	if err := appendLine(journal, string(list)); err != nil {
		return err
	}
	for _, f := range files {
		if err := writeNew(filepath.Join(dir, f.name), f.data); err != nil {
			return err
		}
	}
	return appendLine(journal, commitLine)
}

func appendLine(journal *lockedfile.File, line string) error {
	if _, err := io.WriteString(journal, line+"\n"); err != nil {
		return err
	}
	return journal.Sync()
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

// finish renames the written files into their places. What is not there any more is in its place.
func finish(dir string, files []string) error {
	for _, name := range files {
		path := filepath.Join(dir, name)
		if err := os.Rename(path+stageSuffix, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// undo removes the written files that never got into their places.
func undo(dir string, files []string) {
	for _, name := range files {
		// One that cannot be removed does no harm: it is no manifest, and the next run writes over it.
		_ = os.Remove(filepath.Join(dir, name) + stageSuffix)
	}
}

func names(files []outputFile) []string {
	names := make([]string, len(files))
	for i := range files {
		names[i] = files[i].name
	}
	return names
}
