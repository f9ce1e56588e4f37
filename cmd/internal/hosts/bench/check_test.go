//go:build unix

package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/spf13/cobra"
	"github.com/yannh/kubeconform/pkg/validator"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/cli"
	"github.com/trainweld/trainweld/cmd/internal/commandline"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/internal/roundrobin"
	"github.com/trainweld/trainweld/internal/testenv"
)

// BenchmarkCheck checks 1,000 TrainJobs of one runtime with the program and with kubeconform. It
// also decodes and encodes the same files with sigs.k8s.io/yaml. All read the files from disk, and
// use all cores.
func BenchmarkCheck(b *testing.B) {
	const jobs = 1000
	dir := testenv.WriteTrainJobs(b, jobs)
	names := filesOf(b, dir, jobs+1)
	v := newValidator(b)
	floor := &roundrobin.Side{Name: "yaml", Run: func() error { return each(names, recode) }}
	ours := &roundrobin.Side{Name: "check", Run: func() error { return check(dir, jobs) }}
	theirs := &roundrobin.Side{Name: "kubeconform", Run: func() error {
		return each(names, func(name string) error { return conform(v, name) })
	}}
	sides := []*roundrobin.Side{floor, ours, theirs}
	roundrobin.Whole(b, 5, sides...)
	for _, s := range sides {
		b.ReportMetric((jobs+1)/(s.Quick()/1e9), s.Name+"-documents/s")
		b.ReportMetric(s.CPU()/1e6/(jobs+1), s.Name+"-cpu-ms")
	}
	b.ReportMetric(ours.CPU()/floor.CPU(), "times-yaml-cpu")
	b.ReportMetric(ours.CPU()/theirs.CPU(), "times-kubeconform-cpu")
}

// TestSides checks that each side reads every file. Both judges must accept the TrainJobs of the
// benchmark, and reject an unknown field.
func TestSides(t *testing.T) {
	const jobs = 3
	dir := testenv.WriteTrainJobs(t, jobs)
	v := newValidator(t)
	for _, name := range filesOf(t, dir, jobs+1) {
		if err := recode(name); err != nil {
			t.Error(err)
		}
		if err := conform(v, name); err != nil {
			t.Error(err)
		}
	}
	if err := check(dir, jobs); err != nil {
		t.Error(err)
	}
	testenv.WriteIn(t, dir, "job-00000.yaml",
		strings.Replace(testenv.TrainJob(0), "numNodes:", "nodes:", 1))
	if err := conform(v, filepath.Join(dir, "job-00000.yaml")); err == nil ||
		!strings.Contains(err.Error(), "nodes") {
		t.Errorf("kubeconform takes an unknown field: %v", err)
	}
	if err := check(dir, jobs); err == nil || !strings.Contains(err.Error(), "nodes") {
		t.Errorf("check takes an unknown field: %v", err)
	}
}

// filesOf returns the files of a folder.
func filesOf(tb testing.TB, dir string, want int) []string {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(names) != want {
		tb.Fatalf("%d files, want %d: %v", len(names), want, err)
	}
	return names
}

// each calls work for every file, on all cores, and returns the first error.
func each(names []string, work func(name string) error) (first error) {
	parallel.Ordered(len(names), func(i int) error {
		return work(names[i])
	}, func(_ int, err error) {
		if first == nil {
			first = err
		}
	})
	return first
}

// check runs the command in this process.
func check(dir string, jobs int) error {
	var stdout, stderr bytes.Buffer
	p := &host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Files: host.Files{}}
	args := []string{"check", dir}
	status := commandline.Run(p, args, func(p *host.Program) *cobra.Command {
		return cli.Root(p, args)
	})
	want := fmt.Sprintf("checked %d TrainJobs and 1 runtime in %d documents: ", jobs, jobs+1)
	if status != exit.Done || !strings.HasPrefix(stderr.String(), want) {
		return fmt.Errorf("status %d: %s%s", status, stdout.String(), stderr.String())
	}
	return nil
}

// recode decodes a file and encodes the object again.
func recode(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var object any = new(trainer.TrainJob)
	if filepath.Base(name) == "runtime.yaml" {
		object = new(trainer.ClusterTrainingRuntime)
	}
	if err := yaml.Unmarshal(data, object); err != nil {
		return err
	}
	_, err = yaml.Marshal(object)
	return err
}

// conform validates the documents of a file.
func conform(v validator.Validator, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	for _, result := range v.Validate(name, file) {
		if result.Status != validator.Valid {
			return fmt.Errorf("%s: status %d: %w", name, result.Status, result.Err)
		}
	}
	return nil
}
