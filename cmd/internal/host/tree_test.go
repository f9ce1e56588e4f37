package host

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestCopy copies folders with links. A link may lead out of the folder by way of another one.
func TestCopy(t *testing.T) {
	for _, tc := range []struct {
		name  string
		links map[string]string
		bad   string
	}{
		{name: "no link"},
		{name: "links within", links: map[string]string{"a": "dir/file", "dir/b": "../dir", "c": "nowhere"}},
		{name: "absolute", links: map[string]string{"a": os.TempDir()}, bad: `"a" is a link out of the tree`},
		{name: "above", links: map[string]string{"dir/a": "../../x"}, bad: `"dir/a" is a link out of the tree`},
		{name: "by way of another", links: map[string]string{"dir/up": "..", "out": "dir/up/../x"}, bad: `"out" is a link out of the tree`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			above := t.TempDir()
			from, to := filepath.Join(above, "from"), filepath.Join(above, "to")
			for _, dir := range []string{filepath.Join(from, "dir"), to} {
				if err := os.MkdirAll(dir, 0o777); err != nil {
					t.Fatal(err)
				}
			}
			for _, file := range []string{"from/dir/file", "x"} {
				if err := os.WriteFile(filepath.Join(above, file), []byte("text"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			for name, target := range tc.links {
				if err := os.Symlink(target, filepath.Join(from, name)); err != nil {
					t.Fatal(err)
				}
			}
			names, err := filesBelow(from)
			if err != nil {
				t.Fatal(err)
			}
			err = copyFiles(from, names, to)
			if tc.bad != "" {
				if err == nil || !strings.Contains(err.Error(), tc.bad) {
					t.Errorf("copyFiles() = %v, want %q", err, tc.bad)
				}
				return
			}
			if text, errRead := os.ReadFile(filepath.Join(to, "dir", "file")); err != nil || errRead != nil || string(text) != "text" {
				t.Errorf("copyFiles() = %v; the file is %q, %v", err, text, errRead)
			}
		})
	}
}

// TestFilesBelow lists a folder without repositories in it, and copies the files that still exist.
func TestFilesBelow(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for _, name := range []string{"a", "dir/b", ".git/HEAD", "module/.git", "module/c", "module/d/e"} {
		write(t, filepath.Join(from, name), name, 0o666)
	}
	names, err := filesBelow(from)
	if want := []string{"a", "dir/b", "module/c", "module/d/e"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("filesBelow() = %q, %v, want %q", names, err, want)
	}
	if names, err := filesBelow(filepath.Join(from, "missing")); err == nil {
		t.Errorf("filesBelow() of nothing = %q", names)
	}
	if err := copyFiles(from, append([]string{"gone", "dir"}, names...), to); err != nil {
		t.Error(err)
	}
	if copied, err := filesBelow(to); err != nil || !slices.Equal(copied, names) {
		t.Errorf("copied are %q, %v, want %q", copied, err, names)
	}
}

// TestCopying_Circle copies links that lead back to themselves, and on Linux names that differ in case.
func TestCopying_Circle(t *testing.T) {
	c := copying{files: []copied{{name: "a", link: "b"}, {name: "b", link: "a/c"}}}
	if runtime.GOOS == "linux" {
		c.files = append(c.files, copied{name: "dir", link: "nowhere"}, copied{name: "DIR/link", link: "x"})
	}
	if err := c.write(t.TempDir()); err != nil {
		t.Error(err)
	}
}
