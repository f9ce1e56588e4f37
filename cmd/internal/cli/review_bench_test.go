package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/parallel"
	"github.com/trainweld/trainweld/internal/testenv"
)

// BenchmarkReview checks 5,000 TrainJobs in 200 overlays, and compares them with the revision
// before a change. Beside each, in turns, kustomize alone builds the same overlays on all cores. It
// reports the ratios of the times, and the most memory that the heap held.
func BenchmarkReview(b *testing.B) {
	const overlays, jobs = 200, 25
	writeOverlays(b, overlays, jobs)
	var check, diff, build time.Duration
	var peak uint64
	for b.Loop() {
		build += buildOverlays(b, overlays)
		stop := watchHeap(&peak)
		check += review(b, exit.Done, fmt.Sprintf("checked %d TrainJobs", overlays*jobs), "check",
			"-k", "overlays")
		build += buildOverlays(b, overlays)
		diff += review(b, 1, "", "diff", "--git", "HEAD", "-k", "overlays", "-o", "json")
		stop()
	}
	b.ReportMetric(build.Seconds()/float64(2*b.N), "builds-s")
	b.ReportMetric(2*check.Seconds()/build.Seconds(), "check-times-builds")
	b.ReportMetric(diff.Seconds()/build.Seconds(), "diff-times-builds")
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
}

// review runs a command of this process.
func review(b *testing.B, status int, told string, args ...string) time.Duration {
	b.Helper()
	runtime.GC()
	var stdout counter
	var stderr bytes.Buffer
	p := host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Files: host.Files{}}
	start := time.Now()
	if got := runLine(&p, args); got != status || !strings.Contains(stderr.String(), told) {
		b.Fatalf("%q: status %d\n%.2000s", args, got, stderr.String())
	}
	return time.Since(start)
}

// buildOverlays builds all overlays with kustomize alone.
func buildOverlays(b *testing.B, overlays int) time.Duration {
	b.Helper()
	runtime.GC()
	openapi.Schema() // concurrent builds only read it
	start := time.Now()
	parallel.Ordered(overlays, func(i int) error {
		made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(),
			overlayName(i))
		if err == nil {
			_, err = made.AsYaml()
		}
		return err
	}, func(_ int, err error) {
		if err != nil {
			b.Fatal(err)
		}
	})
	return time.Since(start)
}

func overlayName(i int) string { return fmt.Sprintf("overlays/o%03d", i) }

// writeOverlays makes the working directory a repository of overlays over one base. The working
// tree has other images than the revision.
func writeOverlays(b *testing.B, overlays, jobs int) {
	b.Helper()
	b.Chdir(b.TempDir())
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	base := "resources:\n- runtime.yaml\n"
	write("base/runtime.yaml", testenv.Runtime())
	for i := range jobs {
		name := fmt.Sprintf("job-%05d.yaml", i)
		write("base/"+name, testenv.TrainJob(i))
		base += "- " + name + "\n"
	}
	write("base/kustomization.yaml", base)
	overlay := func(i int, tag string) {
		write(overlayName(i)+"/kustomization.yaml", fmt.Sprintf(`resources: [../../base]
nameSuffix: -o%03d
images: [{name: registry.example.com/metrics, newTag: %q}]
labels: [{pairs: {cluster: o%03[1]d}}]
patches:
- target: {kind: TrainJob}
  patch: '[{"op": "add", "path": "/spec/runtimeRef/name", "value": "torch-o%03[1]d"}, {"op": "add", "path": "/spec/trainer/numNodes", "value": %[3]d}]'
`, i, tag, i%7+1))
	}
	for i := range overlays {
		overlay(i, "2.8")
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "-m",
			"before"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			b.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	for i := range overlays {
		overlay(i, "2.9")
	}
}
