package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// collections runs the program as a process of its own and prints how often garbage was collected, and by how
// many percent the heap grew until the next time, in place of its output.
func collections() {
	runtime.GC() // of what the tests' packages set up
	postponeCollection()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := host.Program{Stdin: os.Stdin, Stdout: io.Discard, Stderr: io.Discard, Files: host.Files{}}
	status := runLine(&p, os.Args[1:])
	runtime.ReadMemStats(&after)
	fmt.Println(after.NumGC-before.NumGC, debug.SetGCPercent(-1))
	os.Exit(status)
}

// TestPostponeCollection wants no garbage collected for a few TrainJobs, which take more than the 4 MiB that Go
// would wait for, and the heap of a longer run to grow after the first collection as if that had not been postponed.
func TestPostponeCollection(t *testing.T) {
	if testenv.Race {
		t.Skip("the race detector takes memory of its own")
	}
	collects := func(gogc string, args ...string) (times, percent int) {
		t.Helper()
		run := exec.Command("trainweld-collections", args...)
		run.Env = append(os.Environ(), "GOGC="+gogc)
		out, err := run.Output()
		if err == nil {
			_, err = fmt.Sscan(string(out), &times, &percent)
		}
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return times, percent
	}
	few := filepath.Join(t.TempDir(), "jobs.yaml")
	var jobs strings.Builder
	for i := range 20 {
		fmt.Fprintf(&jobs, "---\n%s", strings.ReplaceAll(benchTrainJob, "NNN", fmt.Sprint(i)))
	}
	fmt.Fprintf(&jobs, "---\n%s", benchRuntime)
	if err := os.WriteFile(few, []byte(jobs.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if times, _ := collects("", "render", "-f", few); times > 0 {
		t.Errorf("garbage is collected %d times to render a few TrainJobs", times)
	}
	if times, _ := collects("100", "render", "-f", few); times == 0 {
		t.Error("none is collected with GOGC=100 either: render more")
	}
	job, definition := testdata+"/shared/job.yaml", testdata+"/shared/runtime.yaml"
	// It loads the custom resource definitions, which takes tens of megabytes.
	if times, percent := collects("", "check", job, "-r", definition); times == 0 || percent != 100 {
		t.Errorf("garbage is collected %d times to check one TrainJob, and then when the heap has grown by %d %%; want some times, and 100 %%", times, percent)
	}
	if _, percent := collects("50", "render", "-f", job, "-r", definition); percent != 50 {
		t.Errorf("GOGC=50 makes %d %%", percent)
	}
}
