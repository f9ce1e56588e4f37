package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/internal/testenv"
)

// soaking runs random commands on random files.
type soaking struct {
	*rand.Rand
	dump     string   // of a cluster
	inputs   []string // TrainJobs with their runtimes, an object with managed fields, a v1 job
	temp     string   // the folder for temporary files of processes
	commands map[string]int
}

// files returns generated or broken files.
func (s *soaking) files() map[string]string {
	maybe := func(text string) string {
		if s.IntN(3) == 0 {
			return text
		}
		return mutate(s.Rand, text)
	}
	files := map[string]string{"job.yaml": maybe(mutatedJob), "runtime.yaml": maybe(mutatedRuntime),
		"other.yaml": maybe(mutatedJob)}
	switch s.IntN(4) {
	case 0:
		files["job.yaml"], files["runtime.yaml"] = maybe(s.inputs[s.IntN(len(s.inputs))]), ""
	case 1:
		files["other.yaml"] = maybe(s.dump)
	case 2:
		var many strings.Builder
		for i := range 1 + s.IntN(50) {
			many.WriteString(
				"---\n" + strings.Replace(mutatedJob, "name: job",
					fmt.Sprintf("name: job-%d", i), 1))
		}
		files["job.yaml"] = maybe(many.String())
	}
	return files
}

// word returns a word that a user might type.
func (s *soaking) word() string {
	words := []string{"", "spec", "spec.replicatedJobs[name=node]", "TW300=off", "app in (a, b),!c",
		"0..1", "TrainJobStatus=true", "NAME=4Gi", "a.io/b", "TrainJob", "nodeSelector"}
	return mutate(s.Rand, words[s.IntN(len(words))])
}

// inProcess runs a command within this process, where what stays in memory would add up.
func (s *soaking) inProcess(t *testing.T) string {
	lines := commandLines(s.word())
	args := lines[s.IntN(len(lines))]
	s.commands[args[0]]++
	return runTwice(t, s.files(), args)
}

// asProcess runs a command that writes files, as a process. It leaves neither a temporary file nor
// a part of a file.
func (s *soaking) asProcess(t *testing.T) string {
	dir := t.TempDir()
	files := s.files()
	for name, text := range files {
		testenv.WriteIn(t, dir, name, text)
	}
	lines := [][]string{
		{"render", "-f", "job.yaml", "-r", "runtime.yaml", "--on-conflict=last",
			"--output-dir=out"},
		{"render", "-f", ".", "--to=pods", "--on-conflict=last"},
		{"check", "."},
		{"migrate", "job.yaml"},
		{"diff", "job.yaml", "other.yaml", "-r", "runtime.yaml", "-o", "html"},
	}
	args := lines[s.IntN(len(lines))]
	s.commands[args[0]+", a process"]++
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "trainweld", args...)
	cmd.Dir, cmd.Stderr, cmd.Env = dir, &stderr, append(os.Environ(), "TMPDIR="+s.temp)
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) || cmd.ProcessState.ExitCode() < exit.Done ||
		cmd.ProcessState.ExitCode() > exit.Failed ||
		strings.Contains(stderr.String(), "goroutine 1 [") {
		return fmt.Sprintf("%q: %v\n%s\nof %q", args, err, stderr.String(), files)
	}
	for name := range testenv.Tree(t, dir) {
		if strings.Contains(name, "trainweld-new") {
			return fmt.Sprintf("%q leaves %s", args, name)
		}
	}
	if left, err := os.ReadDir(s.temp); err != nil || len(left) > 0 {
		return fmt.Sprintf("%q leaves temporary files: %v, %v", args, left, err)
	}
	return ""
}

// holdings counts the resources that a process holds.
type holdings struct {
	heap                    uint64 // in bytes, after a collection
	goroutines, descriptors int
}

func measure() holdings {
	var u holdings
	for range 3 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond) // for goroutines that end
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	open, _ := os.ReadDir("/proc/self/fd") // elsewhere nothing is counted
	u.heap, u.goroutines, u.descriptors = m.HeapAlloc, runtime.NumGoroutine(), len(open)
	return u
}

// TestRunLine_KeepsNothing holds that no part of the process remembers a command line, and with it
// the files and the output.
func TestRunLine_KeepsNothing(t *testing.T) {
	var outputs []weak.Pointer[bytes.Buffer]
	for _, cmd := range Root(&host.Program{}, nil).Commands() {
		stdout := new(bytes.Buffer)
		runLine(&host.Program{Stdin: strings.NewReader(""), Stdout: stdout, Stderr: io.Discard,
			Files: host.Files{}}, []string{cmd.Name(), "--help"})
		outputs = append(outputs, weak.Make(stdout))
	}
	for range 3 {
		runtime.GC()
	}
	kept := 0
	for _, stdout := range outputs {
		if stdout.Value() != nil {
			kept++
		}
	}
	if kept > 1 { // the last one may be on the stack
		t.Errorf("%d of %d command lines are kept, want none", kept, len(outputs))
	}
}

// TestSoak runs random commands for the time in TRAINWELD_SOAK, or else a few. The first tenth of
// the time and 500 commands fill the caches of definitions. After them, the process does not grow.
func TestSoak(t *testing.T) {
	dump, err := os.ReadFile(filepath.Join(repository, "testdata", "live", "dump.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(
		filepath.Join(casefile.Shared(t, cluster, "input.yaml"), "*", "input.yaml"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d recorded inputs, %v", len(names), err)
	}
	var inputs []string
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, string(text))
	}
	length, rounds := time.Duration(0), int(testenv.Cases(t, 400))
	if text := os.Getenv("TRAINWELD_SOAK"); text != "" {
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	if testenv.Race {
		rounds = min(rounds, 20)
	}
	inputs = append(inputs, liveDeployment(t), strings.TrimSpace(pyTorchJob))
	s := &soaking{Rand: rand.New(rand.NewPCG(testenv.Seed(t), 9)), dump: string(dump),
		inputs: inputs, temp: t.TempDir(), commands: map[string]int{}}
	start, every := time.Now(), min(50, rounds/2)
	var base holdings
	for i := 0; ; i++ {
		done := float64(i) / float64(rounds)
		if length > 0 {
			done = float64(time.Since(start)) / float64(length)
		}
		problem := ""
		if i%5 == 4 {
			t.Run("", func(t *testing.T) { problem = s.asProcess(t) }) // which removes its folder
		} else {
			problem = s.inProcess(t)
		}
		if problem != "" {
			t.Errorf("round %d: %.4000s", i, problem)
		}
		if i%every == every-1 || done >= 1 {
			now := measure()
			isWarm := length == 0 && done >= 0.5 || length > 0 && done >= 0.1 && i >= 500
			if !isWarm {
				base = holdings{max(base.heap, now.heap), max(base.goroutines, now.goroutines),
					max(base.descriptors, now.descriptors)}
			} else if now.heap > base.heap+base.heap/4+16<<20 ||
				now.goroutines > base.goroutines+2 || now.descriptors > base.descriptors+2 {
				t.Fatalf("round %d: the process holds %+v, and held %+v before", i, now, base)
			}
			if i%1000 == 999 || done >= 1 {
				t.Logf("round %d: %+v", i, now)
			}
		}
		if done >= 1 {
			break
		}
	}
	t.Log(s.commands)
}
