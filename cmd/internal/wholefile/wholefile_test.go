package wholefile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/cmd/internal/wholefile"
	"github.com/trainweld/trainweld/internal/testenv"
)

func never() error { return nil }

func quiet(int, int) {}

// tree returns the contents of a directory, by the paths below it.
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

func open(t *testing.T, dir string) *wholefile.Dir {
	t.Helper()
	d, err := wholefile.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestWrite_SeveralDirectories changes two directories. If the second cannot be written, the error
// names the files of the first. A name that leads to no file of its directory changes none.
func TestWrite_SeveralDirectories(t *testing.T) {
	for _, tc := range []struct {
		name    string
		second  string
		prepare func(dir string) error
		want    string // in the error
	}{
		{"both", "deep/er/b.yaml", func(string) error { return nil }, ""},
		{"a directory in the place of a file", "b.yaml", func(dir string) error {
			return os.Mkdir(filepath.Join(dir, "b.yaml"), 0o777)
		}, "; nothing was changed"},
		{"a file in the place of a folder", "deep/b.yaml", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "deep"), nil, 0o666)
		}, "changed before: "},
		{"a link in the place of a folder", "deep/b.yaml", func(dir string) error {
			return os.Symlink(".", filepath.Join(dir, "deep"))
		}, "changed before: "},
		{"a name elsewhere", "../b.yaml", func(string) error {
			return nil
		}, "; nothing was changed"},
		{"a hidden folder", ".git/b.yaml", func(string) error {
			return nil
		}, "; nothing was changed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			work := t.TempDir()
			first, second := filepath.Join(work, "first"), filepath.Join(work, "second")
			if err := errors.Join(os.Mkdir(first, 0o777), os.Mkdir(second, 0o777),
				os.WriteFile(filepath.Join(first, "gone.yaml"), []byte("gone"), 0o666)); err !=
				nil {
				t.Fatal(err)
			}
			if err := tc.prepare(second); err != nil {
				t.Skip(err)
			}
			before := tree(t, work)
			all := []wholefile.Changes{{Dir: open(t, first)}, {Dir: open(t, second)}}
			all[0].Put("deep/a.yaml", []byte("a"))
			all[0].Delete("gone.yaml")
			all[1].Put(tc.second, []byte("b"))
			err := wholefile.Write(all, never, quiet)
			if err := errors.Join(all[0].Dir.Close(), all[1].Dir.Close()); err != nil {
				t.Fatal(err)
			}
			want := before
			switch {
			case tc.want == "":
				want = map[string]string{
					"first": "d---------", "first/deep": "d---------", "first/deep/a.yaml": "a",
					"second": "d---------", "second/deep": "d---------",
					"second/deep/er": "d---------", "second/deep/er/b.yaml": "b",
				}
			case strings.HasPrefix(tc.want, "changed before"):
				delete(want, "first/gone.yaml")
				want["first/deep"], want["first/deep/a.yaml"] = "d---------", "a"
				tc.want += filepath.Join(first, "deep", "a.yaml") + ", " +
					filepath.Join(first, "gone.yaml")
			}
			if (err != nil) != (tc.want != "") ||
				err != nil && !strings.HasSuffix(err.Error(), tc.want) {
				t.Errorf("Write() = %v, want %q", err, tc.want)
			}
			if diff := cmp.Diff(want, tree(t, work)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWrite_Within writes a directory and a folder of it, which share a new folder and the folder
// of a file.
func TestWrite_Within(t *testing.T) {
	dir := t.TempDir()
	all := []wholefile.Changes{{Dir: open(t, dir)}, {Dir: open(t, filepath.Join(dir, "b"))}}
	all[0].Put("b/c/a", []byte("outer"))
	all[0].Put("b/c/b", []byte("outer"))
	all[1].Put("c/a", []byte("inner"))
	if err := errors.Join(wholefile.Write(all, never, quiet), all[0].Dir.Close(),
		all[1].Dir.Close()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(
		map[string]string{"b": "d---------", "b/c": "d---------", "b/c/a": "inner",
			"b/c/b": "outer"}, tree(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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

// TestIsName tells names of files below a directory from others.
func TestIsName(t *testing.T) {
	for name, want := range map[string]bool{
		"a.yaml": true, "a/b.yaml": true, ".a": true, "a/.b": true, "a./b": true,
		`a\b`: filepath.Separator != '\\', "..a": true, "a..b/c": true,
		"": false, ".": false, "..": false, "../a": false, "a/..": false, "a/../b": false,
		"/a": false, "a/": false, "a//b": false, "./a": false, "a/./b": false, ".git/a": false,
		"a/.git/b": false,
		"a/b/.c/d": false, "a/../../b": false,
	} {
		if got := wholefile.IsName(name); got != want {
			t.Errorf("IsName(%q) = %t", name, got)
		}
	}
}

// TestDir reads, compares and changes files of one directory: it keeps permissions, replaces links,
// and follows none. Another hard link of a changed file keeps the old content.
func TestDir(t *testing.T) {
	work := t.TempDir()
	dir, outside := filepath.Join(work, "dir"), filepath.Join(work, "outside")
	if err := errors.Join(os.Mkdir(dir, 0o777), os.WriteFile(outside, []byte("outside"), 0o666),
		os.WriteFile(filepath.Join(dir, "run"), []byte("old"), 0o666),
		os.Chmod(filepath.Join(dir, "run"), 0o777),
		os.Mkdir(filepath.Join(dir, "folder"), 0o777),
		os.Link(filepath.Join(dir, "run"), filepath.Join(work, "run-too"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "gone"} {
		if err := os.Symlink("../outside", filepath.Join(dir, name)); err != nil {
			t.Skip("needs symbolic links: ", err)
		}
	}
	d := open(t, dir)
	if sum := d.Sum("run"); sum != wholefile.Sum([]byte("old")) || d.Sum("nothing") != "" ||
		d.Sum("link") != "unreadable" || d.Sum("folder") != "unreadable" {
		t.Errorf("Sum() = %q, %q, %q, %q", sum, d.Sum("nothing"), d.Sum("link"), d.Sum("folder"))
	}
	if text, err := d.ReadFile("run"); err != nil || string(text) != "old" {
		t.Errorf("ReadFile() = %q, %v", text, err)
	}
	if _, err := d.ReadFile("nothing"); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), filepath.Join(dir, "nothing")+":") {
		t.Errorf("ReadFile() = %v, want an error with the path", err)
	}
	files := []wholefile.File{{"run", []byte("old")}, {"new", []byte("new")},
		{"link", []byte("outside")}, {"new", []byte("other")}, {"empty", nil}}
	steps := []string{}
	changed, err := d.Changed(files, never, func(done, total int) {
		steps = append(steps, fmt.Sprint(done, "/", total))
	})
	if err != nil || fmt.Sprint(steps) != "[1/5 2/5 3/5 4/5 5/5]" || len(changed) != 4 ||
		changed[0].Name != "new" {
		t.Errorf("Changed() = %v, %v, with steps %s", changed, err, steps)
	}
	changes := wholefile.Changes{Dir: d, Write: changed}
	changes.Put("run", []byte("run"))
	changes.Delete("gone") // a link
	changes.Delete("folder")
	changes.Delete("nothing")
	if err := errors.Join(wholefile.Write([]wholefile.Changes{changes}, never, quiet),
		d.Close()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"outside": "outside", "run-too": "old", "dir": "d---------",
		"dir/run": "run",
		"dir/new": "new", "dir/empty": "", "dir/link": "outside", "dir/gone": "L---------",
		"dir/folder": "d---------"}
	if diff := cmp.Diff(want, tree(t, work)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	usual, err := os.Stat(outside) // without what the umask removes
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{"run": 0o777, "new": usual.Mode()} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil ||
			runtime.GOOS != "windows" && info.Mode() != mode {
			t.Errorf("%s has the mode %v, %v, want %v", name, info.Mode(), err, mode)
		}
	}
}

// TestWrite_Early stops a run at each place where it may stop. Each file is whole, of one state or
// the other, and the error names the changed ones. No staged file is left.
func TestWrite_Early(t *testing.T) {
	stop := errors.New("stop")
	for calls := range 6 {
		dir := t.TempDir()
		names := []string{"a", "b/c", "d"}
		for _, name := range append(names, "gone", "gone2") {
			testenv.WriteIn(t, dir, name, "old")
		}
		d, asked, mu := open(t, dir), 0, sync.Mutex{}
		changes := wholefile.Changes{Dir: d}
		for _, name := range names {
			changes.Put(name, []byte("new"))
		}
		changes.Delete("gone")
		changes.Delete("gone2")
		err := wholefile.Write([]wholefile.Changes{changes}, func() error {
			mu.Lock()
			defer mu.Unlock()
			if asked++; asked > calls {
				return stop
			}
			return nil
		}, quiet)
		if errors.Is(err, stop) != (calls < 5) {
			t.Errorf("after %d calls: %v", calls, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		files, changed := testenv.Tree(t, dir), []string{}
		for _, name := range append(names, "gone", "gone2") {
			if text, ok := files[name]; text != "old" {
				changed = append(changed, filepath.Join(dir, name))
				if ok && text != "new" {
					t.Errorf("after %d calls, %s is %q", calls, name, text)
				}
			}
			delete(files, name)
		}
		if len(files) > 0 {
			t.Errorf("after %d calls, %v are left", calls, files)
		}
		want := "; changed before: " + strings.Join(changed, ", ")
		if len(changed) == 0 {
			want = "; nothing was changed"
		}
		if len(changed) != min(calls, 5) || err != nil && err.Error() != "stop"+want {
			t.Errorf("after %d calls, %q are changed: %v", calls, changed, err)
		}
	}
}

// TestWrite_NewFolder stops a run that has made a folder, and no file in it.
func TestWrite_NewFolder(t *testing.T) {
	dir, stop := t.TempDir(), errors.New("stop")
	changes := wholefile.Changes{Dir: open(t, dir)}
	changes.Put("b/c", nil)
	err := wholefile.Write([]wholefile.Changes{changes}, func() error { return stop }, quiet)
	if err == nil || err.Error() != "stop; nothing was changed" {
		t.Errorf("Write() = %v", err)
	}
	if err := changes.Dir.Close(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(map[string]string{}, tree(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWrite_Edited changes a file when all new files are written. It stays, and the other files to
// remove go.
func TestWrite_Edited(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		testenv.WriteIn(t, dir, name, name)
	}
	changes := wholefile.Changes{Dir: open(t, dir)}
	changes.Put("new", nil)
	for _, name := range []string{"a", "b", "c"} {
		changes.Delete(name)
	}
	err := wholefile.Write([]wholefile.Changes{changes}, never, func(int, int) {
		testenv.WriteIn(t, dir, "b", "mine")
	})
	if err := errors.Join(err, changes.Dir.Close()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"b": "mine", "new": ""},
		testenv.Tree(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWrite_AtOnce writes a directory by several runs at once. Each file comes from one run, and
// nothing else is left.
func TestWrite_AtOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for run := range 8 {
		all.Go(func() {
			for range 25 {
				d, err := wholefile.Open(dir)
				if err != nil {
					t.Error(err)
					return
				}
				changes := wholefile.Changes{Dir: d}
				changes.Put("a", bytes.Repeat(fmt.Append(nil, run), 10_000))
				changes.Put(fmt.Sprint("of-", run), nil)
				if err := errors.Join(wholefile.Write([]wholefile.Changes{changes}, never, quiet),
					d.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	files := testenv.Tree(t, dir)
	if text := files["a"]; len(files) != 9 || len(text) != 10_000 ||
		strings.Trim(text, text[:1]) != "" {
		t.Errorf("%d files, and one of %d bytes", len(files), len(text))
	}
}

// TestOpen_Rejected opens paths that cannot be directories. The message says what to do, and all
// stays as it was.
func TestOpen_Rejected(t *testing.T) {
	for _, name := range []string{"file/dir", "file", "new/deep/" + strings.Repeat("x", 1000)} {
		work := t.TempDir()
		testenv.WriteIn(t, work, "file", "file")
		if d, err := wholefile.Open(filepath.Join(work, name)); err == nil ||
			!strings.Contains(err.Error(), "name a directory that can be written to") {
			t.Errorf("Open(%s) = %v, %v", name, d, err)
		}
		if diff := cmp.Diff(map[string]string{"file": "file"}, tree(t, work)); diff != "" {
			t.Errorf("Open(%s) (-want +got):\n%s", name, diff)
		}
	}
}
