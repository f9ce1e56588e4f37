package ownfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/trainweld/trainweld/cmd/internal/ownfile"
)

// TestRead reads a regular file up to the limit, and nothing else.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, size := range map[string]int64{"small": 5, "most": ownfile.Limit,
		"large": ownfile.Limit + 1} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("small", filepath.Join(dir, "link")); err != nil {
		t.Skip("needs symbolic links: ", err)
	}
	for _, tc := range []struct{ name, want string }{
		{"small", ""}, {"most", ""}, {"large", "must be at most 64 MiB"},
		{"link", "is a symbolic link: must be a regular file"},
		{".", "is a directory: must be a regular file"},
	} {
		data, err := ownfile.Read(root, tc.name)
		_, errFS := ownfile.ReadFS(os.DirFS(dir), tc.name)
		for _, err := range []error{err, errFS} {
			if (err == nil) != (tc.want == "") ||
				err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Read(%s) = %d bytes, %v; want %q", tc.name, len(data), err, tc.want)
			}
		}
	}
}

// TestReadFS names the kind of a file that is not regular. It reads a file that grows only up to
// the limit.
func TestReadFS(t *testing.T) {
	files := fstest.MapFS{
		"pipe": {Mode: fs.ModeNamedPipe}, "socket": {Mode: fs.ModeSocket},
		"device": {Mode: fs.ModeDevice}, "irregular": {Mode: fs.ModeIrregular},
	}
	for name, want := range map[string]string{
		"pipe": "is a named pipe: must be a regular file", "socket": "is a socket: must be",
		"device": "is a device: must be", "irregular": "is a special file: must be",
	} {
		if data, err := ownfile.ReadFS(files, name); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("ReadFS(%s) = %q, %v; want %q", name, data, err, want)
		}
	}
	for size, want := range map[int]string{
		ownfile.Limit: "", ownfile.Limit + 1: "must be at most 64 MiB"} {
		if data, err := ownfile.ReadFS(growing{files, size}, "file"); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("ReadFS() of a file that grows to %d bytes = %d bytes, %v; want %q", size,
				len(data), err, want)
		}
	}
	if data, err := ownfile.ReadFS(unreadable{files}, "file"); !errors.Is(err, errGone) {
		t.Errorf("ReadFS() of a file that cannot be described = %q, %v", data, err)
	}
}

// growing is a file system with a file that seems empty, and has a size.
type growing struct {
	fstest.MapFS
	size int
}

func (growing) Lstat(string) (fs.FileInfo, error) { return fstest.MapFS{"file": {}}.Stat("file") }

func (g growing) Open(string) (fs.File, error) {
	f, err := fstest.MapFS{"file": {Data: make([]byte, g.size)}}.Open("file")
	return grown{f}, err
}

type grown struct{ fs.File }

func (grown) Stat() (fs.FileInfo, error) { return fstest.MapFS{"file": {}}.Stat("file") }

// unreadable is a file system with a file that is gone when it is open.
type unreadable struct{ fstest.MapFS }

var errGone = errors.New("gone")

func (unreadable) Lstat(string) (fs.FileInfo, error) {
	return fstest.MapFS{"file": {}}.Stat("file")
}

func (unreadable) Open(string) (fs.File, error) {
	f, err := fstest.MapFS{"file": {Data: []byte("text")}}.Open("file")
	return gone{f}, err
}

type gone struct{ fs.File }

func (gone) Stat() (fs.FileInfo, error) { return nil, errGone }
