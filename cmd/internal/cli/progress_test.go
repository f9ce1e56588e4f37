package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// TestProgress runs check by a clock of its own. On a terminal, a run of more than a second shows
// its progress, and wipes it before the summary.
func TestProgress(t *testing.T) {
	dir := testenv.WriteTrainJobs(t, 20)
	for _, tc := range []struct {
		name     string
		step     time.Duration // how long each look at the clock takes
		terminal bool
		want     []string
		reason   string
	}{
		{"slow", 200 * time.Millisecond, true,
			[]string{"\rread 5 of 21\x1b[K", "\rread 21 of 21\x1b[K",
				"\rchecked 21 of 21\x1b[K\r\x1b[K"}, "somebody waits"},
		{"slow, often", 60 * time.Millisecond, true,
			[]string{"\rread 17 of 21\x1b[K\rread 19 of 21\x1b[K"}, "ten times a second is enough"},
		{"fast", time.Millisecond, true, nil, "a short run needs no words"},
		{"no terminal", time.Second, false, nil, "nobody sees it in a log"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := time.Time{}
			var stdout, stderr bytes.Buffer
			p := host.Program{
				Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: host.Files{},
				Terminal: tc.terminal,
				Clock:    func() time.Time { now = now.Add(tc.step); return now },
			}
			if status := runLine(&p, []string{"check", dir}); status != exit.Done {
				t.Fatalf("status %d: %s", status, stderr.String())
			}
			got, summary, _ := strings.Cut(stderr.String(), "checked 20 TrainJobs")
			if tc.want == nil && got != "" {
				t.Errorf("says %q: %s", got, tc.reason)
			}
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("says %q, without %q: %s", got, want, tc.reason)
				}
			}
			if !strings.HasSuffix(summary, "nothing to report\n") || stdout.Len() > 0 {
				t.Errorf("ends with %q, and reports %q", summary, stdout.String())
			}
		})
	}
}

// TestProgressOfRender wants render to say how far it is, and to wipe that. In a pipe it says
// nothing.
func TestProgressOfRender(t *testing.T) {
	dir := testenv.WriteTrainJobs(t, 20)
	for _, terminal := range []bool{true, false} {
		now := time.Time{}
		var stdout, stderr bytes.Buffer
		p := host.Program{
			Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: host.Files{},
			Terminal: terminal,
			Clock:    func() time.Time { now = now.Add(200 * time.Millisecond); return now },
		}
		if status := runLine(
			&p, []string{"render", "-f", dir, "--output-dir", t.TempDir()}); status != exit.Done ||
			stdout.Len() > 0 {
			t.Fatalf("status %d: %s%s", status, stdout.String(), stderr.String())
		}
		said := stderr.String()
		if !terminal {
			if said != "" {
				t.Errorf("without a terminal it says %q", said)
			}
			continue
		}
		for _, want := range []string{"\rlooked at 21 of 21\x1b[K", "\rrendered 20 of 21\x1b[K",
			"\rwrote 20 of 20\x1b[K"} {
			if !strings.Contains(said, want) {
				t.Errorf("says %q, without %q", said, want)
			}
		}
		if !strings.HasSuffix(said, "\r\x1b[K") {
			t.Errorf("does not wipe the line: %q", said)
		}
	}
}

// collections runs the program in its own process. In place of the output, it prints the number of
// garbage collections, and the percentage of GOGC at the end.
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

// TestPostponeCollection wants no garbage collected for a few TrainJobs, which take more than Go's
// first limit of 4 MiB. After the first collection of a longer run, the heap grows as without the
// postponement.
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
		fmt.Fprintf(&jobs, "---\n%s", testenv.TrainJob(i))
	}
	fmt.Fprintf(&jobs, "---\n%s", testenv.Runtime())
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
	if times, percent := collects("", "check", job, "-r", definition); times == 0 ||
		percent != 100 {
		t.Errorf("one check collects garbage %d times, and then after %d %% more heap; want some "+
			"times, and 100 %%", times, percent)
	}
	if _, percent := collects("50", "render", "-f", job, "-r", definition); percent != 50 {
		t.Errorf("GOGC=50 makes %d %%", percent)
	}
}
