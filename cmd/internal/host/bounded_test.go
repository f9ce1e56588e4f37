package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
)

// TestBounded_Swapped replaces a folder by a link out of the tree after its path was found to be
// within it.
func TestBounded_Swapped(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "outside", "a"), "secret", 0o666)
	write(t, filepath.Join(dir, "repository", "sub", "a"), "text", 0o666)
	root, sub := filepath.Join(dir, "repository"), filepath.Join(dir, "repository", "sub")
	b := &bounded{Tree: swapping{Files{}, func() {
		if err := errors.Join(os.RemoveAll(sub), os.Symlink("../outside", sub)); err != nil {
			t.Skip("needs symbolic links: ", err)
		}
	}}, roots: []string{root}}
	if data, err := fs.ReadFile(b, filepath.Join(sub, "a")); err == nil {
		t.Errorf("the file outside is read: %q", data)
	}
}

// swapping are files that change after the path of one was resolved.
type swapping struct {
	Files
	swap func()
}

func (s swapping) Real(name string) (string, error) {
	real, err := s.Files.Real(name)
	s.swap()
	return real, err
}

// TestBounded opens files of trees. A tree is a repository, or the working directory, or the folder
// that is named.
func TestBounded(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"outside", "repository/a", "repository/sub/a",
		"repository/inner/.git/HEAD", "repository/inner/a", "repository/in[ner/.git/HEAD",
		"repository/in[ner/a", "repository/.git/HEAD", "repository/git~1/HEAD", "other/.git/HEAD",
		"other/a", "plain/a", "plain/sub/a"} {
		write(t, filepath.Join(dir, name), name, 0o666)
	}
	for name, to := range map[string]string{
		"repository/in": "sub/a", "repository/out": "../outside",
		"repository/absolute": filepath.Join(dir, "outside"), "repository/other": "../other",
		"plain/up": "../outside", "repository/nothing": "missing",
		"repository/own": ".git/HEAD", "repository/folder": ".git",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("needs symbolic links: ", err)
		}
	}
	for _, tc := range []struct {
		here, named, file string
		want              error
		reason            string
	}{
		{"repository", ".", "a", nil, "a file of the repository"},
		{"repository/sub", ".", "../a", nil, "a repository is larger than the working directory"},
		{"repository", ".", "in", nil, "a link within the repository"},
		{"repository", ".", "out", ErrOutside, "a link out of it"},
		{"repository", ".", "absolute", ErrOutside, "a link out of it by its whole path"},
		{"repository", ".", "../outside", ErrOutside, "a path out of it"},
		{"repository", ".", "nothing", fs.ErrNotExist, "a link to nothing"},
		{"repository", ".", ".git/HEAD", ErrOutside, "a file of git"},
		{"repository", ".", "git~1/HEAD", ErrOutside, "a file of git by the short name of Windows"},
		{"repository", ".", "own", ErrOutside, "a link to a file of git"},
		{"repository", ".", "inner/.git/HEAD", ErrOutside,
			"a file of git of a repository in another one"},
		{"repository", "inner", "inner/a", nil, "a repository in another one"},
		{"repository", "inner", "a", ErrOutside,
			"a repository in another one is a tree of its own"},
		{"repository", "other", "other/a", ErrOutside,
			"a link to another repository leads out of this one"},
		{"repository", "in[ner", "a", ErrOutside, "a repository whose name looks like a pattern"},
		{"repository", "su*", "sub/a", nil, "a pattern"},
		{"plain", ".", "sub/a", nil, "without a repository, the working directory"},
		{"plain", ".", "up", ErrOutside, "a link out of the working directory"},
		{"plain/sub", "../a", "../a", nil, "a named file elsewhere"},
		{"plain/sub", "..", "../a", nil, "a named folder elsewhere"},
		{"plain/sub", "../a", "../../outside", ErrOutside, "what lies above a named file"},
		{"plain/sub", "missing/*", "a", nil, "a pattern in the working directory"},
		{"plain/sub", "../../missing", "a", ErrOutside,
			"a named folder that is missing has no files"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Chdir(filepath.Join(dir, tc.here))
			bounded := Bounded(Files{}, tc.named)
			data, err := fs.ReadFile(bounded, tc.file)
			if !errors.Is(err, tc.want) || (tc.want == nil) != (len(data) > 0) {
				t.Errorf("ReadFile(%s) = %q, %v; want %v", tc.file, data, err, tc.want)
			}
			if _, err := fs.Stat(bounded, tc.file); !errors.Is(err, tc.want) {
				t.Errorf("Stat(%s) = %v, want %v", tc.file, err, tc.want)
			}
		})
	}
	t.Chdir(filepath.Join(dir, "repository"))
	links := Bounded(Files{}, ".").(*bounded)
	if to, err := links.ReadLink("in"); err != nil || to != "sub/a" {
		t.Errorf("ReadLink(in) = %q, %v", to, err)
	}
	if info, err := links.Lstat("out"); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("Lstat(out) = %v, %v", info, err)
	}
	for _, name := range []string{"other/a", "../outside"} {
		_, errLink := links.ReadLink(name)
		_, errInfo := links.Lstat(name)
		if !errors.Is(errLink, ErrOutside) || !errors.Is(errInfo, ErrOutside) {
			t.Errorf("%s: ReadLink() = %v, Lstat() = %v", name, errLink, errInfo)
		}
	}
	var names []string
	entries, err := links.ReadDir(".")
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || !slices.IsSorted(names) || len(names) != 13 {
		t.Errorf("ReadDir() = %q, %v", names, err)
	}
	for name, want := range map[string]bool{
		".": false, "sub": false, "new/deep": false, "other": true, "other/new/deep": true,
		"../other": false, "../plain": false, "../plain/missing": false,
		filepath.Join(dir, "repository", "other"): true, "in": false, "nothing/new": false,
		"folder": true, "folder/new/deep": true,
	} {
		if got := LeadsOut(name); got != want {
			t.Errorf("LeadsOut(%s) = %t", name, got)
		}
	}
	t.Chdir(filepath.Join(dir, "plain"))
	if err := os.Symlink("../other", "other"); err != nil {
		t.Fatal(err)
	}
	if LeadsOut("other") {
		t.Error("a link leads out of a folder that is not a repository")
	}
	t.Chdir(dir)
	folder := BoundedFolder(filepath.Join(dir, "plain"))
	for name, want := range map[string]error{"a": nil, "sub/a": nil, "../outside": fs.ErrInvalid,
		"missing": fs.ErrNotExist} {
		if _, err := fs.ReadFile(folder, name); !errors.Is(err, want) {
			t.Errorf("ReadFile(%s) of a folder = %v, want %v", name, err, want)
		}
	}
	if memory := (fstest.MapFS{"a": {Data: []byte("a")}}); len(
		Bounded(memory).(fstest.MapFS)) != 1 {
		t.Error("files of another kind are not returned as they are")
	}
}

// TestBoundedFolder opens files below its folder, and no other ones.
func TestBoundedFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"outside", "in/side\xff"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777),
			os.WriteFile(file, []byte("text"), 0o666)); err != nil {
			t.Skip("needs names that are not UTF-8: ", err)
		}
	}
	folder := BoundedFolder(filepath.Join(dir, "in")).(Tree)
	for name, want := range map[string]error{"side\xff": nil, "../outside": fs.ErrInvalid,
		"/outside": fs.ErrInvalid, "missing": fs.ErrNotExist} {
		f, err := folder.Open(name)
		if !errors.Is(err, want) || (f == nil) != (want != nil) {
			t.Errorf("Open(%q) = %v, %v; want %v", name, f, err, want)
		}
		if f != nil {
			f.Close() // reading only
		}
		if _, err := folder.Stat(name); !errors.Is(err, want) {
			t.Errorf("Stat(%q) = %v, want %v", name, err, want)
		}
	}
}
