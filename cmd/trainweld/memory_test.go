//go:build unix

package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// TestMemoryIsFlat renders repositories of a thousand and of five thousand TrainJobs, each as a process of its own:
// neither takes much memory, and the second hardly more than the first.
func TestMemoryIsFlat(t *testing.T) {
	if testing.Short() || underRace {
		t.Skip("renders thousands of files, and the race detector takes memory of its own")
	}
	const most, more = 150 << 20, 40 << 20
	var peaks [2]int64
	for i, jobs := range []int{1000, 5000} {
		dir := writeRepository(t, jobs)
		run := exec.Command("trainweld", "render", "-R", "-f", filepath.Join(dir, "jobs"), "-r", filepath.Join(dir, "runtimes"), "--output-dir", filepath.Join(dir, "out"))
		if out, err := run.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%v: without a terminal it says nothing, and not %q", err, out)
		}
		peaks[i] = run.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
		if runtime.GOOS == "linux" {
			peaks[i] <<= 10 // in kilobytes, where others count bytes
		}
		t.Logf("%d TrainJobs: %d MiB", jobs, peaks[i]>>20)
		if peaks[i] > most {
			t.Errorf("%d TrainJobs take %d MiB, more than %d", jobs, peaks[i]>>20, most>>20)
		}
	}
	if peaks[1]-peaks[0] > more {
		t.Errorf("five times as many TrainJobs take %d MiB more", (peaks[1]-peaks[0])>>20)
	}
}
