package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// The journal of a directory. While it exists, a run is under way or was killed; it is locked while a
// run is under way, so that two runs never mix. Its lines are, in this order: the plan as JSON, before
// the first file is touched, and "commit", once all files that are to be written lie complete beside
// their places. A line counts once its line break is written.
const (
	journalName = ".trainweld-journal"
	stageSuffix = ".trainweld-new"
	commitLine  = "commit"
)

// plan is what a run does to a directory.
type plan struct {
	// Write are the files that are written beside their places and renamed, in this order.
	Write []string `json:"write"`
	// Remove are the files that are removed after that, with the sums of their contents.
	Remove map[string]string `json:"remove,omitempty"`
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
		var left plan
		decoder := json.NewDecoder(strings.NewReader(lines[0]))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&left); err != nil {
			return fmt.Errorf("%s: %w; remove it if it is not trainweld's", journal.Name(), err)
		}
		for _, name := range left.names() {
			if !isFileName(name) {
				return fmt.Errorf("%s names %q, which is no file of this directory; remove it if it is not trainweld's", journal.Name(), name)
			}
		}
		if len(lines) > 1 && lines[1] == commitLine {
			err = left.finish(dir)
		} else {
			left.undo(dir)
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

// isFileName says whether the name leads to a file of the directory, and to nowhere else.
func isFileName(name string) bool {
	return filepath.Base(name) == name && filepath.IsLocal(name) && name != "."
}

func (p plan) names() []string {
	names := append([]string(nil), p.Write...)
	for name := range p.Remove {
		names = append(names, name)
	}
	return names
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

// writePlan begins the journal. From here on, the next run clears up if this one cannot.
func writePlan(journal *lockedfile.File, p plan) error {
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return appendLine(journal, string(line))
}

func appendLine(journal *lockedfile.File, line string) error {
	if _, err := io.WriteString(journal, line+"\n"); err != nil {
		return err
	}
	return journal.Sync()
}

// finish renames the written files into their places, and removes what is to go and is as it was. What is
// not there any more was renamed or removed before.
func (p plan) finish(dir string) error {
	for _, name := range p.Write {
		path := filepath.Join(dir, name)
		if err := os.Rename(path+stageSuffix, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name, sum := range p.Remove {
		path := filepath.Join(dir, name)
		if sumOfFile(path) != sum {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// undo removes the written files that never got into their places.
func (p plan) undo(dir string) {
	for _, name := range p.Write {
		// One that cannot be removed does no harm: it is no manifest, and the next run writes over it.
		_ = os.Remove(filepath.Join(dir, name) + stageSuffix)
	}
}
