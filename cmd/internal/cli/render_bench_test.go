//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/internal/roundrobin"
)

// BenchmarkRender renders a directory of TrainJobs to a directory, with a file for each. They have
// ten runtimes, and patches of two managers. In turns, it only decodes these inputs and encodes
// these outputs with sigs.k8s.io/yaml, on as many cores and without files. It reports the ratios of
// processor time and of wall time, the busy cores, and the peak of the heap.
//
// The files are in memory if the system has a file system there. The time of a disk depends on
// other programs. Before ext4 creates a file, it looks through the inodes of all files deleted
// within the last seconds.
func BenchmarkRender(b *testing.B) {
	const memory = "/dev/shm"
	for _, jobs := range []int{1000, 5000} {
		b.Run(fmt.Sprint("jobs=", jobs), func(b *testing.B) {
			if info, err := os.Stat(memory); err == nil && info.IsDir() {
				b.Setenv("TMPDIR", memory)
			}
			benchmarkRender(b, jobs)
		})
	}
}

func benchmarkRender(b *testing.B, jobs int) {
	dir := writeRepository(b, jobs)
	args := []string{"render", "-R", "-f", filepath.Join(dir, "jobs"), "-r",
		filepath.Join(dir, "runtimes")}
	alone := newYAMLAlone(b, dir, args)
	out := filepath.Join(dir, "out")
	ours := &roundrobin.Side{
		Name:  "render",
		Run:   func() error { mustRender(b, append(args, "--output-dir", out)); return nil },
		After: func() error { return os.RemoveAll(out) },
	}
	theirs := &roundrobin.Side{Name: "yaml", Run: func() error { alone.run(b); return nil }}
	roundrobin.Whole(b, 10, ours, theirs)
	var peak uint64
	stop := watchHeap(&peak)
	mustRender(b, append(args, "--output-dir", out))
	stop()
	b.ReportMetric(ours.CPU()/theirs.CPU(), "times-yaml-cpu")
	b.ReportMetric(ours.Quick()/theirs.Quick(), "times-yaml-wall")
	b.ReportMetric(ours.Cores(), "cores")
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
}

// mustRender runs the program in this process.
func mustRender(tb testing.TB, args []string) []byte {
	tb.Helper()
	status, stdout, stderr := ran("", args...)
	if status != exit.Done {
		tb.Fatalf("status %d\n%s", status, stderr)
	}
	return []byte(stdout)
}

// yamlAlone is the floor: the same YAML library, and nothing else.
type yamlAlone struct {
	jobs, runtimes [][]byte
	outputs        []*jobset.JobSet // one of each runtime, so that holding them costs no memory
}

func newYAMLAlone(b *testing.B, dir string, args []string) *yamlAlone {
	b.Helper()
	alone := &yamlAlone{jobs: texts(b, filepath.Join(dir, "jobs")),
		runtimes: texts(b, filepath.Join(dir, "runtimes"))}
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
