package render_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/release"
)

// A queue asks for the Pod sets of a TrainJob in JSON.
func ExamplePodSets() {
	runtime := queuedRuntime()
	queue := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		job := &trainer.TrainJob{}
		if err := json.NewDecoder(r.Body).Decode(job); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		render.DefaultTrainJob(job, nil)
		sets, err := render.PodSets(render.Input{TrainJob: job, Runtime: runtime}, render.Options{})
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		_ = json.NewEncoder(w).Encode(
			map[string]any{"podSets": len(sets), "name": sets[0].Name, "count": sets[0].Count,
				"totals": render.Totals(sets)})
	}))
	defer queue.Close()
	answer, err := http.Post(queue.URL, "application/json",
		strings.NewReader(`{"metadata": {"name": "llm"}, "spec": {"trainer": {"numNodes": 4}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	fmt.Print(string(text))
	// Output: {"count":4,"name":"node","podSets":1,"totals":{"cpu":"4","nvidia.com/gpu":"32"}}
}

// queuedRuntime has a node with 8 GPUs, which are limits only.
func queuedRuntime() *trainer.TrainingRuntimeSpec {
	runtime := &trainer.TrainingRuntimeSpec{MLPolicy: &trainer.MLPolicy{}}
	jobs := &runtime.Template.Spec.ReplicatedJobs
	*jobs = append(*jobs, twoStages().Spec.ReplicatedJobs[1])
	node := &(*jobs)[0]
	node.DependsOn, node.Template.Labels = nil,
		map[string]string{"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
	node.Template.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("1")},
		Limits:   corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")},
	}
	render.DefaultRuntime(runtime, nil)
	return runtime
}

func TestPodSets_Findings(t *testing.T) {
	annotate := func(
		name, value string) func(*trainer.TrainJob, *trainer.TrainingRuntimeSpec, *render.Options) {
		return func(_ *trainer.TrainJob, runtime *trainer.TrainingRuntimeSpec, _ *render.Options) {
			runtime.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Annotations = map[string]string{"kueue.x-k8s.io/podset-" + name: value}
		}
	}
	for _, test := range []struct {
		name   string
		change func(*trainer.TrainJob, *trainer.TrainingRuntimeSpec, *render.Options)
		want   string // the finding
	}{
		{"nothing", func(*trainer.TrainJob, *trainer.TrainingRuntimeSpec, *render.Options) {}, ""},
		{"resources",
			func(job *trainer.TrainJob, _ *trainer.TrainingRuntimeSpec, _ *render.Options) {
				job.Spec.Trainer = &trainer.Trainer{
					ResourcesPerNode: &corev1.ResourceRequirements{
						Requests: corev1.ResourceList{"cpu": resource.MustParse("3")}}}
			}, `TW469 .spec.trainer.resourcesPerNode: Kueue counts cpu=3 a Pod for replicated job "node"; Trainer 2.3 runs cpu=3,nvidia.com/gpu=8`},
		{"no replicas",
			func(_ *trainer.TrainJob, runtime *trainer.TrainingRuntimeSpec, _ *render.Options) {
				runtime.Template.Spec.ReplicatedJobs[0].Replicas,
					runtime.Template.Spec.ReplicatedJobs[0].Template.Labels = 0, nil
			}, `TW469 .spec.template.spec.replicatedJobs[name="node"]: Kueue counts 0 Pods for replicated job "node"; Trainer 2.3 runs 2`},
		{"a release before patches",
			func(_ *trainer.TrainJob, _ *trainer.TrainingRuntimeSpec, o *render.Options) {
				o.Release, _ = release.Parse("2.1")
			}, `TW468 .spec: Kueue makes no Workload of the TrainJob: spec.runtimePatches does not exist in Trainer 2.1`},
		// counts with slice-required-topology only
		{"no number", annotate("slice-size", "two"), ""},
		{"no boolean", annotate("unconstrained-topology", "yes"),
			`TW468 .spec: Kueue makes no Workload of the TrainJob: replicated job "node": annotation kueue.x-k8s.io/podset-unconstrained-topology: invalid value "yes": must be true or false`},
		{"four layers", annotate("slice-required-topology-constraints", "[{},{},{},{}]"),
			`TW468 .spec: Kueue makes no Workload of the TrainJob: replicated job "node": annotation kueue.x-k8s.io/podset-slice-required-topology-constraints: invalid value "[{},{},{},{}]": must be a list of 1 to 3 layers`},
		{"no jobs", func(_ *trainer.TrainJob, runtime *trainer.TrainingRuntimeSpec,
			_ *render.Options) {
			runtime.Template.Spec.ReplicatedJobs = nil
		}, `TW468 .spec: Kueue makes no Workload of the TrainJob: invalid number of Pod sets 0: must be 1 to 18`},
	} {
		t.Run(test.name, func(t *testing.T) {
			job, runtime, o := &trainer.TrainJob{}, queuedRuntime(), render.Options{}
			job.Name = "llm"
			test.change(job, runtime, &o)
			sets, err := render.PodSets(render.Input{TrainJob: job, Runtime: runtime}, o)
			found, _ := err.(finding.List)
			for _, set := range sets {
				found = append(found, set.Findings...)
			}
			got := ""
			for _, f := range found {
				got += fmt.Sprintf("%s %s: %s", f.Code, f.Path, f.Message)
			}
			if got != test.want {
				t.Errorf("PodSets() found\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
