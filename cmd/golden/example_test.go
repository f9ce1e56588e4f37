package golden_test

import (
	"fmt"
	"testing/fstest"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/cmd/golden"
)

// files are a runtime, and a TrainJob in a folder below that was reviewed with one node less.
var files = fstest.MapFS{
	"runtime.yaml": {Data: []byte(`
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: plain}
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec: {containers: [{name: node, image: registry.example.com/train:1}]}
`)},
	"nodes/trainjob.yaml": {Data: []byte(`
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm}
spec:
  runtimeRef: {name: plain}
  trainer: {numNodes: 3}
`)},
	"nodes/want/default_llm.yaml": {Data: []byte(`apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: llm
  namespace: default
spec:
  replicatedJobs:
  - groupName: default
    name: node
    replicas: 1
    template:
      metadata:
        labels:
          trainer.kubeflow.org/trainjob-ancestor-step: trainer
      spec:
        completions: 2
        parallelism: 2
        template:
          spec:
            containers:
            - image: registry.example.com/train:1
              name: node
  suspend: false
`)},
}

func ExampleFind() {
	cases, err := golden.Find(files, "testdata")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range cases {
		result, err := c.Run(golden.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, f := range result.Failures {
			fmt.Printf("%s: %s\n", f.Position, f.Message)
			for _, l := range f.Lines {
				fmt.Println(l)
			}
		}
	}
	// Output:
	// testdata/nodes/want/default_llm.yaml:16:1: differs from the rendering
	//   JobSet default/llm
	//     .spec.replicatedJobs[name="node"].template.spec.completions changed by trainjob (testdata/nodes/trainjob.yaml:7:13)
	// -     2
	// +     3
	//     .spec.replicatedJobs[name="node"].template.spec.parallelism changed by trainjob (testdata/nodes/trainjob.yaml:7:13)
	// -     2
	// +     3
}

func ExampleWalk() {
	runtime := &trainer.ClusterTrainingRuntime{ObjectMeta: metav1.ObjectMeta{Name: "plain"}}
	runtime.Spec.Template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "node"}}
	starts, err := golden.Walk(runtime)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range starts {
		fmt.Println(s.Name)
	}
	fmt.Printf("%s", starts[1].Files["trainjob.yaml"])
	// Output:
	// plain
	// suspended
	// patch-metadata
	// patch-scheduling
	// patch-service-account
	// # Nothing runs before the TrainJob is resumed.
	// apiVersion: trainer.kubeflow.org/v1alpha1
	// kind: TrainJob
	// metadata:
	//   name: suspended
	// spec:
	//   runtimeRef:
	//     name: plain
	//   suspend: true
}
