package host

import (
	"os"
	"path/filepath"
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
