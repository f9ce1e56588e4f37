package golden_test

import (
	"fmt"
	"testing/fstest"

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
