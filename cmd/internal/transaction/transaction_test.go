package transaction_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
	for tries := 0; openJournals() > 0; tries++ { // what waited lets go of the journal
		if tries > 1000 {
			t.Fatalf("%d journals are open", openJournals())
		}
		time.Sleep(time.Millisecond)
	}
}

// openJournals counts the journals that this process has open, where the system tells.
func openJournals() (n int) {
	files, _ := filepath.Glob("/proc/self/fd/*")
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && strings.Contains(to, journalName) {
			n++
		}
	}
	return n
}

// TestOpen_AtOnce writes a directory by several runs at once. Each waits for the others, and one file is of the last.
func TestOpen_AtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	first, err := transaction.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var inside atomic.Int32
	for run := range 8 {
		all.Go(func() {
			for range 25 {
				d, err := transaction.Open(dir, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two runs have the directory at once")
				}
				changes := transaction.Changes{Dir: d}
				changes.Put("a", fmt.Append(nil, run))
				changes.Put(fmt.Sprint("of-", run), nil)
				err = transaction.Write([]transaction.Changes{changes}, never, quiet)
				inside.Add(-1)
				if err := errors.Join(err, d.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	time.Sleep(250 * time.Millisecond) // longer than it waits before it asks for an interruption
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
	if files := tree(t, dir); len(files) != 9 || len(files["a"]) != 1 {
		t.Errorf("left: %q", files)
	}
}

// TestWrite_Within writes a directory and a folder of it, which share a new folder and the folder of a file.
func TestWrite_Within(t *testing.T) {
	dir := t.TempDir()
	all := []transaction.Changes{{Dir: open(t, dir)}, {Dir: open(t, filepath.Join(dir, "b"))}}
	all[0].Put("b/c/a", []byte("outer"))
	all[0].Put("b/c/b", []byte("outer"))
	all[1].Put("c/a", []byte("inner"))
	if err := errors.Join(transaction.Write(all, never, quiet), all[0].Dir.Close(), all[1].Dir.Close()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"b": "d---------", "b/c": "d---------", "b/c/a": "inner", "b/c/b": "outer"}, tree(t, dir)); diff != "" {
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
		"a.yaml": true, "a/b.yaml": true, ".a": true, "a/.b": true, "a./b": true, `a\b`: filepath.Separator != '\\', "..a": true, "a..b/c": true,
		"": false, ".": false, "..": false, "../a": false, "a/..": false, "a/../b": false, "/a": false, "a/": false, "a//b": false, "./a": false, "a/./b": false, ".git/a": false, "a/.git/b": false,
		"a/b/.c/d": false, "a/../../b": false,
	} {
		if got := transaction.IsName(name); got != want {
			t.Errorf("IsName(%q) = %t", name, got)
		}
	}
}

// TestDir reads, compares and changes files of one directory: it keeps permissions, replaces links, and follows none.
func TestDir(t *testing.T) {
	work := t.TempDir()
	dir, outside := filepath.Join(work, "dir"), filepath.Join(work, "outside")
	if err := errors.Join(os.Mkdir(dir, 0o777), os.WriteFile(outside, []byte("outside"), 0o666), os.WriteFile(filepath.Join(dir, "run"), []byte("old"), 0o666),
		os.Chmod(filepath.Join(dir, "run"), 0o777), os.Mkdir(filepath.Join(dir, "folder"), 0o777)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "gone"} {
		if err := os.Symlink("../outside", filepath.Join(dir, name)); err != nil {
			t.Skip("needs symbolic links: ", err)
		}
	}
	d := open(t, dir)
	if !d.Is(dir) || d.Is(work) || d.Is(filepath.Join(work, "nothing")) {
		t.Error("Is() takes another directory for this one, or this one for another")
	}
	if !d.Exists("run") || !d.Exists("link") || d.Exists("nothing") {
		t.Error("Exists() is wrong")
	}
	if sum := d.Sum("run"); sum != transaction.Sum([]byte("old")) || d.Sum("nothing") != "" || d.Sum("link") != "unreadable" || d.Sum("folder") != "unreadable" {
		t.Errorf("Sum() = %q, %q, %q, %q", sum, d.Sum("nothing"), d.Sum("link"), d.Sum("folder"))
	}
	if text, err := d.ReadFile("run"); err != nil || string(text) != "old" {
		t.Errorf("ReadFile() = %q, %v", text, err)
	}
	if _, err := d.ReadFile("nothing"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(dir, "nothing")+":") {
		t.Errorf("ReadFile() = %v, want an error with the path", err)
	}
	text := func(text string) func() ([]byte, error) { return func() ([]byte, error) { return []byte(text), nil } }
	files := []transaction.File{{Name: "run", Text: text("old")}, {Name: "new", Text: text("new")}, {Name: "link", Text: text("outside")}, {Name: "new", Text: text("other")}, {Name: "empty", Text: text("")}}
	seen, steps, mu := map[int]string{}, []string{}, sync.Mutex{}
	changed, err := d.Changed(files, func(i int, text []byte) {
		mu.Lock()
		defer mu.Unlock()
		seen[i] = string(text)
	}, never, func(done, total int) { steps = append(steps, fmt.Sprint(done, "/", total)) })
	if diff := cmp.Diff(map[int]string{0: "old", 1: "new", 2: "outside", 3: "other", 4: ""}, seen); diff != "" || err != nil || fmt.Sprint(steps) != "[1/5 2/5 3/5 4/5 5/5]" || len(changed) != 4 || changed[0].Name != "new" {
		t.Errorf("Changed() = %v, %v, with steps %s and texts (-want +got):\n%s", changed, err, steps, diff)
	}
	changes := transaction.Changes{Dir: d, Write: changed}
	changes.Put("run", []byte("run"))
	changes.Delete("gone") // a link
	changes.Delete("folder")
	changes.Delete("nothing")
	if err := errors.Join(transaction.Write([]transaction.Changes{changes}, never, quiet), d.Close()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"outside": "outside", "dir": "d---------", "dir/run": "run", "dir/new": "new", "dir/empty": "", "dir/link": "outside", "dir/gone": "L---------", "dir/folder": "d---------"}
	if diff := cmp.Diff(want, tree(t, work)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	usual, err := os.Stat(outside) // without what the umask removes
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{"run": 0o777, "new": usual.Mode()} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || runtime.GOOS != "windows" && info.Mode() != mode {
			t.Errorf("%s has the mode %v, %v, want %v", name, info.Mode(), err, mode)
		}
	}
}

// TestWrite_Undone stops a run at each place where it may stop. Nothing is changed then, and nothing new is left.
func TestWrite_Undone(t *testing.T) {
	stop := errors.New("stop")
	for _, tc := range []struct {
		name  string
		calls int // of interrupted without an error
		text  error
		want  string
	}{
		{"at the first file", 0, nil, "stop; nothing was changed"},
		{"at the second file", 1, nil, "stop; nothing was changed"},
		{"behind the files", 2, nil, "stop; nothing was changed"},
		{"a file without a text", 9, stop, "stop; nothing was changed"},
	} {
		dir := t.TempDir()
		d, calls, mu := open(t, dir), 0, sync.Mutex{}
		changes := transaction.Changes{Dir: d, Write: []transaction.File{{Name: "b/c", Text: func() ([]byte, error) { return nil, tc.text }}}}
		changes.Put("a", []byte("a"))
		err := transaction.Write([]transaction.Changes{changes}, func() error {
			mu.Lock()
			defer mu.Unlock()
			if calls++; calls > tc.calls {
				return stop
			}
			return nil
		}, quiet)
		if !errors.Is(err, stop) || err.Error() != tc.want {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(map[string]string{}, tree(t, dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestWrite_LeftOver finds a folder in the place of a file when all files are complete. The next run completes the changes.
func TestWrite_LeftOver(t *testing.T) {
	work := t.TempDir()
	dir := filepath.Join(work, "dir")
	d := open(t, dir)
	changes := transaction.Changes{Dir: d}
	changes.Put("a", []byte("a"))
	changes.Put("b", []byte("b"))
	err := transaction.Write([]transaction.Changes{changes}, never, func(done, total int) {
		if done == total {
			if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o777); err != nil {
				t.Error(err)
			}
		}
	})
	if err == nil || !strings.Contains(err.Error(), "run it again to do the rest") || strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("Write() = %v", err)
	}
	if err := errors.Join(d.Close(), os.RemoveAll(filepath.Join(dir, "a")), transaction.Recover(dir, nil)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"dir": "d---------", "dir/a": "a", "dir/b": "b"}, tree(t, work)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOpen_Refused opens what is no directory or has a journal of somebody else. The message says what to do, and all stays as it was.
func TestOpen_Refused(t *testing.T) {
	for _, tc := range []struct{ dir, journal, want string }{
		{"file/dir", "", "name a directory that can be written to"},
		{"file", "", "name a directory that can be written to"},
		{"new/deep/" + strings.Repeat("x", 1000), "", "name a directory that can be written to"},
		{"dir", "no plan\n", "dir/.trainweld-journal: invalid character 'o' in literal null (expecting 'u'); remove it if it is not trainweld's"},
		{"dir", `{"write":["../file"]}` + "\ncommit\n", `it names "../file", which is not a file of this directory; remove it`},
		{"dir", `{"make":["a/../b"]}` + "\n", `it names "a/../b"`},
		{"dir", `{"remove":{".git/config":"a"}}` + "\n", `it names ".git/config"`},
		{"dir", `{"stage":"../a"}` + "\n", `"../a" is not a part of a file's name`},
		{"dir", `{"other":1}` + "\n", "other"},
	} {
		work := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(work, "file"), []byte("file"), 0o666), os.Mkdir(filepath.Join(work, "dir"), 0o777)); err != nil {
			t.Fatal(err)
		}
		if tc.journal != "" {
			if err := os.WriteFile(filepath.Join(work, "dir", journalName), []byte(tc.journal), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		before := tree(t, work)
		if d, err := transaction.Open(filepath.Join(work, tc.dir), never); err == nil || !strings.Contains(filepath.ToSlash(err.Error()), tc.want) {
			t.Errorf("Open(%s) with %q = %v, %v, want %q", tc.dir, tc.journal, d, err, tc.want)
		}
		if diff := cmp.Diff(before, tree(t, work)); diff != "" {
			t.Errorf("Open(%s) with %q (-want +got):\n%s", tc.dir, tc.journal, diff)
		}
	}
}

// TestOpen_NoFiles opens a directory that takes no files.
func TestOpen_NoFiles(t *testing.T) {
	const dir = "/proc/self"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("only Linux has such a directory: ", err)
	}
	if _, err := transaction.Open(dir, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open() = %v", err)
	}
}

// TestRecover_Nothing recovers a directory without a journal, and none.
func TestRecover_Nothing(t *testing.T) {
	work := t.TempDir()
	if err := errors.Join(transaction.Recover(work, nil), transaction.Recover(filepath.Join(work, "nothing"), nil)); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(map[string]string{}, tree(t, work)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
