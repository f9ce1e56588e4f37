//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trainweld/trainweld/internal/testenv"
)

// TestInit wants no package of this module to do work before main. The runtime reports the
// allocations of such work for each package. A compiled regular expression, or a table of more than
// a few entries, takes more than is allowed.
func TestInit(t *testing.T) {
	const allowed = 8 << 10 // a few errors and small tables
	run := exec.Command("trainweld", "version")
	run.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, trace)
	}
	all := regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(
		string(trace), -1)
	if len(all) < 50 {
		t.Fatalf("the trace of %d packages only:\n%s", len(all), trace)
	}
	ours := 0
	for _, line := range all {
		name := line[1]
		if name != "main" && !strings.HasPrefix(name, "github.com/trainweld/") {
			continue
		}
		ours++
		if bytes, err := strconv.Atoi(line[2]); err != nil || bytes > allowed {
			t.Errorf("%s allocates %s bytes before main, more than %d: %v", name, line[2],
				allowed, err)
		}
	}
	if ours == 0 {
		t.Error("no package of ours is in the trace: is it another program?")
	}
}

// BenchmarkStartUp renders one TrainJob in a process. In turns with it, a program runs that links
// the same packages and does nothing. The benchmark reports the time of the first, and the ratios
// of wall and processor time.
func BenchmarkStartUp(b *testing.B) {
	dir := b.TempDir()
	program, empty := filepath.Join(dir, "trainweld"), filepath.Join(dir, "empty")
	goTool(b, "build", "-o", program, "../../trainweld")
	buildEmpty(b, empty)
	job, runtime := filepath.Join(dir, "job.yaml"), filepath.Join(dir, "runtime.yaml")
	for file, text := range map[string]string{job: testenv.TrainJob(0), runtime: testenv.Runtime()} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	const runs = 60
	var ours, theirs time.Duration
	var walls, emptyWalls []time.Duration
	for b.Loop() {
		for range runs {
			cpu, wall := processTimes(b, program, "render", "-f", job, "-r", runtime)
			ours, walls = ours+cpu, append(walls, wall)
			cpu, wall = processTimes(b, empty)
			theirs, emptyWalls = theirs+cpu, append(emptyWalls, wall)
		}
	}
	b.ReportMetric(0, "ns/op") // of both sides
	wall, emptyWall := lowerQuartile(walls), lowerQuartile(emptyWalls)
	b.ReportMetric(float64(wall)/float64(time.Millisecond), "ms-wall")
	b.ReportMetric(wall.Seconds()/emptyWall.Seconds(), "times-empty-wall")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "times-empty-cpu")
}

// lowerQuartile returns a time that the machine's other work has disturbed little, as package turns
// does. The shortest time of all often belongs to one lucky run.
func lowerQuartile(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/4]
}

func processTimes(b *testing.B, name string, args ...string) (cpu, wall time.Duration) {
	b.Helper()
	run := exec.Command(name, args...)
	start := time.Now()
	if err := run.Run(); err != nil {
		b.Fatal(err)
	}
	return run.ProcessState.UserTime() + run.ProcessState.SystemTime(), time.Since(start)
}

// buildEmpty builds a program that imports what this one imports.
func buildEmpty(b *testing.B, binary string) {
	b.Helper()
	source := "package main\n\n"
	for path := range strings.FieldsSeq(goTool(b, "list", "-f", `{{join .Imports "\n"}}`, ".")) {
		source += fmt.Sprintf("import _ %q\n", path)
	}
	buildHere(b, binary, source+"\nfunc main() {}\n")
}

// buildHere builds a program. It stands in this folder for the compiler only, so that it can import
// the internal packages.
func buildHere(b *testing.B, binary, source string, flags ...string) {
	b.Helper()
	dir := b.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(source), 0o666); err != nil {
		b.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		b.Fatal(err)
	}
	overlay, err := json.Marshal(
		map[string]any{
			"Replace": map[string]string{filepath.Join(here, "program", "main.go"): file}})
	if err != nil {
		b.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o666); err != nil {
		b.Fatal(err)
	}
	goTool(b, append(append([]string{"build", "-overlay", overlayFile, "-o", binary}, flags...),
		"./program")...)
}

func goTool(tb testing.TB, args ...string) string {
	tb.Helper()
	run := exec.Command("go", args...)
	run.Stderr = os.Stderr
	out, err := run.Output()
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}
