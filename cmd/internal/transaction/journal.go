package transaction

import (
	"bufio"
	"cmp"
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

	"github.com/trainweld/trainweld/cmd/internal/ownfile"
	"github.com/trainweld/trainweld/fieldpath/printable"
)

// The journal of a directory. While it exists, a run is active or was killed. An active run locks it, so two runs never mix.
// Its first line is the plan as JSON, written before any file changes. Its second line is "commit", written once all new files
// are complete under their staged names. A line counts once its line break is written.
const (
	journalName = ".trainweld-journal"
	stageSuffix = ".trainweld-new"
	commitLine  = "commit"
)

// plan describes the changes of a run to a directory.
type plan struct {
	// Write lists the files to write under staged names and then rename, in this order.
	Write []string `json:"write"`
	// Was maps names to the sums of the files to replace. Files that changed since a run was killed stay.
	Was map[string]string `json:"was,omitempty"`
	// Remove maps the files to remove afterwards to their sums.
	Remove map[string]string `json:"remove,omitempty"`
	// Make lists the folders to create, parents first.
	Make []string `json:"make,omitempty"`
	// Stage is part of the staged names. It differs between a run into a directory and a run into a folder of it.
	Stage string `json:"stage,omitempty"`
}

// staged returns the staged name of a file.
func (p plan) staged(name string) string { return name + "." + p.Stage + stageSuffix }

func (p plan) names() []string {
	return slices.Concat(p.Write, p.Make, slices.Sorted(maps.Keys(p.Remove)))
}

// IsName reports whether a name leads to a file below the directory, outside hidden folders such as git's.
func IsName(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name || name == "." || strings.Contains(name, `\`) && filepath.Separator == '\\' {
		return false
	}
	dir := path.Dir(name)
	return dir == "." || !strings.HasPrefix(dir, ".") && !strings.Contains(dir, "/.")
}

// lock opens and locks the journal. While it waits, the other run may remove its journal; then lock opens the next one.
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
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // the other run has removed it
		}
		if err := cmp.Or(err, interrupted()); err != nil {
			return err
		}
	}
}

// wait opens the journal once no other run holds it. The open blocks for as long as the other run, so an interruption abandons
// it.
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
	tick := time.NewTicker(100 * time.Millisecond) // on a busy machine, even a free journal takes a while
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

// removeJournal removes the journal. If an open file cannot be removed, the journal stays empty, with the same meaning.
func (d *Dir) removeJournal() error {
	err := d.journal.Truncate(0)
	_ = d.root.Remove(journalName)
	return err
}

// recover completes or undoes the changes of a killed run, and empties the journal.
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
		} else {
			left.undo(d.root)
		}
		if err != nil {
			return err
		}
	}
	return d.emptyJournal(0)
}

// emptyJournal truncates the journal to size, and continues there.
func (d *Dir) emptyJournal(size int64) error {
	if err := d.journal.Truncate(size); err != nil {
		return err
	}
	_, err := d.journal.Seek(size, io.SeekStart)
	return err
}

// parsePlan parses a plan, which may come from anyone.
func parsePlan(line string) (plan, error) {
	var p plan
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return p, err
	}
	for _, name := range p.names() {
		if !IsName(name) {
			return p, fmt.Errorf("it names %s, which is not a file of this directory", printable.Quoted(name))
		}
	}
	if strings.Trim(p.Stage, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		return p, fmt.Errorf("%q is not a part of a file's name", p.Stage)
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

// begin writes the plan and creates its folders. From now on, the next run cleans up if this one cannot.
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

// commit records that all staged files are complete. If it fails, it restores the journal.
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

// finish renames the staged files, and removes unchanged files that the plan removes. A missing file was renamed or removed
// before.
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

// forget removes the staged files whose targets have changed meanwhile.
func (p plan) forget(d *Dir) {
	for _, name := range p.Write {
		if was, ok := p.Was[name]; ok && d.Sum(name) != was {
			_ = d.root.Remove(p.staged(name))
		}
	}
}

// undo removes the staged files, and the folders created for them. It ignores errors: a staged file is not a manifest, and a
// folder with content must stay.
func (p plan) undo(root *os.Root) {
	for _, name := range p.Write {
		_ = root.Remove(p.staged(name))
	}
	for _, folder := range slices.Backward(p.Make) {
		_ = root.Remove(folder)
	}
}
