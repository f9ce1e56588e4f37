package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/internal/testenv"
)

// BenchmarkFix repairs 1,000 files, and checks the same files before. A repair may take three times as long as the check. It judges
// the files twice, and edits and writes them.
func BenchmarkFix(b *testing.B) {
	const jobs, most = 1000, 3
	dir := testenv.WriteTrainJobs(b, jobs)
	names, err := filepath.Glob(filepath.Join(dir, "job-*.yaml"))
	if err != nil || len(names) != jobs {
		b.Fatal(len(names), err)
	}
	broken := make([][]byte, jobs)
	for i, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		broken[i] = bytes.Replace(data, []byte("nodeSelector:"), []byte("nodeSelctor:"), 1)
		if bytes.Equal(data, broken[i]) {
			b.Fatal("the TrainJob has no field to misspell")
		}
	}
	timed := func(status int, args ...string) time.Duration {
		start := time.Now()
		var stdout, stderr bytes.Buffer
		p := host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: host.Files{}}
		if got := runLine(&p, args); got != status {
			b.Fatalf("status %d, want %d\n%s", got, status, stderr.String())
		}
		if want := fmt.Sprintf("repaired %d findings in %d files", jobs, jobs); status == exit.Done && !strings.HasPrefix(stderr.String(), want) {
			b.Fatalf("%q, want %q", stderr.String(), want)
		}
		return time.Since(start)
	}
	var check, fix time.Duration
	for b.Loop() {
		for i, name := range names {
			if err := os.WriteFile(name, broken[i], 0o666); err != nil {
				b.Fatal(err)
			}
		}
		check += timed(exit.Findings, "check", dir)
		fix += timed(exit.Done, "check", dir, "--fix")
	}
	times := fix.Seconds() / check.Seconds()
	b.ReportMetric(times, "times-check")
	if times > most {
		b.Errorf("a repair takes %.1f times as long as a check, want at most %d", times, most)
	}
}
