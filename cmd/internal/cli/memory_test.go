//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trainweld/trainweld/internal/testenv"
)

// TestMemoryIsFlat renders repositories of a thousand and of five thousand TrainJobs, each in its
// own process. Neither takes much memory, and the second takes little more than the first.
func TestMemoryIsFlat(t *testing.T) {
	if testenv.LongOnly(
		t, "renders thousands of files, and the race detector takes memory of its own"); testenv.Race {
		t.Skip("renders thousands of files, and the race detector takes memory of its own")
	}
	const most, more = 150 << 20, 40 << 20
	var peaks [2]int64
	for i, jobs := range []int{1000, 5000} {
		dir := writeRepository(t, jobs)
		run := exec.Command("trainweld", "render", "-R", "-f", filepath.Join(dir, "jobs"), "-r",
			filepath.Join(dir, "runtimes"), "--output-dir", filepath.Join(dir, "out"))
		var out bytes.Buffer
		run.Stdout, run.Stderr = &out, &out
		peak, err := peakOf(run)
		if err != nil || out.Len() > 0 {
			t.Fatalf("%v: without a terminal it says nothing, and not %q", err, out.String())
		}
		peaks[i] = peak
		t.Logf("%d TrainJobs: %d MiB", jobs, peaks[i]>>20)
		if peaks[i] > most {
			t.Errorf("%d TrainJobs take %d MiB, more than %d", jobs, peaks[i]>>20, most>>20)
		}
	}
	if peaks[1]-peaks[0] > more {
		t.Errorf("five times as many TrainJobs take %d MiB more", (peaks[1]-peaks[0])>>20)
	}
}

// TestPodsAreStreamed writes 100,000 Pods in a process of its own. It writes each before it makes
// the next one.
func TestPodsAreStreamed(t *testing.T) {
	if testenv.LongOnly(
		t, "writes 270 MB, and the race detector takes memory of its own"); testenv.Race {
		t.Skip("writes 270 MB, and the race detector takes memory of its own")
	}
	const most = 100 << 20
	dir := testenv.WriteTrainJobs(t, 1)
	testenv.WriteIn(t, dir, "job-00000.yaml",
		strings.Replace(testenv.TrainJob(0), "numNodes: 4", "numNodes: 100000", 1))
	run := exec.Command("trainweld", "render", "-f", dir, "--to=pods")
	written := new(counter)
	var stderr bytes.Buffer
	run.Stdout, run.Stderr = written, &stderr
	peak, err := peakOf(run)
	if err != nil || stderr.Len() > 0 || *written < 200<<20 {
		t.Fatalf("%v: %d bytes: %s", err, *written, stderr.String())
	}
	t.Logf("%d MiB for %d MiB of Pods", peak>>20, *written>>20)
	if peak > most {
		t.Errorf("100,000 Pods take %d MiB, more than %d", peak>>20, most>>20)
	}
}

// peakOf runs a command and returns the most memory that it took, in bytes. On Linux the kernel
// also counts the memory that the parent took at the start. So peakOf watches the process.
func peakOf(run *exec.Cmd) (int64, error) {
	if runtime.GOOS != "linux" {
		err := run.Run()
		return run.ProcessState.SysUsage().(*syscall.Rusage).Maxrss, err
	}
	if err := run.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	var peak int64
	for {
		select {
		case err := <-ended:
			return peak, err
		case <-time.After(2 * time.Millisecond):
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", run.Process.Pid))
			if _, after, ok := strings.Cut(string(status), "VmHWM:"); ok {
				var kilobytes int64
				if _, err := fmt.Sscan(after, &kilobytes); err == nil {
					peak = max(peak, kilobytes<<10)
				}
			}
		}
	}
}

// writeRepository writes ten runtimes and the given number of TrainJobs, a file each, to a new
// directory. The directory resembles the repository of a platform. It has a folder runtimes, and a
// folder jobs with nested folders of a hundred TrainJobs.
func writeRepository(t testing.TB, jobs int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	const runtimes = 10
	named := func(text string, i int) string {
		return strings.Replace(text, "name: torch", fmt.Sprint("name: torch-", i%runtimes), 1)
	}
	for i := range runtimes {
		testenv.WriteIn(t, dir, fmt.Sprintf("runtimes/torch-%d.yaml", i), named(testenv.Runtime(), i))
	}
	for i := range jobs {
		testenv.WriteIn(t, dir,
			filepath.Join("jobs", fmt.Sprintf("%02d/%02d/job-%05d.yaml", i/1000, i/100%10, i)),
			named(testenv.TrainJob(i), i))
	}
	return dir
}
