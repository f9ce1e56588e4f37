package output

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/cmd/internal/wholefile"
	"github.com/trainweld/trainweld/internal/testenv"
)

// directory makes a directory that holds the files.
func directory(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func fileOf(name, text string) wholefile.File {
	return wholefile.File{Name: name, Text: func() ([]byte, error) { return []byte(text), nil }}
}

// never interrupts nothing.
func never() error { return nil }

// writeDir writes files that do not count as trainweld's own.
func writeDir(dir string, files []wholefile.File) error {
	_, err := Dir{Path: dir, Step: func(string, int, int) {}}.Write(files, never)
	return err
}

func TestWriteDir_Links(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	if err := os.WriteFile(outside, []byte("outside"), 0o666); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "a.yaml.trainweld-new", "b.yaml.trainweld-new"} {
		if err := os.Symlink(outside, filepath.Join(dir, name)); err != nil {
			t.Skip("needs symbolic links: ", err)
		}
	}
	if err := writeDir(
		dir, []wholefile.File{fileOf("a.yaml", "a"), fileOf("b.yaml", "b")}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(outside); string(text) != "outside" {
		t.Errorf("a file outside of the directory was written: %q, %v", text, err)
	}
	want := map[string]string{"a.yaml": "a", "b.yaml": "b", "a.yaml.trainweld-new": "outside",
		"b.yaml.trainweld-new": "outside"}
	if diff := cmp.Diff(want, testenv.Tree(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if info, err := os.Lstat(filepath.Join(dir, "a.yaml")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the link is still there: %v, %v", info, err)
	}
}

func TestWriteDir_Permissions(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": "old"})
	path := filepath.Join(dir, "a.yaml")
	// Whatever the process' own mask is, one of these would not survive it.
	for _, mode := range []os.FileMode{0o600, 0o664, 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := writeDir(dir, []wholefile.File{fileOf("a.yaml", mode.String())}); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%v, %v; want %v", info.Mode(), err, mode)
		}
	}
}
