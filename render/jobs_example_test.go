package render_test

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/render"
)

// twoStages is a JobSet that loads data and then trains on two nodes.
func twoStages() *jobset.JobSet {
	nodes := int32(2)
	js := &jobset.JobSet{}
	js.Name, js.Namespace = "llm", "team"
	js.Spec.ReplicatedJobs = []jobset.ReplicatedJob{
		{Name: "data"},
		{Name: "node", DependsOn: []jobset.DependsOn{{Name: "data", Status: jobset.DependencyComplete}}},
	}
	js.Spec.ReplicatedJobs[1].Template.Spec = batchv1.JobSpec{Parallelism: &nodes, Completions: &nodes}
	js.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec.Containers = []corev1.Container{{Name: "node", Image: "trainer"}}
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
		fmt.Printf("%s.%s: %s\n", pod.Spec.Hostname, pod.Spec.Subdomain, pod.Spec.Containers[0].Env[0].Name)
	}
	// Output:
	// llm-node-0-0.llm: JOB_COMPLETION_INDEX
	// llm-node-0-1.llm: JOB_COMPLETION_INDEX
}

func ExampleDefaultJobSet() {
	js := render.DefaultJobSet(twoStages())
	fmt.Println(js.Spec.ReplicatedJobs[0].Replicas, *js.Spec.ReplicatedJobs[0].Template.Spec.CompletionMode, js.Spec.SuccessPolicy.Operator)
	// Output: 1 Indexed All
}
