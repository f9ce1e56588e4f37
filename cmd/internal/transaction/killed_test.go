package transaction_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/cmd/internal/transaction"
	"github.com/trainweld/trainweld/internal/testenv"
)

// old are the files before a run, and after what it leaves. It writes one again, makes one in new folders and removes two.
var (
	old = map[string]string{"a.yaml": "old a", "gone.yaml": "gone", "deep/gone.yaml": "gone, too", "other.yaml": "other", "deep/other.yaml": "other, too"}
	now = map[string]string{"a.yaml": "new a", "b/c/e.yaml": "new e", "other.yaml": "other", "deep/other.yaml": "other, too"}
)

// killedAt runs the changes from old to now in a directory, and returns copies of it: as it was before each step, and as it is with all
// files complete under their staged names.
func killedAt(t *testing.T, dir string) []string {
	t.Helper()
	for name, text := range old {
		testenv.WriteIn(t, dir, name, text)
	}
	var (
		mu     sync.Mutex
		copies []string
	)
	keep := func() {
		mu.Lock()
		defer mu.Unlock()
		to := t.TempDir()
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil && !errors.Is(err, os.ErrNotExist) { // a file that is being renamed
			t.Error(err)
		}
		copies = append(copies, to)
	}
	d := open(t, dir)
	changes := transaction.Changes{Dir: d}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if strings.HasPrefix(now[name], "new") {
			changes.Write = append(changes.Write, transaction.File{Name: name, Text: func() ([]byte, error) { keep(); return []byte(now[name]), nil }})
		}
	}
	changes.Delete("gone.yaml")
	changes.Delete("deep/gone.yaml")
	var steps []int
	err := transaction.Write([]transaction.Changes{changes}, never, func(done, total int) {
		if steps = append(steps, done); done == total {
			keep()
		}
	})
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 2}, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	wantFiles(t, "a run that nobody kills", dir, now)
	return copies
}

// wantFiles wants these regular files in a directory, and no folder without one.
func wantFiles(t *testing.T, when, dir string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, testenv.Tree(t, dir)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
	for name, kind := range tree(t, dir) {
		if files, err := os.ReadDir(filepath.Join(dir, name)); kind == "d---------" && err == nil && len(files) == 0 {
			t.Errorf("%s: the folder %s is empty", when, name)
		}
	}
}

// TestOpen_Killed opens a directory that a run has left, killed at each of its steps. Before the record that all staged files are
// complete, everything is as it was, and afterwards as the run would have left it. What others have written since stays.
func TestOpen_Killed(t *testing.T) {
	copies := killedAt(t, t.TempDir())
	complete := copies[len(copies)-1]
	for i, dir := range copies[:len(copies)-1] {
		if err := open(t, dir).Close(); err != nil {
			t.Error(err)
		}
		wantFiles(t, fmt.Sprintf("killed before step %d", i), dir, old)
	}
	text, err := os.ReadFile(filepath.Join(complete, journalName))
	plan := string(text)
	if err != nil || strings.Count(plan, "\n") != 1 {
		t.Fatalf("the journal is %q, %v", plan, err)
	}
	staged, err := filepath.Glob(filepath.Join(complete, "*.trainweld-new"))
	deep, errDeep := filepath.Glob(filepath.Join(complete, "b/c/*.trainweld-new"))
	if staged = append(staged, deep...); err != nil || errDeep != nil || len(staged) != 2 {
		t.Fatalf("staged files: %q, %v, %v", staged, err, errDeep)
	}
	again := filepath.Join(t.TempDir(), "again")
	if err := os.CopyFS(again, os.DirFS(complete)); err != nil {
		t.Fatal(err)
	}
	for i, dir := range killedAt(t, again) {
		if err := open(t, dir).Close(); err != nil {
			t.Error(err)
		}
		wantFiles(t, fmt.Sprintf("killed again before step %d", i), dir, old)
	}
	none := func(string) error { return nil }
	write := func(name, text string) func(dir string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666) }
	}
	rename := func(dir string, count int) error {
		var all error
		for _, from := range staged[:count] {
			from, _ = filepath.Rel(complete, from)
			to, _, _ := strings.Cut(from, ".yaml.")
			all = errors.Join(all, os.Rename(filepath.Join(dir, from), filepath.Join(dir, to+".yaml")))
		}
		return all
	}
	for _, tc := range []struct {
		name, journal string
		change        func(dir string) error
		want          map[string]string
	}{
		{"before the plan is complete", strings.TrimSuffix(plan, "\n"), func(dir string) error {
			return errors.Join(rename(dir, 2), write("a.yaml", old["a.yaml"])(dir), os.RemoveAll(filepath.Join(dir, "b")))
		}, old},
		{"while the record is written", plan + "commit", none, old},
		{"with another record", plan + "committed\n", none, old},
		{"after the record", plan + "commit\n", none, now},
		{"after a name", plan + "commit\n", func(dir string) error { return rename(dir, 1) }, now},
		{"after all names", plan + "commit\n", func(dir string) error { return rename(dir, 2) }, now},
		{"while files are removed", plan + "commit\n", func(dir string) error { return os.Remove(filepath.Join(dir, "deep/gone.yaml")) }, now},
		{"a file is changed since", plan + "commit\n", write("a.yaml", "mine"), with(now, "a.yaml", "mine")},
		{"a file is made since", plan + "commit\n", write("b/c/e.yaml", "mine"), with(now, "b/c/e.yaml", "mine")},
		{"a file to remove is changed since", plan + "commit\n", write("gone.yaml", "mine"), with(now, "gone.yaml", "mine")},
		{"a new folder is used since", plan, write("b/mine", "mine"), with(old, "b/mine", "mine")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			if err := os.CopyFS(dir, os.DirFS(complete)); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(write(journalName, tc.journal)(dir), tc.change(dir), transaction.Recover(dir, nil)); err != nil {
				t.Fatal(err)
			}
			wantFiles(t, tc.name, dir, tc.want)
		})
	}
}

func with(files map[string]string, name, text string) map[string]string {
	files = maps.Clone(files)
	files[name] = text
	return files
}
