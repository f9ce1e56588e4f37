// Package ownfile reads trainweld's own files: lists, options and goldens. They have known names in
// directories that others write to. So the package opens regular files only, follows no link, and
// reads at most [Limit] bytes.
//
//	data, err := ownfile.Read(root, ".trainweld-files")
//
// Its first file to read is ownfile.go.
package ownfile

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Limit is the size of the largest file that is read, in bytes, as for manifests.
const Limit = 64 << 20

// Open opens a regular file of the directory, or returns an error. It never waits for the writer of
// a named pipe or for a device.
func Open(root *os.Root, name string) (*os.File, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if err := Check(name, before); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|NoFollow, 0)
	if err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("replaced while it was opened")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Check returns an error for any file that is not regular.
func Check(name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	kind := "special file"
	switch mode := info.Mode(); {
	case mode.IsDir():
		kind = "directory"
	case mode&fs.ModeSymlink != 0:
		kind = "symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		kind = "named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "socket"
	case mode&fs.ModeDevice != 0:
		kind = "device"
	}
	return &fs.PathError{
		Op: "open", Path: name, Err: fmt.Errorf("is a %s: must be a regular file", kind)}
}

// Read reads a regular file of the directory. It returns an error for a larger file than Limit.
func Read(root *os.Root, name string) ([]byte, error) {
	f, err := Open(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // reading only
	return readLimited(name, f)
}

// ReadFS reads a regular file of a file system. It assumes no links if the file system does not
// implement fs.ReadLinkFS.
func ReadFS(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Lstat(fsys, name)
	if err != nil {
		return nil, err
	}
	if err := Check(name, info); err != nil {
		return nil, err
	}
	return ReadInput(fsys, name)
}

// ReadInput reads any file, such as an input that is a link.
func ReadInput(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // reading only
	return readLimited(name, f)
}

func readLimited(name string, f fs.File) ([]byte, error) {
	var b bytes.Buffer
	info, err := f.Stat()
	isLarge := err == nil && info.Size() > Limit
	if err == nil && !isLarge {
		b.Grow(int(info.Size()) + bytes.MinRead)
		_, err = b.ReadFrom(io.LimitReader(f, Limit+1))
	}
	if err != nil {
		return nil, err
	}
	if isLarge || b.Len() > Limit {
		return nil, &fs.PathError{
			Op: "read", Path: name, Err: fmt.Errorf("must be at most %d MiB", Limit>>20)}
	}
	return b.Bytes(), nil
}
