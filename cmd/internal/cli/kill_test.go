package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/internal/testenv"
)

// stagedSuffix ends the names of files that are not in their places yet.
const stagedSuffix = ".trainweld-new"

// writer is a command that changes the files of a directory, over two versions of its inputs that
// take turns.
type writer struct {
	dir string
	// prepare makes the inputs of a version. It keeps the files that killed runs left.
	prepare func(t *testing.T, dir string, version int)
	command func(dir string, version int) *exec.Cmd
	foreign map[string]string // files that nothing changes

	trees   [2]map[string]string // after runs that nobody disturbs
	took    time.Duration        // of such a run
	writing time.Duration        // of that, since a staged file was there
}

// writers are all commands that write more than one file.
func writers(t *testing.T) map[string]*writer {
	t.Helper()
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for version := range 2 {
		jobs := slices.Concat(manyTrainJobs(t, 30, "job", version),
			manyTrainJobs(t, 10, fmt.Sprint("only-", version), version))
		testenv.WriteIn(t, work, fmt.Sprintf("jobs-%d.yaml", version), string(jobs))
	}
	all := map[string]*writer{
		"render": {
			prepare: func(t *testing.T, dir string, version int) {},
			command: func(dir string, version int) *exec.Cmd {
				return renderInto(filepath.Join(work, fmt.Sprintf("jobs-%d.yaml", version)), dir,
					"--prune")
			},
			foreign: map[string]string{"README.md": "keep me", "default_gone.yaml": "keep me, too",
				".gitkeep": ""},
		},
		"test": {
			prepare: writeCases,
			command: func(dir string, version int) *exec.Cmd {
				return exec.Command("trainweld", "test", "--update", dir)
			},
			foreign: map[string]string{
				"README.md": "keep me", "case-00/notes.txt": "keep me, too",
				"case-00/want/notes.md": "and me", "case-01/want/.gitkeep": "",
				"case-02/want/folder/default_llm.yaml":   "not even this",
				"case-03/default_llm.yaml.trainweld-new": "nor this",
			},
		},
		"migrate": {
			prepare: writeOldJobs,
			command: func(dir string, version int) *exec.Cmd {
				return exec.Command("trainweld", "migrate", "-R", "-w", dir, "-r",
					filepath.Join(testdata, "shared", "runtime.yaml"))
			},
			foreign: map[string]string{"README.md": "keep me", "deep/a/notes.txt": "keep me, too",
				"deep/new.yaml": string(manyTrainJobs(t, 1, "new", 0))},
		},
	}
	for name, w := range all {
		for version := range w.trees {
			w.dir = filepath.Join(work, name, fmt.Sprint("clean-", version))
			w.start(t, version)
			began := time.Now()
			run, ended := w.run(t, version)
			w.waitForWriting(ended)
			writing := time.Now()
			<-ended
			if !run.ProcessState.Success() {
				t.Fatalf("%s: %v", name, run.ProcessState)
			}
			w.took, w.writing = time.Since(began), time.Since(writing)
			w.trees[version] = testenv.Tree(t, w.dir)
		}
		w.dir = filepath.Join(work, name, "dir")
		w.start(t, 0)
	}
	return all
}

// start makes the directory with its foreign files and the inputs of a version.
func (w *writer) start(t *testing.T, version int) {
	t.Helper()
	for name, text := range w.foreign {
		testenv.WriteIn(t, w.dir, name, text)
	}
	w.prepare(t, w.dir, version)
}

// run starts a run, and closes the channel when it has ended.
func (w *writer) run(t *testing.T, version int) (*exec.Cmd, <-chan struct{}) {
	t.Helper()
	run := w.command(w.dir, version)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = run.Wait() // killed, most likely
		close(ended)
	}()
	return run, ended
}

// disturb runs a version, and sends a signal to it at a random moment. In half of the runs, files
// are being written at that moment.
func (w *writer) disturb(t *testing.T, random *rand.Rand, version int,
	signal os.Signal) *os.ProcessState {
	t.Helper()
	run, ended := w.run(t, version)
	within := w.took
	if random.IntN(2) == 0 {
		w.waitForWriting(ended)
		within = w.writing
	}
	time.Sleep(time.Duration(random.Int64N(int64(within))))
	_ = run.Process.Signal(signal) // it may have ended
	<-ended
	return run.ProcessState
}

// isLeft reports whether a killed run has left a staged file.
func (w *writer) isLeft(file string) bool {
	_, foreign := w.foreign[file]
	return !foreign && strings.HasSuffix(file, stagedSuffix)
}

// complete runs a version without a signal, after disturbed runs. It makes the same files as a run
// into a new directory. Git shows the other files that killed runs have left.
func (w *writer) complete(t *testing.T, version int) {
	t.Helper()
	if out, err := w.command(w.dir, version).CombinedOutput(); err != nil {
		t.Fatalf("the run after the last one: %v\n%s", err, out)
	}
	files := testenv.Tree(t, w.dir)
	maps.DeleteFunc(files, func(file, _ string) bool {
		_, isMade := w.trees[version][file]
		return !isMade
	})
	if diff := cmp.Diff(w.trees[version], files); diff != "" {
		t.Fatalf("the run after the last one left something else than a clean run (-want +got):\n%s", diff)
	}
}

// TestKilledRuns kills runs of each command that writes files, at 200 random moments. After each,
// every file is whole, of one version or the other, and every foreign file as it was. Every now and
// then a run gets no signal, and completes.
func TestKilledRuns(t *testing.T) {
	const kills = 200
	if testenv.LongOnly(
		t, "kills processes for half a minute, and looks only at the files that they leave"); testenv.Race {
		t.Skip("kills processes for half a minute, and looks only at the files that they leave")
	}
	random := seeded(t)
	all := writers(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			w, interrupted := all[name], 0
			whole := map[string][]string{} // what a file may hold
			note := func(files map[string]string) {
				for file, text := range files {
					whole[file] = append(whole[file], text)
				}
			}
			note(w.trees[0])
			note(w.trees[1])
			for kill := range kills {
				version := kill % 2
				w.prepare(t, w.dir, version)
				if kill < 2 {
					note(testenv.Tree(t, w.dir))
				}
				w.disturb(t, random, version, os.Kill)
				files := testenv.Tree(t, w.dir)
				isInterrupted := false
				for file := range files {
					if w.isLeft(file) {
						isInterrupted = true
						if err := os.Remove(filepath.Join(w.dir, file)); err != nil {
							t.Fatal(err)
						}
						delete(files, file)
					}
				}
				if isInterrupted {
					interrupted++
				}
				for file, text := range files {
					if !slices.Contains(whole[file], text) {
						t.Fatalf("kill %d: %s is of neither version:\n%s", kill, file, text)
					}
				}
				for file := range w.foreign {
					if _, there := files[file]; !there {
						t.Fatalf("kill %d: %s is gone", kill, file)
					}
				}
				if kill%20 == 19 {
					w.complete(t, version)
				}
			}
			w.complete(t, (kills-1)%2)
			t.Logf("%d of %d kills came while files were being written", interrupted, kills)
			if interrupted == 0 {
				t.Error("no kill came while files were being written")
			}
		})
	}
}

// seeded returns the source of the random moments of a test. They are the same moments, as far as
// the machine repeats itself.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(testenv.Seed(t), 0))
}

// waitForWriting waits until a staged file is there, or the process has ended.
func (w *writer) waitForWriting(ended <-chan struct{}) {
	for isWriting := false; !isWriting; {
		select {
		case <-ended:
			return
		case <-time.After(time.Millisecond):
			_ = filepath.WalkDir(w.dir, func(file string, _ fs.DirEntry, _ error) error {
				name, _ := filepath.Rel(w.dir, file)
				isWriting = isWriting || w.isLeft(filepath.ToSlash(name))
				return nil
			})
		}
	}
}

// manyTrainJobs are TrainJobs whose contents depend on the version.
func manyTrainJobs(t *testing.T, n int, name string, version int) []byte {
	t.Helper()
	template, err := os.ReadFile(filepath.Join(testdata, "shared", "job.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "---\n%s  trainer:\n    image: registry.example.com/version:%d\n",
			bytes.Replace(template, []byte("name: llm"), fmt.Appendf(nil, "name: %s-%d", name, i),
				1), version)
	}
	return b.Bytes()
}

func renderInto(input, dir string, flags ...string) *exec.Cmd {
	args := []string{"render", "-f", input, "-r", filepath.Join(testdata, "shared", "runtime.yaml"),
		"--output-dir", dir}
	return exec.Command("trainweld", append(args, flags...)...)
}

// writeOldJobs writes 12 files with TrainJobs of an earlier version, in three directories.
func writeOldJobs(t *testing.T, dir string, version int) {
	t.Helper()
	for i := range 12 {
		text := fmt.Sprintf(
			"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n  name: "+
				"job-%d\nspec:\n  labels:\n    version: \"%d\"\n  runtimeRef:\n    name: plain\n",
			i, version)
		testenv.WriteIn(
			t, dir, fmt.Sprintf("%s/job-%d.yaml", []string{".", "deep", "deep/a"}[i%3], i), text)
	}
}

// writeCases writes 8 cases of one runtime. Between the two versions all that they render to
// changes, and the second has a TrainJob less in each.
func writeCases(t *testing.T, dir string, version int) {
	t.Helper()
	runtime, err := os.ReadFile(filepath.Join(testdata, "shared", "runtime.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	job, err := os.ReadFile(filepath.Join(testdata, "shared", "job.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	testenv.WriteIn(t, dir, "runtime.yaml", string(runtime))
	for i := range 8 {
		folder := fmt.Sprintf("case-%02d", i)
		image := fmt.Sprintf("  trainer:\n    image: registry.example.com/version:%d\n", version)
		testenv.WriteIn(t, dir, folder+"/trainjob.yaml", string(job)+image)
		other := filepath.Join(dir, folder, "other.yaml")
		if version == 0 {
			testenv.WriteIn(t, dir, folder+"/other.yaml",
				strings.Replace(string(job), "name: llm", "name: other", 1))
		} else if err := os.Remove(other); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// TestTwoProcessesAtOnce lets processes write one directory: all succeed, each file is whole from
// one process, and no other file remains.
func TestTwoProcessesAtOnce(t *testing.T) {
	work := t.TempDir()
	dir := filepath.Join(work, "out")
	var runs []*exec.Cmd
	var outputs [4]bytes.Buffer
	for i := range outputs {
		input := filepath.Join(work, fmt.Sprintf("jobs-%d.yaml", i))
		if err := os.WriteFile(input, manyTrainJobs(t, 200, "job", i), 0o666); err != nil {
			t.Fatal(err)
		}
		run := renderInto(input, dir)
		run.Stdout, run.Stderr = &outputs[i], &outputs[i]
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	for i, run := range runs {
		if err := run.Wait(); err != nil {
			t.Errorf("run %d: %v\n%s", i, err, outputs[i].String())
		}
	}
	files := testenv.Tree(t, dir)
	if len(files) != 200 {
		t.Errorf("%d files, want 200: %q", len(files), slices.Sorted(maps.Keys(files)))
	}
	for name, text := range files {
		_, rest, _ := strings.Cut(text, "registry.example.com/version:")
		if rest == "" || !strings.HasSuffix(text, "\n") {
			t.Errorf("%s is not whole:\n%s", name, text)
		}
	}
}
