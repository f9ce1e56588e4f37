package render_test

import (
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
)

// shapedJobSet is a JobSet of some shape: so many Jobs, so many Pods, with an index or without.
func shapedJobSet(seed int64) *jobset.JobSet {
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	js := &jobset.JobSet{}
	js.Name, js.Namespace = "llm", "team"
	for i := range 1 + random.IntN(4) {
		rjob := jobset.ReplicatedJob{
			Name: string(rune('a' + i)), Replicas: int32(1 + random.IntN(3))}
		rjob.Template.Spec.Template.Spec.Containers = []corev1.Container{{Name: "node"}}
		number := func() *int32 {
			if random.IntN(4) == 0 {
				return nil
			}
			n := int32(random.IntN(6))
			return &n
		}
		rjob.Template.Spec.Parallelism, rjob.Template.Spec.Completions = number(), number()
		if random.IntN(3) == 0 {
			mode := batchv1.NonIndexedCompletion
			rjob.Template.Spec.CompletionMode = &mode
		}
		js.Spec.ReplicatedJobs = append(js.Spec.ReplicatedJobs, rjob)
	}
	if random.IntN(3) == 0 {
		js.Spec.Network = &jobset.Network{Subdomain: "net"}
	}
	return js
}

// TestSelectionsMakeTheWhole: cut the indexes anywhere, take the pieces of every Job apart, and
// together they are all Pods, each once.
func TestSelectionsMakeTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for range 300 {
		cut, all := r.IntN(7), r.IntN(2) == 0
		js := shapedJobSet(r.Int64())
		whole := map[string]int{}
		for _, pod := range pods(t, js, render.PodsOptions{AllIndexes: all}) {
			whole[pod.GenerateName]++
		}
		union := map[string]int{}
		for _, child := range jobs(t, js, render.JobsOptions{}).Jobs {
			for _, r := range []render.IndexRange{
				{First: 0, Last: cut}, {First: cut + 1, Last: cut + 1},
				{First: cut + 2, Last: 1 << 30}} {
				for _, pod := range pods(
					t, js, render.PodsOptions{AllIndexes: all, Job: child.Job.Name, Indexes: &r}) {
					union[pod.GenerateName]++
				}
			}
		}
		if !maps.Equal(whole, union) {
			t.Fatalf("cut after %d: whole %v, union %v", cut, whole, union)
		}
	}
}

// TestEndpoints_Pods draws coordinators. Either the endpoint is the host of a Pod, or a
// finding says that no Pod has it.
func TestEndpoints_Pods(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0))
	for range 300 {
		js := shapedJobSet(r.Int64())
		name, job, index := []string{"a", "b", "c", "e"}[r.IntN(4)], r.IntN(5)-1, r.IntN(8)-1
		js.Spec.Coordinator = &jobset.Coordinator{ReplicatedJob: name, JobIndex: job,
			PodIndex: index}
		out := jobs(t, js, render.JobsOptions{})
		endpoint := out.Jobs[0].Job.Labels[jobset.CoordinatorKey]
		exists := false
		for _, pod := range pods(t, js, render.PodsOptions{AllIndexes: true}) {
			exists = exists || pod.Spec.Hostname != "" && pod.Spec.Hostname+"."+
				pod.Spec.Subdomain == endpoint
		}
		reported := slices.ContainsFunc(out.Findings, func(f finding.Finding) bool {
			return f.Code == codes.NoSuchPod
		})
		if exists == reported {
			t.Fatalf("%s: exists %v, reported %v", endpoint, exists, reported)
		}
	}
}

// manyPods is one TrainJob's JobSet of 100,000 Pods with an ordinary container.
func manyPods(t testing.TB) *jobset.JobSet {
	js := jobSet(t, strings.Replace(oneNode, "image: trainer:1",
		"image: trainer:1, command: [torchrun, train.py], env: [{name: PET_NNODES, value: "+
			"'100000'}, {name: PET_MASTER_ADDR, value: llm-node-0-0.llm}], resources: {limits: "+
			"{nvidia.com/gpu: 8}}", 1))
	n := int32(100_000)
	js.Spec.ReplicatedJobs[0].Template.Spec.Parallelism = &n
	js.Spec.ReplicatedJobs[0].Template.Spec.Completions = &n
	return js
}

func TestPodsStreamInConstantMemory(t *testing.T) {
	js := manyPods(t)
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before, n := heap(), 0
	for _, err := range render.Pods(js, render.PodsOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%25_000 == 0 {
			if grown := int64(heap()) - int64(before); grown > 1<<20 {
				t.Errorf("after %d Pods the heap has grown by %d bytes", n, grown)
			}
		}
	}
	if n != 100_000 {
		t.Errorf("%d Pods", n)
	}
}

// TestInputs_Shared: several goroutines may render one JobSet, and none changes it.
func TestInputs_Shared(t *testing.T) {
	js := jobSet(t, `
  volumeClaimPolicies: [{templates: [{metadata: {name: cache, labels: {a: b}}}]}]
  replicatedJobs:
  - name: node
    template:
      metadata: {annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}
      spec:
        template:
          metadata: {finalizers: [example.com/f]}
          spec: {containers: [{name: node, env: [{name: A}], volumeMounts: [{name: cache, mountPath: /c}]}]}
`)
	before := js.DeepCopy()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for _, stored := range []bool{false, true} {
				opts := render.JobsOptions{Stored: stored, OwnerReferences: true}
				out := jobs(t, js, opts)
				out.Jobs[0].Job.Spec.Template.Spec.Containers[0].Env[0].Value = "changed"
				out.Claims[0].Labels["a"] = "changed"
				for _, pod := range pods(t, js, render.PodsOptions{JobsOptions: opts}) {
					pod.Labels["changed"] = "yes"
				}
			}
		})
	}
	group.Wait()
	if diff := cmp.Diff(before, js); diff != "" {
		t.Errorf("the input was changed:\n%s", diff)
	}
}
