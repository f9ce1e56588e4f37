package main

import (
	"bytes"
	"fmt"
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

// TestKilledRuns kills runs that write a directory of 120 TrainJobs and prune it, at fifty random moments. After
// each, every manifest is whole and every other file as it was; the run after the last one completes, and
// leaves what a run into a new directory leaves.
func TestKilledRuns(t *testing.T) {
	kills := 50
	if testenv.Race {
		kills = 4 // a process is slow under the race detector, and shares no memory with another
	}
	if testing.Short() {
		t.Skip("kills processes for several seconds")
	}
	random := seeded(t)
	versions := cleanRuns(t)
	dir := filepath.Join(t.TempDir(), "out")
	foreign := map[string]string{"README.md": "keep me", "default_gone.yaml": "keep me, too", ".gitkeep": ""}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range foreign {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	interrupted := 0
	for kill := range kills {
		v := versions[kill%2]
		run, ended := startRun(t, v.input, dir)
		// Half of the kills may come at any time, half of them while files are being written.
		within := v.took
		if kill%4 < 2 {
			waitFor(filepath.Join(dir, journalName), ended)
			within = v.writing
		}
		time.Sleep(time.Duration(random.Int64N(int64(within))))
		_ = run.Process.Kill() // it may have ended
		<-ended
		if _, err := os.Stat(filepath.Join(dir, journalName)); err == nil {
			interrupted++
		}
		for name, text := range contents(t, dir) {
			switch want, isForeign := foreign[name]; {
			case isForeign:
				if text != want {
					t.Fatalf("kill %d: %s was changed to %q", kill, name, text)
				}
			case name == journalName || strings.HasSuffix(name, stageSuffix):
			case text != versions[0].files[name] && text != versions[1].files[name]:
				t.Fatalf("kill %d: %s is of neither version:\n%s", kill, name, text)
			}
		}
	}
	t.Logf("%d of %d kills came while files were being written", interrupted, kills)
	if interrupted == 0 && !testenv.Race {
		t.Error("no kill came while files were being written")
	}

	if out, err := renderInto(versions[1].input, dir, "--prune").CombinedOutput(); err != nil {
		t.Fatalf("the run after the last kill: %v\n%s", err, out)
	}
	want := maps.Clone(versions[1].files)
	maps.Copy(want, foreign)
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Errorf("the run after the last kill left something else than a clean run (-want +got):\n%s", diff)
	}
}

// seeded is what random moments of a test are drawn from.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := testenv.NumberOr(t, "TRAINWELD_SEED", rand.Uint64N(1_000_000))
	t.Logf("TRAINWELD_SEED=%d runs these moments again, as far as the machine does", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// cleanRun is a run that writes a new directory, and that nobody disturbs.
type cleanRun struct {
	input string
	files map[string]string
	took  time.Duration
	// writing is how long it took after the journal was there.
	writing time.Duration
}

// cleanRuns run two versions of 120 TrainJobs. Where they take turns in one directory, each has every file to
// write, and some to remove.
func cleanRuns(t *testing.T) [2]cleanRun {
	t.Helper()
	work := t.TempDir()
	var versions [2]cleanRun
	for i := range versions {
		v := &versions[i]
		v.input = filepath.Join(work, fmt.Sprintf("jobs-%d.yaml", i))
		if err := os.WriteFile(v.input, slices.Concat(manyTrainJobs(t, 100, "job", i), manyTrainJobs(t, 20, fmt.Sprint("only-", i), i)), 0o666); err != nil {
			t.Fatal(err)
		}
		clean := filepath.Join(work, fmt.Sprintf("clean-%d", i))
		start := time.Now()
		run, ended := startRun(t, v.input, clean)
		waitFor(filepath.Join(clean, journalName), ended)
		writing := time.Now()
		<-ended
		if !run.ProcessState.Success() {
			t.Fatal(run.ProcessState)
		}
		v.took, v.writing = time.Since(start), time.Since(writing)
		v.files = contents(t, clean)
	}
	for name, text := range versions[0].files {
		if versions[1].files[name] == text {
			t.Fatalf("%s is the same in both versions", name)
		}
	}
	if len(versions[0].files) != 121 || len(versions[1].files) != 121 {
		t.Fatalf("%d and %d files; want 120 and the list of them", len(versions[0].files), len(versions[1].files))
	}
	return versions
}

// startRun starts a run, and closes the channel when it has ended.
func startRun(t *testing.T, input, dir string) (*exec.Cmd, <-chan struct{}) {
	t.Helper()
	run := renderInto(input, dir, "--prune")
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

// waitFor waits until a file is there, or the process has ended.
func waitFor(file string, ended <-chan struct{}) {
	for {
		select {
		case <-ended:
			return
		case <-time.After(time.Millisecond):
			if _, err := os.Stat(file); err == nil {
				return
			}
		}
	}
}

// manyTrainJobs are TrainJobs whose contents depend on the version.
func manyTrainJobs(t *testing.T, n int, name string, version int) []byte {
	t.Helper()
	template, err := os.ReadFile(filepath.Join("testdata", "shared", "job.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "---\n%s  trainer:\n    image: registry.example.com/version:%d\n",
			bytes.Replace(template, []byte("name: llm"), fmt.Appendf(nil, "name: %s-%d", name, i), 1), version)
	}
	return b.Bytes()
}

func renderInto(input, dir string, flags ...string) *exec.Cmd {
	args := []string{"render", "-f", input, "-r", filepath.Join("testdata", "shared", "runtime.yaml"), "--output-dir", dir}
	return exec.Command("trainweld", append(args, flags...)...)
}

// TestTwoProcessesAtOnce lets two processes write one directory: both succeed, and leave nothing behind.
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
	files := contents(t, dir)
	if len(files) != 200 {
		t.Errorf("%d files, want 200: %q", len(files), slices.Sorted(maps.Keys(files)))
	}
	versions := map[string]bool{}
	for _, text := range files {
		_, rest, _ := strings.Cut(text, "registry.example.com/version:")
		versions[rest[:1]] = true
	}
	if len(versions) != 1 {
		t.Errorf("the files are of %d runs, want those of one", len(versions))
	}
}
