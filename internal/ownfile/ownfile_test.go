package ownfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/internal/ownfile"
)

// TestRead reads a regular file up to the limit, and nothing else.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, size := range map[string]int64{"small": 5, "large": ownfile.Limit + 1} {
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
		{"small", ""}, {"large", "must be at most 64 MiB"},
		{"link", "is a symbolic link: must be a regular file"}, {".", "is a directory: must be a regular file"},
	} {
		data, err := ownfile.Read(root, tc.name)
		_, errFS := ownfile.ReadFS(os.DirFS(dir), tc.name)
		for _, err := range []error{err, errFS} {
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Read(%s) = %d bytes, %v; want %q", tc.name, len(data), err, tc.want)
			}
		}
	}
}
