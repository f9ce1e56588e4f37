package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// TestWorkIsLinear holds the work that inputs choose: ten times the input may take little more than
// ten times the steps. A step is a statement that the program runs, as the instrumentation for
// coverage counts it.
func TestWorkIsLinear(t *testing.T) {
	if testenv.LongOnly(t, "it builds the program once more, and counts statements"); testenv.Race {
		t.Skip("it builds the program once more, and counts statements")
	}
	program := counting(t)
	for _, tc := range growing(t) {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			few, many := steps(t, program, tc.command(t, tc.n)),
				steps(t, program, tc.command(t, 10*tc.n))
			if e := testenv.Exponent(few, many); e > mostExponent {
				t.Errorf("10 times the input takes %d steps, and not %d: exponent %.2f", many,
					few, e)
			}
		})
	}
}

// TestMemoryIsLinear holds the same for the bytes that the program allocates, also in other
// modules. A short run takes a twentieth of the commands, others in each run.
func TestMemoryIsLinear(t *testing.T) {
	if testenv.Race {
		t.Skip("it runs each command with many objects")
	}
	first, every := testenv.Seed(t), uint64(testenv.Every(20))
	for i, tc := range growing(t) {
		if (first+uint64(i))%every != 0 {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			allocated(t, tc.command(t, tc.n)) // fills the caches
			few, many := allocated(t, tc.command(t, tc.n)), allocated(t, tc.command(t, 10*tc.n))
			if e := testenv.Exponent(few, many); e > mostExponent {
				t.Errorf("10 times the input takes %d bytes, and not %d: exponent %.2f", many,
					few, e)
			}
		})
	}
}

// mostExponent is the largest exponent of the growth from one input to another one of ten times its
// size.
const mostExponent = 1.114

// allocated returns the bytes that a command allocates in this process.
func allocated(t *testing.T, r run) uint64 {
	t.Helper()
	t.Chdir(r.dir)
	var stderr bytes.Buffer
	p := host.Program{Stdin: strings.NewReader(r.stdin), Stdout: io.Discard, Stderr: &stderr,
		Files: host.Files{}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	status := runLine(&p, r.args)
	runtime.ReadMemStats(&after)
	if status != exit.Done && status != exit.Findings {
		t.Fatalf("%q: status %d\n%.2000s", r.args, status, stderr.String())
	}
	return after.TotalAlloc - before.TotalAlloc
}

// TestCheck_Once counts the calls of a check of a clean TrainJob with two managers and its runtime.
// The TrainJob, the runtime and the merged template are decoded once each: reading finds mistakes
// without making Go values, and the JobSet is one already. A conflict takes another merge. The
// TrainJob is encoded with the webhook's marks, the JobSet for its definition, and the template and
// each of the two patches, of which one has metadata, for the rules of patches and the merge.
func TestCheck_Once(t *testing.T) {
	if testenv.LongOnly(t, "it builds the program once more, and counts calls"); testenv.Race {
		t.Skip("it builds the program once more, and counts calls")
	}
	program := counting(t)
	clean, agreeing, faulty := testenv.WriteTrainJobs(t, 1), testenv.WriteTrainJobs(t, 1),
		testenv.WriteTrainJobs(t, 1)
	replaced := testenv.WriteTrainJobs(t, 1)
	testenv.WriteIn(t, replaced, "runtime.yaml", strings.Replace(testenv.Runtime(),
		"- name: node\n                      image",
		"- name: node\n                      env: [{name: PET_NNODES, value: \"9\"}]\n"+
			"                      image", 1))
	account := func(of int, first, second string) string {
		text := strings.Replace(testenv.TrainJob(of), "                        volumes:",
			"                        serviceAccountName: "+first+
				"\n                        volumes:", 1)
		return strings.Replace(text, "                        nodeSelector:",
			"                        serviceAccountName: "+second+
				"\n                        nodeSelector:", 1)
	}
	testenv.WriteIn(t, agreeing, "job-00000.yaml", account(0, "a", "a"))
	testenv.WriteIn(t, faulty, "job-00000.yaml", account(0, "a", "b"))
	for _, tc := range []struct {
		args                                 []string
		parses, merges, decodings, encodings int
	}{
		{[]string{clean}, 2, 1, 3, 2 + 3 + 1},
		{[]string{agreeing}, 2, 1, 3, 2 + 3 + 1},
		{[]string{replaced}, 2 + 2, 1, 3, 2 + 3 + 1}, // a policy replaces a value of the runtime
		{[]string{faulty}, 2 + 2, 1, 3, 2 + 3 + 1},   // each text once more, for the lines
	} {
		profile := counted(t, program, run{args: append([]string{"check"}, tc.args...)})
		for _, f := range []struct {
			file, function string
			most           int
		}{
			{"render/manifest/internal/source/yaml.go", "ParseYAML", tc.parses},
			{"render/runtimepatch/merge.go", "Apply", tc.merges},
			{"render/render.go", "Merge", tc.merges},
			{"render/render.go", "(m *Merging) JobSet", tc.merges},
			{"merge/tree/decode.go", "Decode", tc.decodings},
			{"merge/tree/encode.go", "Encode", tc.encodings},
		} {
			text, err := os.ReadFile(filepath.Join("../../..", f.file))
			if err != nil {
				t.Fatal(err)
			}
			before, after, found := strings.Cut(string(text), "\nfunc "+f.function+"(")
			head, _, _ := strings.Cut(after, " {\n") // the body begins at its last line
			line := strings.Count(before, "\n") + 2 + strings.Count(head, "\n")
			n := regexp.MustCompile(
				fmt.Sprintf(`(?m)^\S*/%s:%d\.\S* \d+ (\d+)$`, regexp.QuoteMeta(f.file),
					line)).FindStringSubmatch(profile)
			if !found || n == nil {
				t.Errorf("%s has no function %s", f.file, f.function)
			} else if calls, _ := strconv.Atoi(n[1]); calls > f.most {
				t.Errorf("check %q calls %s %d times, want at most %d", tc.args, f.function, calls,
					f.most)
			}
		}
	}
}

// counting builds the program with a counter for each of its statements.
func counting(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "trainweld")
	build := exec.Command("go", "build", "-cover", "-covermode=count",
		"-coverpkg=github.com/trainweld/trainweld/...", "-o", program, "../../trainweld")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// steps counts the statements that the program runs.
func steps(t *testing.T, program string, r run) uint64 {
	t.Helper()
	return testenv.Statements(counted(t, program, r))
}

// counted runs the program, and returns the counters of its statements.
func counted(t *testing.T, program string, r run) string {
	t.Helper()
	dir := t.TempDir()
	counters := filepath.Join(dir, "counters")
	if err := os.Mkdir(counters, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, r.args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(r.stdin)
	cmd.Env = append(os.Environ(), "GOCOVERDIR="+counters)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != exit.Findings {
		t.Fatalf("%q: %v\n%s", r.args, err, stderr.String())
	}
	profile := filepath.Join(dir, "profile")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", counters, "-o",
		profile).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
