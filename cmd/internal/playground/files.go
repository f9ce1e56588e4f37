package playground

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// files is a file system with one folder, for paths of any form.
type files map[string]string

func (f files) Open(name string) (fs.File, error) {
	info, err := f.Stat(name)
	if err != nil {
		return nil, err
	}
	return &file{strings.NewReader(f[path.Clean(name)]), info}, nil
}

func (f files) Stat(name string) (fs.FileInfo, error) {
	name = path.Clean(name)
	text, ok := f[name]
	if !ok && name != "." {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return fileInfo{name, int64(len(text))}, nil
}

func (f files) ReadDir(name string) ([]fs.DirEntry, error) {
	if path.Clean(name) != "." {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	var entries []fs.DirEntry
	for _, name := range slices.Sorted(maps.Keys(f)) {
		entries = append(entries, fs.FileInfoToDirEntry(fileInfo{name, int64(len(f[name]))}))
	}
	return entries, nil
}

// file is an open file.
type file struct {
	*strings.Reader
	info fs.FileInfo
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

// fileInfo describes a file, or the folder.
type fileInfo struct {
	name string
	size int64
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return i.name == "." }
func (i fileInfo) Sys() any           { return nil }

func (i fileInfo) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
