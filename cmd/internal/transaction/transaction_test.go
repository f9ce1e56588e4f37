package transaction_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/cmd/internal/transaction"
)

func never() error { return nil }

func quiet(int, int) {}

// tree is what a directory holds, by the paths below it.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if files[name] = e.Type().String(); e.Type().IsRegular() {
			text, err := os.ReadFile(filepath.Join(dir, name))
			files[name] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func open(t *testing.T, dir string) *transaction.Dir {
	t.Helper()
	d, err := transaction.Open(dir, never)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestWrite_SeveralDirectories changes two directories: both, or where one cannot be written, neither.
func TestWrite_SeveralDirectories(t *testing.T) {
	for _, tc := range []struct {
		name    string
		second  string
		prepare func(dir string) error
		fails   bool
	}{
		{"both", "deep/er/b.yaml", func(string) error { return nil }, false},
		{"a directory in the place of a file", "b.yaml", func(dir string) error { return os.Mkdir(filepath.Join(dir, "b.yaml"), 0o777) }, true},
		{"a file in the place of a folder", "deep/b.yaml", func(dir string) error { return os.WriteFile(filepath.Join(dir, "deep"), nil, 0o666) }, true},
		{"a link in the place of a folder", "deep/b.yaml", func(dir string) error { return os.Symlink(".", filepath.Join(dir, "deep")) }, true},
		{"a name elsewhere", "../b.yaml", func(string) error { return nil }, true},
		{"a hidden folder", ".git/b.yaml", func(string) error { return nil }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			work := t.TempDir()
			first, second := filepath.Join(work, "first"), filepath.Join(work, "second")
			if err := errors.Join(os.Mkdir(first, 0o777), os.Mkdir(second, 0o777), os.WriteFile(filepath.Join(first, "gone.yaml"), []byte("gone"), 0o666)); err != nil {
				t.Fatal(err)
			}
			if err := tc.prepare(second); err != nil {
				t.Skip(err)
			}
			before := tree(t, work)
			all := []transaction.Changes{{Dir: open(t, first)}, {Dir: open(t, second)}}
			all[0].Put("deep/a.yaml", []byte("a"))
			all[0].Delete("gone.yaml")
			all[1].Put(tc.second, []byte("b"))
			err := transaction.Write(all, never, quiet)
			if err := errors.Join(all[0].Dir.Close(), all[1].Dir.Close()); err != nil {
				t.Fatal(err)
			}
			want := before
			if !tc.fails {
				want = map[string]string{
					"first": "d---------", "first/deep": "d---------", "first/deep/a.yaml": "a",
					"second": "d---------", "second/deep": "d---------", "second/deep/er": "d---------", "second/deep/er/b.yaml": "b",
				}
			}
			if (err != nil) != tc.fails {
				t.Errorf("Write() = %v", err)
			}
			if diff := cmp.Diff(want, tree(t, work)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOpen_Interrupted waits for another run until it is interrupted, and leaves what that run holds.
func TestOpen_Interrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	other := open(t, dir)
	signal := errors.New("signal")
	if _, err := transaction.Open(dir, func() error { return signal }); !errors.Is(err, signal) {
		t.Errorf("Open() = %v, want %v", err, signal)
	}
	changes := transaction.Changes{Dir: other}
	changes.Put("a.yaml", []byte("a"))
	if err := errors.Join(transaction.Write([]transaction.Changes{changes}, never, quiet), other.Close()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a.yaml": "a"}, tree(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOpen_Untouched makes a directory in which nothing is written then.
func TestOpen_Untouched(t *testing.T) {
	work := t.TempDir()
	if err := open(t, filepath.Join(work, "deep", "dir")).Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{}, tree(t, work)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
