package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/internal/testenv"
)

// TestKilledUpdates kills runs of test --update over 40 cases, at random moments. After each, every file of
// want is whole and every other file as it was; the run after the last one completes, and leaves what a run leaves
// that was never killed.
func TestKilledUpdates(t *testing.T) {
	kills := 50
	if testenv.Race {
		kills = 4 // a process is slow under the race detector, and shares no memory with another
	}
	if testing.Short() {
		t.Skip("kills processes for several seconds")
	}
	random := seeded(t)
	work := t.TempDir()
	var versions [2]map[string]string // the files after a run that was not killed
	var took time.Duration
	for i := range versions {
		clean := filepath.Join(work, fmt.Sprintf("clean-%d", i))
		writeCases(t, clean, i)
		start := time.Now()
		if out, err := updateIn(clean).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		took = time.Since(start)
		versions[i] = tree(t, clean)
	}
	dir := filepath.Join(work, "cases")
	foreign := map[string]string{
		"README.md": "keep me", "case-07/notes.txt": "keep me, too", "case-07/want/notes.md": "and me", "case-08/want/.gitkeep": "",
		"case-09/want/folder/default_llm.yaml": "not even this", "case-10/.trainweld-new-1-default_llm.yaml": "nor this",
	}
	writeCases(t, dir, 0)
	for name, text := range foreign {
		writeIn(t, dir, name, text)
	}
	interrupted := 0
	for kill := range kills {
		writeCases(t, dir, kill%2)
		run := updateIn(dir)
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.Int64N(int64(took))))
		_ = run.Process.Kill() // it may have ended
		_ = run.Wait()
		if checkKilled(t, kill, tree(t, dir), foreign, versions) {
			interrupted++
		}
	}
	t.Logf("%d of %d kills came while files were being written", interrupted, kills)
	if interrupted == 0 && !testenv.Race {
		t.Error("no kill came while files were being written")
	}

	writeCases(t, dir, 1)
	if out, err := updateIn(dir).CombinedOutput(); err != nil {
		t.Fatalf("the run after the last kill: %v\n%s", err, out)
	}
	want := maps.Clone(versions[1])
	maps.Copy(want, foreign)
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Errorf("the run after the last kill left something else than a clean run (-want +got):\n%s", diff)
	}
}

// checkKilled looks at every file after a kill, and says whether the kill came between two of them.
func checkKilled(t *testing.T, kill int, files, foreign map[string]string, versions [2]map[string]string) bool {
	t.Helper()
	var of [2]bool
	between := false
	for name, text := range foreign {
		if got, there := files[name]; !there || got != text {
			t.Fatalf("kill %d: %s is %q now", kill, name, got)
		}
		delete(files, name)
	}
	for name, text := range files {
		before, inFirst := versions[0][name]
		after, inSecond := versions[1][name]
		switch {
		case strings.Contains(name, "/want/.trainweld-new-"):
			between = true
		case inFirst && text == before && inSecond && text == after:
		case inFirst && text == before:
			of[0] = of[0] || strings.Contains(name, "/want/")
		case inSecond && text == after:
			of[1] = of[1] || strings.Contains(name, "/want/")
		default:
			t.Fatalf("kill %d: %s is of neither version:\n%s", kill, name, text)
		}
	}
	return between || of[0] && of[1]
}

// writeCases writes 40 cases of one runtime. Between the two versions all that they render to changes, and the second
// has a TrainJob less in each.
func writeCases(t *testing.T, dir string, version int) {
	t.Helper()
	runtime, err := os.ReadFile(filepath.Join("testdata", "shared", "runtime.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	job, err := os.ReadFile(filepath.Join("testdata", "shared", "job.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	writeIn(t, dir, "runtime.yaml", string(runtime))
	for i := range 40 {
		folder := fmt.Sprintf("case-%02d", i)
		image := fmt.Sprintf("  trainer:\n    image: registry.example.com/version:%d\n", version)
		writeIn(t, dir, folder+"/trainjob.yaml", string(job)+image)
		other := filepath.Join(dir, folder, "other.yaml")
		if version == 0 {
			writeIn(t, dir, folder+"/other.yaml", strings.Replace(string(job), "name: llm", "name: other", 1))
		} else if err := os.Remove(other); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

func updateIn(dir string) *exec.Cmd { return exec.Command("trainweld", "test", "--update", dir) }

// writeIn writes a file below a directory, and the folders on the way to it.
func writeIn(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// tree reads all files below a directory, by their paths with slashes.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(os.DirFS(dir), name)
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
