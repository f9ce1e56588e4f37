package render_test

import (
	"fmt"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/legacy"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// twoStages is a JobSet that loads data and then trains on two nodes.
func twoStages() *jobset.JobSet {
	nodes := int32(2)
	js := &jobset.JobSet{}
	js.Name, js.Namespace = "llm", "team"
	js.Spec.ReplicatedJobs = []jobset.ReplicatedJob{
		{Name: "data"},
		{Name: "node",
			DependsOn: []jobset.DependsOn{{Name: "data", Status: jobset.DependencyComplete}}},
	}
	js.Spec.ReplicatedJobs[1].Template.Spec = batchv1.JobSpec{
		Parallelism: &nodes, Completions: &nodes}
	js.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "node", Image: "trainer"}}
	return js
}

func ExampleJobs() {
	out, err := render.Jobs(twoStages(), render.JobsOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("Service", out.Service.Name)
	for _, child := range out.Jobs {
		fmt.Println("Job", child.Job.Name)
		for _, wait := range child.WaitsFor {
			fmt.Printf("  waits until %s is %s\n", wait.Name, wait.Status)
		}
	}
	// Output:
	// Service llm
	// Job llm-data-0
	// Job llm-node-0
	//   waits until data is Complete
}

func ExamplePods() {
	for pod, err := range render.Pods(twoStages(), render.PodsOptions{Job: "node"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s.%s: %s\n", pod.Spec.Hostname, pod.Spec.Subdomain,
			pod.Spec.Containers[0].Env[0].Name)
	}
	// Output:
	// llm-node-0-0.llm: JOB_COMPLETION_INDEX
	// llm-node-0-1.llm: JOB_COMPLETION_INDEX
}

func ExampleDefaultJobSet() {
	js := render.DefaultJobSet(twoStages())
	fmt.Println(js.Spec.ReplicatedJobs[0].Replicas,
		*js.Spec.ReplicatedJobs[0].Template.Spec.CompletionMode, js.Spec.SuccessPolicy.Operator)
	// Output: 1 Indexed All
}

func ExampleJobSet_release() {
	jobSet := func(file string, data []byte) error {
		r, err := release.Parse("2.1")
		if err != nil {
			return err // it names the known releases
		}
		documents, findings, _ := manifest.NewAPI(r, nil).Decode(file, data, nil)
		if findings.Err() != nil {
			return findings.Err() // also fields that the release lacks
		}
		job, runtime := documents[0], documents[1]
		in := render.Input{
			TrainJob: job.Object.(*trainer.TrainJob),
			Runtime:  &runtime.Object.(*trainer.ClusterTrainingRuntime).Spec,
			Earlier: legacy.Earlier{NumProcPerNode: job.Earlier.NumProcPerNode,
				TorchNumProcPerNode: runtime.Earlier.TorchNumProcPerNode},
		}
		if job.Overrides != nil {
			in.Layers = job.Overrides
		}
		out, err := render.JobSet(in, render.Options{Release: r})
		if err != nil {
			return err
		}
		for job := range out.Jobs() {
			fmt.Println(job.Name)
		}
		for pod, err := range out.Pods() {
			if err != nil {
				return err
			}
			fmt.Println(pod.Spec.ServiceAccountName)
		}
		return nil
	}
	const job = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm}
spec:
  runtimeRef: {name: plain}
  podTemplateOverrides: [{targetJobs: [{name: node}], spec: {serviceAccountName: training}}]
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: plain}
spec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: [{name: node, image: train}]}}}}}]}}}
`
	fmt.Println(jobSet("llm.yaml", []byte(job)))
	fmt.Println(jobSet(
		"llm.yaml", []byte(strings.Replace(job, "podTemplateOverrides", "runtimePatches", 1))))
	// Output:
	// llm-node-0
	// training
	// <nil>
	// llm.yaml:6:3: TW101: TrainJob llm: .spec.runtimePatches: spec.runtimePatches is a field of Trainer 2.2 and later; Trainer 2.1 has no such field; use .spec.podTemplateOverrides
}
