package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestOverlay_Copy copies a tree with changes, under the names of files and of links to them. A change outside of it is not copied.
func TestOverlay_Copy(t *testing.T) {
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
	to := t.TempDir()
	if _, err := files.Copy(to); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"dir/file": "changed", "link": "changed", "same": "same"} {
		if text, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v, want %q", name, text, err, want)
		}
	}
	if names, err := filesBelow(to); err != nil || len(names) != 3 {
		t.Errorf("copied are %q, %v", names, err)
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "outside" {
		t.Errorf("the file outside is %q, %v", text, err)
	}
	if _, err := files.Copy(filepath.Join(to, "missing")); err == nil {
		t.Error("Copy() writes into nothing")
	}
}
