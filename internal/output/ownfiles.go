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

	"github.com/trainweld/trainweld/internal/transaction"
)

// OwnFilesName is the list of the files that trainweld has written into a directory, which --prune keeps there.
// It is what sha256sum writes and, with -c, checks: a line for each file, sorted by name, of the SHA-256 sum of
// what was written, two spaces and the name. Nothing in it changes from run to run unless the files do.
const OwnFilesName = ".trainweld-files"

// ownFiles are the sums of the files by their names; nil if a directory has no such list.
type ownFiles map[string]string

func readOwnFiles(dir *transaction.Dir, at string) (ownFiles, error) {
	path := filepath.Join(at, OwnFilesName)
	data, err := dir.ReadFile(OwnFilesName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	own := ownFiles{}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if line == "" {
			continue
		}
		sum, name, ok := strings.Cut(line, "  ")
		if decoded, err := hex.DecodeString(sum); !ok || err != nil || len(decoded) != sha256.Size || !transaction.IsName(name) || strings.Contains(name, "/") {
			return nil, fmt.Errorf("%s:%d: %q is no sum and name of a file of this directory; restore the list, or remove it, so that nothing is pruned", path, i+1, line)
		}
		own[name] = sum
	}
	return own, nil
}

// text is the list as it stands in the directory.
func (o ownFiles) text() []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(o)) {
		fmt.Fprintf(&b, "%s  %s\n", o[name], name)
	}
	return b.Bytes()
}

// next is the list after a run that makes other files, with what is to be removed: what is in the list, no
// longer made, and as it was written. What somebody has edited stays, in the list, too; what is gone is
// forgotten. Without pruning, everything stays.
func (o ownFiles) next(dir *transaction.Dir, made ownFiles, prune bool) (list ownFiles, remove map[string]string, edited []string) {
	list, remove = maps.Clone(made), map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if _, again := made[name]; again {
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
