package playground

import (
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/trainweld/trainweld/cmd/internal/host"
)

// files is a file system with one folder, for paths of any form.
type files map[string]string

func (f files) Open(name string) (fs.File, error) {
	info, err := f.Stat(name)
	if err != nil {
		return nil, err
	}
	return info.(fs.File), nil
}

func (f files) Stat(name string) (fs.FileInfo, error) {
	name = path.Clean(name)
	text, ok := f[name]
	switch {
	case name == ".":
		return folder{host.NewMemoryFile(name, nil)}, nil
	case !ok:
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return host.NewMemoryFile(name, []byte(text)), nil
}

func (f files) ReadDir(name string) ([]fs.DirEntry, error) {
	if path.Clean(name) != "." {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	var entries []fs.DirEntry
	for _, name := range slices.Sorted(maps.Keys(f)) {
		entries = append(entries, fs.FileInfoToDirEntry(host.NewMemoryFile(name, []byte(f[name]))))
	}
	return entries, nil
}

// folder is the open folder, and its description.
type folder struct{ host.MemoryFile }

func (f folder) Stat() (fs.FileInfo, error) { return f, nil }
func (f folder) Mode() fs.FileMode          { return fs.ModeDir | 0o555 }
func (f folder) IsDir() bool                { return true }
