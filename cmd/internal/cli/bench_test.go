package cli

import (
	"io"
	"runtime/metrics"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
)

// BenchmarkPods writes 100,000 Pods of one JobSet as YAML, and the same Pods with sigs.k8s.io/yaml.
// The two take turns, so the ratio holds when the machine's speed drifts.
func BenchmarkPods(b *testing.B) {
	const pods = 100_000
	js := wideJobSet(pods)
	var ours, theirs time.Duration
	var bytes, theirBytes int64
	for b.Loop() {
		for pod, err := range render.Pods(js, render.PodsOptions{}) {
			if err != nil {
				b.Fatal(err)
			}
			var n counter
			start := time.Now()
			if err := manifest.Encode(&n, manifest.YAML, pod); err != nil {
				b.Fatal(err)
			}
			ours += time.Since(start)
			bytes += int64(n)
			start = time.Now()
			text, err := yaml.Marshal(pod)
			if err != nil {
				b.Fatal(err)
			}
			theirs += time.Since(start)
			theirBytes += int64(len(text))
		}
	}
	b.ReportMetric(float64(bytes)/1e6/ours.Seconds(), "MB/s")
	b.ReportMetric(float64(theirBytes)/1e6/theirs.Seconds(), "sigs-yaml-MB/s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "times-sigs-yaml")
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

var _ io.Writer = (*counter)(nil)

// wideJobSet is a JobSet of one job with as many Pods.
func wideJobSet(pods int32) *jobset.JobSet {
	js := &jobset.JobSet{}
	js.Name, js.Namespace = "wide", "default"
	job := jobset.ReplicatedJob{Name: "node"}
	mode := batchv1.IndexedCompletion
	job.Template.Spec.CompletionMode = &mode
	job.Template.Spec.Parallelism, job.Template.Spec.Completions = &pods, &pods
	job.Template.Spec.Template.Spec = corev1.PodSpec{
		NodeSelector: map[string]string{"pool": "a"},
		Containers: []corev1.Container{
			{Name: "node", Image: "registry.example.com/torch:2.9",
				Command: []string{"torchrun", "train.py"},
				Env:     []corev1.EnvVar{{Name: "PET_NNODES", Value: "100000"}}},
			{Name: "metrics", Image: "registry.example.com/metrics:1.4"},
		},
	}
	js.Spec.ReplicatedJobs = []jobset.ReplicatedJob{job}
	return js
}

// watchHeap notes the most memory that the heap holds, until it is stopped.
func watchHeap(peak *uint64) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(sample)
			*peak = max(*peak, sample[0].Value.Uint64())
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() { close(done); <-ended }
}
