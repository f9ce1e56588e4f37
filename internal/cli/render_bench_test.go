//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/internal/exit"
	"github.com/trainweld/trainweld/internal/host"
	"github.com/trainweld/trainweld/internal/parallel"
)

// BenchmarkRender renders a directory of TrainJobs, a file each, of ten runtimes and with two managers' patches
// each, to a directory of files. Beside it, in turns, it only decodes these inputs and encodes these outputs
// with sigs.k8s.io/yaml, on as many cores and without touching a file. It reports the ratio of the two, in
// processor time and in wall time, how many cores were at work, and the most memory that the heap held.
func BenchmarkRender(b *testing.B) {
	for _, jobs := range []int{1000, 5000} {
		b.Run(fmt.Sprint("jobs=", jobs), func(b *testing.B) { benchmarkRender(b, jobs) })
	}
}

func benchmarkRender(b *testing.B, jobs int) {
	dir := writeRepository(b, jobs)
	args := []string{"render", "-R", "-f", filepath.Join(dir, "jobs"), "-r", filepath.Join(dir, "runtimes")}
	alone := newYAMLAlone(b, dir, args)
	var ours, theirs usage
	var peak uint64
	for n := 0; b.Loop(); n++ {
		runtime.GC()
		out := filepath.Join(b.TempDir(), fmt.Sprint(n))
		stop := watchHeap(&peak)
		ours.add(func() { mustRender(b, append(args, "--output-dir", out)) })
		stop()
		runtime.GC()
		theirs.add(func() { alone.run(b) })
	}
	b.ReportMetric(ours.cpu.Seconds()/theirs.cpu.Seconds(), "times-yaml-cpu")
	b.ReportMetric(ours.wall.Seconds()/theirs.wall.Seconds(), "times-yaml-wall")
	b.ReportMetric(ours.cpu.Seconds()/ours.wall.Seconds(), "cores")
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
}

// mustRender runs the program in this process.
func mustRender(tb testing.TB, args []string) []byte {
	tb.Helper()
	var stdout, stderr bytes.Buffer
	p := host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Files: host.Files{}}
	if status := runLine(&p, args); status != exit.Done {
		tb.Fatalf("status %d\n%s", status, stderr.String())
	}
	return stdout.Bytes()
}

// usage is what some work took.
type usage struct{ cpu, wall time.Duration }

func (u *usage) add(work func()) {
	cpu, start := processorTime(), time.Now()
	work()
	u.cpu += processorTime() - cpu
	u.wall += time.Since(start)
}

// processorTime is what this process has used on all cores, in its own code and in the kernel.
func processorTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// yamlAlone is the floor: the same YAML library, and nothing else.
type yamlAlone struct {
	jobs, runtimes [][]byte
	outputs        []*jobset.JobSet // one of each runtime, so that holding them costs no memory
}

func newYAMLAlone(b *testing.B, dir string, args []string) *yamlAlone {
	b.Helper()
	alone := &yamlAlone{jobs: texts(b, filepath.Join(dir, "jobs")), runtimes: texts(b, filepath.Join(dir, "runtimes"))}
	for i, text := range bytes.SplitAfter(mustRender(b, args), []byte("\n---\n")) {
		if i == len(alone.runtimes) {
			break
		}
		js := &jobset.JobSet{}
		if err := yaml.Unmarshal(text, js); err != nil {
			b.Fatal(err)
		}
		alone.outputs = append(alone.outputs, js)
	}
	return alone
}

func (y *yamlAlone) run(b *testing.B) {
	for _, text := range y.runtimes {
		if err := yaml.Unmarshal(text, new(trainer.ClusterTrainingRuntime)); err != nil {
			b.Fatal(err)
		}
	}
	parallel.Ordered(len(y.jobs), func(i int) error {
		if err := yaml.Unmarshal(y.jobs[i], new(trainer.TrainJob)); err != nil {
			return err
		}
		_, err := yaml.Marshal(y.outputs[i%len(y.outputs)])
		return err
	}, func(_ int, err error) {
		if err != nil {
			b.Fatal(err)
		}
	})
}

// texts are the files below a directory.
func texts(tb testing.TB, dir string) [][]byte {
	tb.Helper()
	var texts [][]byte
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		texts = append(texts, text)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return texts
}

// writeRepository writes ten runtimes and as many TrainJobs as asked for, a file each, in nested directories
// of a hundred, as a repository of a platform has them.
func writeRepository(tb testing.TB, jobs int) string {
	tb.Helper()
	dir := tb.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			tb.Fatal(err)
		}
	}
	const runtimes = 10
	for i := range runtimes {
		write(fmt.Sprintf("runtimes/torch-%d.yaml", i), strings.Replace(benchRuntime, "name: torch", fmt.Sprint("name: torch-", i), 1))
	}
	for i := range jobs {
		text := strings.ReplaceAll(benchTrainJob, "NNN", fmt.Sprintf("%05d", i))
		write(fmt.Sprintf("jobs/%02d/%02d/job-%05d.yaml", i/1000, i/100%10, i), strings.Replace(text, "name: torch", fmt.Sprint("name: torch-", i%runtimes), 1))
	}
	return dir
}
