package transaction

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/trainweld/trainweld/internal/ownfile"
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
	// Was are the sums of what is in their places, by their names: what somebody has changed since a run was killed,
	// stays.
	Was map[string]string `json:"was,omitempty"`
	// Remove are the files that are removed after that, with the sums of their contents.
	Remove map[string]string `json:"remove,omitempty"`
	// Make are the folders to be made for them, the outer ones first.
	Make []string `json:"make,omitempty"`
	// Stage is part of the names beside the places, so that runs into a directory and into a folder of it write
	// different ones.
	Stage string `json:"stage,omitempty"`
}

// staged is the name beside the place of a file.
func (p plan) staged(name string) string {
	if p.Stage == "" {
		return name + stageSuffix
	}
	return name + "." + p.Stage + stageSuffix
}

func (p plan) names() []string {
	return slices.Concat(p.Write, p.Make, slices.Sorted(maps.Keys(p.Remove)))
}

// IsName reports whether a name leads to a file of the directory or of a folder in it, and to nowhere else. Hidden folders,
// such as git's own, are nowhere.
func IsName(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name || name == "." || strings.Contains(name, `\`) && filepath.Separator == '\\' {
		return false
	}
	dir := path.Dir(name)
	return dir == "." || !strings.HasPrefix(dir, ".") && !strings.Contains(dir, "/.")
}

// lock opens and locks the journal. A run that waited for the lock may hold a journal that the other run has removed by
// then, and opens the next one.
func (d *Dir) lock(interrupted func() error) error {
	for {
		info, err := d.root.Lstat(journalName)
		if errors.Is(err, fs.ErrNotExist) {
			var made *os.File
			if made, err = d.root.OpenFile(journalName, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666); err == nil {
				err = made.Close()
			}
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return d.named(err)
			}
			continue
		}
		if err == nil {
			err = ownfile.Check(journalName, info)
		}
		if err != nil {
			return d.named(err)
		}
		journal, err := d.wait(interrupted)
		if err == nil {
			var mine, there fs.FileInfo
			if mine, err = journal.Stat(); err == nil {
				there, err = d.root.Lstat(journalName)
			}
			if err == nil && os.SameFile(mine, there) {
				d.journal = journal
				return nil
			}
			journal.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := interrupted(); err != nil {
			return err
		}
	}
}

// wait opens the journal when no other run holds it. The open itself takes as long as the other run; an interruption
// leaves it behind.
func (d *Dir) wait(interrupted func() error) (*lockedfile.File, error) {
	type opened struct {
		journal *lockedfile.File
		err     error
	}
	done, gone := make(chan opened), make(chan struct{})
	go func() {
		journal, err := lockedfile.OpenFile(filepath.Join(d.path, journalName), os.O_RDWR|ownfile.NoFollow, 0)
		select {
		case done <- opened{journal, err}:
		case <-gone:
			if err == nil {
				journal.Close()
			}
		}
	}()
	tick := time.NewTicker(100 * time.Millisecond) // a busy machine takes a while for a journal that is free
	defer tick.Stop()
	for {
		select {
		case o := <-done:
			return o.journal, o.err
		case <-tick.C:
			if err := interrupted(); err != nil {
				close(gone)
				return nil, err
			}
		}
	}
}

// removeJournal takes the journal away, or, where an open file cannot be removed, leaves it empty,
// which says the same.
func (d *Dir) removeJournal() error {
	err := d.journal.Truncate(0)
	_ = d.root.Remove(journalName)
	return err
}

// recover ends what a killed run began, and empties the journal.
func (d *Dir) recover() error {
	lines, err := readJournal(d.journal)
	if err != nil {
		return err
	}
	if len(lines) > 0 {
		left, err := parsePlan(lines[0])
		if err != nil {
			return fmt.Errorf("%s: %w; remove it if it is not trainweld's", d.at(journalName), err)
		}
		if len(lines) > 1 && lines[1] == commitLine {
			left.forget(d)
			err = left.finish(d)
			d.written = true
		} else {
			left.undo(d.root)
		}
		if err != nil {
			return err
		}
	}
	return d.emptyJournal(0)
}

// emptyJournal cuts the journal off, and goes on there.
func (d *Dir) emptyJournal(size int64) error {
	if err := d.journal.Truncate(size); err != nil {
		return err
	}
	_, err := d.journal.Seek(size, io.SeekStart)
	return err
}

// parsePlan reads a plan, which may have been written by anybody.
func parsePlan(line string) (plan, error) {
	var p plan
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return p, err
	}
	for _, name := range p.names() {
		if !IsName(name) {
			return p, fmt.Errorf("it names %q, which is no file of this directory", name)
		}
	}
	if strings.Trim(p.Stage, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		return p, fmt.Errorf("%q is no part of a file's name", p.Stage)
	}
	return p, nil
}

// readJournal returns the complete lines of the journal.
func readJournal(journal io.Reader) ([]string, error) {
	var lines []string
	for r := bufio.NewReader(io.LimitReader(journal, ownfile.Limit)); ; {
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

// begin writes the plan, and makes its folders. From here on, the next run clears up if this one cannot.
func (d *Dir) begin(p plan) error {
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if len(line) >= ownfile.Limit-len(commitLine)-2 {
		return fmt.Errorf("%s must be at most %d MiB: write to several directories", d.at(journalName), ownfile.Limit>>20)
	}
	if err := d.appendLine(string(line)); err != nil {
		return err
	}
	for _, folder := range p.Make {
		if err := d.root.Mkdir(folder, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return d.named(err)
		}
	}
	return nil
}

// commit says that everything lies beside its place. Where it cannot, it leaves the journal as it was.
func (d *Dir) commit() error {
	size, err := d.journal.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if err := d.appendLine(commitLine); err != nil {
		return errors.Join(err, d.emptyJournal(size))
	}
	return nil
}

func (d *Dir) appendLine(line string) error {
	if _, err := io.WriteString(d.journal, line+"\n"); err != nil {
		return err
	}
	return d.journal.Sync()
}

// finish renames the written files into their places, and removes what is to go and is as it was. What is
// not there any more was renamed or removed before.
func (p plan) finish(d *Dir) error {
	for _, name := range p.Write {
		if err := d.root.Rename(p.staged(name), name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Remove)) {
		if d.Sum(name) != p.Remove[name] {
			continue
		}
		if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return d.named(err)
		}
	}
	return nil
}

// forget removes the written files in whose places there is something else by now.
func (p plan) forget(d *Dir) {
	for _, name := range p.Write {
		if was, ok := p.Was[name]; ok && d.Sum(name) != was {
			_ = d.root.Remove(p.staged(name))
		}
	}
}

// undo removes the written files that never got into their places, and the folders made for them. One that cannot be
// removed does no harm: it is no manifest, and a folder that holds something is to stay.
func (p plan) undo(root *os.Root) {
	for _, name := range p.Write {
		_ = root.Remove(p.staged(name))
	}
	for _, folder := range slices.Backward(p.Make) {
		_ = root.Remove(folder)
	}
}
