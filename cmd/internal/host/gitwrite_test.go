package host

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestGitFiles_Write writes a revision: regular files, and links within the tree. Names need not be
// UTF-8.
func TestGitFiles_Write(t *testing.T) {
	dir := repository(t)
	odd := "odd"
	if runtime.GOOS == "linux" {
		odd = "in\n\xfe"
	}
	write(t, filepath.Join(dir, odd, "run"), "run", 0o777)
	for name, target := range map[string]string{"link": "dir/file", "dir/up": "../" + odd,
		"out": "../outside", "absolute": os.TempDir(), "by": "dir/up/../../x", "circle": "circle"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("needs symbolic links: ", err)
		}
	}
	plainGit(t, dir, "", "add", ".")
	plainGit(t, dir, "", "update-index", "--add", "--cacheinfo",
		"160000,"+strings.Repeat("1", 40)+",module")
	plainGit(t, dir, "", "commit", "-qm", "b")
	t.Chdir("dir")
	r, err := OpenRevision("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := errors.Join(r.Write(to), r.Close()); err != nil || r.Root() != dir {
		t.Fatalf("Write() = %v, of %s", err, r.Root())
	}
	got := map[string]string{}
	err = filepath.WalkDir(to, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, _ := os.ReadFile(name)
		below, _ := filepath.Rel(to, name)
		got[filepath.ToSlash(below)] = fmt.Sprintf("%v %s", e.Type(), text)
		return err
	})
	want := map[string]string{"dir/file": "---------- text", odd + "/run": "---------- run",
		"link": "L--------- text", "dir/up": "L--------- ", "circle": "L--------- "}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("Write() made %q, %v, want %q", got, err, want)
	}
}

// TestGitFiles_Write_Refused writes revisions with names that lead out of the tree, and a second
// file of one name. Nothing is written outside.
func TestGitFiles_Write_Refused(t *testing.T) {
	dir := repository(t)
	for name, want := range map[string]string{
		"../a": "must be below its root", "a/../../b": "must be below its root",
		".git/hook": "outside of .git", "x/.GIT/hook": "outside of .git",
		"/a": "must be below its root",
	} {
		t.Chdir(dir)
		r, err := OpenRevision("HEAD")
		if err != nil {
			t.Fatal(err)
		}
		r.tree[name] = r.tree["dir/file"]
		to := t.TempDir()
		if err := r.Write(to); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Write() of %s = %v, want %q", name, err, want)
		}
		if entries, err := os.ReadDir(to); err != nil || len(entries) > 0 {
			t.Errorf("Write() wrote %v, %v before it failed", entries, err)
		}
		delete(r.tree, name)
		if err := os.MkdirAll(filepath.Join(to, "dir"), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(to, "own"), "own", 0o600)
		if err := os.Symlink("../own", filepath.Join(to, "dir", "file")); err != nil {
			t.Skip("needs symbolic links: ", err)
		}
		if err := r.Write(to); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a second file of one name: %v", err)
		}
		if text, err := os.ReadFile(filepath.Join(to, "own")); err != nil || string(text) != "own" {
			t.Errorf("a link was written through: %q, %v", text, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestGitFiles_Write_Large writes a revision whose files are larger than a build may read. Its
// folder stays empty.
func TestGitFiles_Write_Large(t *testing.T) {
	const size = 64 << 20
	large := filepath.Join(repository(t), "large")
	if err := errors.Join(os.WriteFile(large, nil, 0o666), os.Truncate(large, size)); err != nil {
		t.Fatal(err)
	}
	plainGit(t, ".", "", "add", ".")
	plainGit(t, ".", "", "commit", "-qm", "b")
	r, err := OpenRevision("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	for i := range mostWritten / size {
		r.tree[fmt.Sprint("large", i)] = r.tree["large"]
	}
	to := t.TempDir()
	err = r.Write(to)
	if entries, _ := os.ReadDir(to); err == nil ||
		!strings.Contains(err.Error(), "is larger than 1024 MiB") || len(entries) > 0 {
		t.Errorf("Write() = %v, and wrote %v", err, entries)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestGitFiles_Write_Link writes into a folder in which a link stands for a folder of the revision.
// Nothing is written through it.
func TestGitFiles_Write_Link(t *testing.T) {
	repository(t)
	r, err := OpenRevision("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	to, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(to, "dir")); err != nil {
		t.Skip("needs symbolic links: ", err)
	}
	err = r.Write(to)
	if entries, _ := os.ReadDir(outside); err == nil || len(entries) > 0 {
		t.Errorf("Write() = %v, and wrote %v", err, entries)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
