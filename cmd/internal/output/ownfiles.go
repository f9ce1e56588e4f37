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

	"github.com/trainweld/trainweld/cmd/internal/wholefile"
)

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
