package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestOverlay reads changed files, also by links to them. The files of the disk stay.
func TestOverlay(t *testing.T) {
	dir := repository(t)
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, outside, "outside", 0o666)
	write(t, filepath.Join(dir, "same"), "same", 0o666)
	if err := os.Symlink("dir/file", filepath.Join(dir, "link")); err != nil {
		t.Skip("needs symbolic links: ", err)
	}
	files := NewOverlay(Files{})
	files.Change("link", []byte("changed"))
	files.Change(outside, []byte("changed"))
	if text, err := fs.ReadFile(files, "dir/file"); err != nil || string(text) != "changed" {
		t.Errorf("the file is %q, %v", text, err)
	}
	for name, isDir := range map[string]bool{"dir": true, "dir/file": false} {
		f, err := files.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := f.Stat(); err != nil || info.IsDir() != isDir {
			t.Errorf("%s is %v, %v", name, info, err)
		}
		f.Close() // reading only
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "outside" {
		t.Errorf("the file outside is %q, %v", text, err)
	}
}
