package output

import (
	"errors"
	"fmt"
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

// The names of the journal and of files that are not in their places yet.
const (
	journalName = ".trainweld-journal"
	stageSuffix = ".trainweld-new"
)

func fileOf(name, text string) transaction.File {
	return transaction.File{Name: name, Text: func() ([]byte, error) { return []byte(text), nil }}
}

func quietDir(dir string, prune bool) Dir {
	return Dir{Path: dir, Listed: true, Prune: prune, Step: func(string, int, int) {}}
}

// never interrupts nothing.
func never() error { return nil }

// writeDir writes files that do not count as trainweld's own.
func writeDir(dir string, files []transaction.File) error {
	_, err := Dir{Path: dir, Step: func(string, int, int) {}}.Write(files, never)
	return err
}

func TestWriteDirAfterAKilledRun(t *testing.T) {
	const journal, list = journalName, `{"write":["a.yaml","b.yaml"]}` + "\n"
	for _, tc := range []struct {
		name   string
		before map[string]string
		write  map[string]string
		want   map[string]string
		reason string
	}{
		{
			name:   "killed at once",
			before: map[string]string{journal: "", "a.yaml": "old a"},
			want:   map[string]string{"a.yaml": "old a"},
			reason: "an empty journal says that nothing was begun",
		},
		{
			name:   "killed within the list",
			before: map[string]string{journal: `{"write":["a.yaml","b.ya`, "a.yaml": "old a"},
			want:   map[string]string{"a.yaml": "old a"},
			reason: "files are touched only after the list is complete",
		},
		{
			name:   "killed before the commit",
			before: map[string]string{journal: list, "a.yaml": "old a", "a.yaml.trainweld-new": "new a", "b.yaml.trainweld-new": "new"},
			want:   map[string]string{"a.yaml": "old a"},
			reason: "the run is undone, since not all of it is there",
		},
		{
			name:   "killed within the commit",
			before: map[string]string{journal: list + "comm", "a.yaml": "old a", "a.yaml.trainweld-new": "new a", "b.yaml.trainweld-new": "new b"},
			want:   map[string]string{"a.yaml": "old a"},
			reason: "a line counts once its line break is written",
		},
		{
			name:   "killed after the commit",
			before: map[string]string{journal: list + "commit\n", "a.yaml": "old a", "a.yaml.trainweld-new": "new a", "b.yaml.trainweld-new": "new b"},
			want:   map[string]string{"a.yaml": "new a", "b.yaml": "new b"},
			reason: "the run is finished, since all of it is there",
		},
		{
			name:   "killed between two renames",
			before: map[string]string{journal: list + "commit\n", "a.yaml": "new a", "b.yaml": "old b", "b.yaml.trainweld-new": "new b"},
			want:   map[string]string{"a.yaml": "new a", "b.yaml": "new b"},
			reason: "what is in its place already is left there",
		},
		{
			name:   "killed before a removal",
			before: map[string]string{journal: `{"write":["a.yaml"],"remove":{"gone.yaml":"` + transaction.Sum([]byte("gone")) + `"}}` + "\ncommit\n", "a.yaml.trainweld-new": "new a", "gone.yaml": "gone"},
			want:   map[string]string{"a.yaml": "new a"},
			reason: "what was to be removed is removed",
		},
		{
			name:   "killed before a removal, and edited since",
			before: map[string]string{journal: `{"write":["a.yaml"],"remove":{"gone.yaml":"` + transaction.Sum([]byte("gone")) + `"}}` + "\ncommit\n", "a.yaml": "new a", "gone.yaml": "mine now"},
			want:   map[string]string{"a.yaml": "new a", "gone.yaml": "mine now"},
			reason: "it is somebody else's by now",
		},
		{
			name:   "killed before the commit of a removal",
			before: map[string]string{journal: `{"write":[],"remove":{"gone.yaml":"` + transaction.Sum([]byte("gone")) + `"}}` + "\n", "gone.yaml": "gone"},
			want:   map[string]string{"gone.yaml": "gone"},
			reason: "the run is undone",
		},
		{
			name:   "killed after the commit, and edited since",
			before: map[string]string{journal: `{"write":["a.yaml","b.yaml"],"was":{"a.yaml":"` + transaction.Sum([]byte("old a")) + `","b.yaml":""},"stage":"abc"}` + "\ncommit\n", "a.yaml": "mine", "a.yaml.abc.trainweld-new": "new a", "b.yaml.abc.trainweld-new": "new b"},
			want:   map[string]string{"a.yaml": "mine", "b.yaml": "new b"},
			reason: "what is somebody else's by now stays",
		},
		{
			name:   "killed, and other files are written now",
			before: map[string]string{journal: list + "commit\n", "a.yaml.trainweld-new": "new a", "b.yaml.trainweld-new": "new b", "mine.txt": "mine"},
			write:  map[string]string{"b.yaml": "newer b", "c.yaml": "c"},
			want:   map[string]string{"a.yaml": "new a", "b.yaml": "newer b", "c.yaml": "c", "mine.txt": "mine"},
			reason: "the old run is finished before the new one begins",
		},
		{
			name:   "undone, and the same files are written now",
			before: map[string]string{journal: list, "a.yaml": "old a", "a.yaml.trainweld-new": "ne"},
			write:  map[string]string{"a.yaml": "new a", "b.yaml": "new b"},
			want:   map[string]string{"a.yaml": "new a", "b.yaml": "new b"},
			reason: "nothing of the killed run shows",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := directory(t, tc.before)
			var files []transaction.File
			for _, name := range []string{"a.yaml", "b.yaml", "c.yaml"} {
				if text, ok := tc.write[name]; ok {
					files = append(files, fileOf(name, text))
				}
			}
			if err := writeDir(dir, files); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, testenv.Tree(t, dir)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWriteDirRefusesAForeignJournal(t *testing.T) {
	for _, tc := range []struct{ name, journal, reason string }{
		{"not JSON", "dear diary\n", "a file of that name that trainweld did not write"},
		{"other JSON", `{"files":["a.yaml"]}` + "\n", "a plan was written, and nothing else"},
		{"a file elsewhere", `{"write":["../a.yaml"]}` + "\ncommit\n", "nothing outside of the directory is ever touched"},
		{"an absolute file", `{"write":["/tmp/a.yaml"]}` + "\ncommit\n", "nothing outside of the directory is ever touched"},
		{"a removal elsewhere", `{"write":[],"remove":{"../a.yaml":"0"}}` + "\ncommit\n", "nothing outside of the directory is ever touched"},
		{"a hidden folder", `{"write":[".git/config"]}` + "\ncommit\n", "others' folders are never touched"},
		{"a name beside the place that leads elsewhere", `{"write":["a.yaml"],"stage":"/../../x"}` + "\ncommit\n", "nothing outside of the directory is ever touched"},
		{"the parent", `{"write":[".."]}` + "\ncommit\n", "nothing outside of the directory is ever touched"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := map[string]string{journalName: tc.journal, "a.yaml": "old", "a.yaml.trainweld-new": "new"}
			dir := directory(t, before)
			err := writeDir(dir, []transaction.File{fileOf("a.yaml", "newer")})
			if err == nil {
				t.Fatalf("no error: %s", tc.reason)
			}
			if text := err.Error(); !strings.Contains(text, filepath.Join(dir, journalName)) || !strings.Contains(text, "remove it if it is not trainweld's") {
				t.Errorf("the error does not say which file is to be looked at: %v", err)
			}
			if diff := cmp.Diff(before, testenv.Tree(t, dir)); diff != "" {
				t.Errorf("the directory was changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriteDirFollowsNoLinks(t *testing.T) {
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
	if err := writeDir(dir, []transaction.File{fileOf("a.yaml", "a"), fileOf("b.yaml", "b")}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(outside); string(text) != "outside" {
		t.Errorf("a file outside of the directory was written: %q, %v", text, err)
	}
	want := map[string]string{"a.yaml": "a", "b.yaml": "b", "a.yaml.trainweld-new": "outside", "b.yaml.trainweld-new": "outside"}
	if diff := cmp.Diff(want, testenv.Tree(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if info, err := os.Lstat(filepath.Join(dir, "a.yaml")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the link is still there: %v, %v", info, err)
	}
}

func TestWriteDirKeepsPermissions(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": "old"})
	path := filepath.Join(dir, "a.yaml")
	// Whatever the process' own mask is, one of these would not survive it.
	for _, mode := range []os.FileMode{0o600, 0o664, 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := writeDir(dir, []transaction.File{fileOf("a.yaml", mode.String())}); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%v, %v; want %v", info.Mode(), err, mode)
		}
	}
}

// TestWriteDirAtOnce lets runs write one directory at the same time: each succeeds, and the files are
// all those of the one that came last.
func TestWriteDirAtOnce(t *testing.T) {
	const runs, files = 8, 20
	dir := t.TempDir()
	var wait sync.WaitGroup
	errs := make([]error, runs)
	for run := range runs {
		wait.Go(func() {
			var list []transaction.File
			for i := range files {
				list = append(list, fileOf(string(rune('a'+i))+".yaml", fmt.Sprint(run)))
			}
			errs[run] = writeDir(dir, list)
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	got := testenv.Tree(t, dir)
	if len(got) != files {
		t.Errorf("%d files, want %d", len(got), files)
	}
	var texts []string
	for _, text := range got {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	if texts = slices.Compact(texts); len(texts) != 1 {
		t.Errorf("the files are of several runs: %q", texts)
	}
}
