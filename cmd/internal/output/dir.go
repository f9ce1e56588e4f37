package output

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/printable"
	"github.com/trainweld/trainweld/cmd/internal/wholefile"
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

// OwnFilesName is the list of the files that trainweld has written into a directory. The flag
// --prune maintains it, and sha256sum -c can check it. Each line has the SHA-256 sum of the written
// content, two spaces and the name, sorted by name. The list changes only when files do.
const OwnFilesName = ".trainweld-files"

// mostOwnFiles is the number of files in a list. A stranger's list could fill half a gigabyte.
const mostOwnFiles = 1 << 18

// ownFiles maps names to sums. It is nil if a directory has no list.
type ownFiles map[string]string

// readOwnFiles reads the list of a directory at a path.
func readOwnFiles(dir interface{ ReadFile(string) ([]byte, error) }, at string) (ownFiles, error) {
	path := filepath.Join(at, OwnFilesName)
	data, err := dir.ReadFile(OwnFilesName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if bytes.Count(data, []byte("\n")) > mostOwnFiles {
		return nil, fmt.Errorf("%s names more than %d files; remove it, so that nothing is pruned",
			path, mostOwnFiles)
	}
	own := ownFiles{}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if line == "" {
			continue
		}
		sum, name, ok := strings.Cut(line, "  ")
		if decoded, err := hex.DecodeString(sum); !ok || err != nil ||
			len(decoded) != sha256.Size || !wholefile.IsName(name) {
			return nil, fmt.Errorf(
				"%s:%d: is no sum and name of a file of this directory; restore the list, or "+
					"remove it, so that nothing is pruned", path, i+1)
		}
		own[name] = sum
	}
	return own, nil
}

// text returns the content of the list's file.
func (o ownFiles) text() []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(o)) {
		fmt.Fprintf(&b, "%s  %s\n", o[name], name)
	}
	return b.Bytes()
}

// next returns the list after a run, the files to remove and the edited files. It removes the
// listed files that the run no longer makes. Edited files stay, also in the list, and missing ones
// leave the list. Without prune, all stay.
func (o ownFiles) next(dir *wholefile.Dir, made ownFiles,
	prune bool) (list ownFiles, remove map[string]string, edited []string) {
	list, remove = maps.Clone(made), map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if _, isDuplicate := made[name]; isDuplicate {
			continue
		}
		sum := dir.Sum(name)
		switch {
		case !prune:
			list[name] = o[name]
		case sum == "":
		case sum == o[name]:
			remove[name] = sum
		default:
			list[name] = o[name]
			edited = append(edited, name)
		}
	}
	return list, remove, edited
}
