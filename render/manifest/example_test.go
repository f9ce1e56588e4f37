package manifest_test

import (
	"fmt"
	"os"
	"testing/fstest"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

func Example() {
	fsys := fstest.MapFS{"jobs/llm.yaml": {Data: []byte(`apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: llm
spec:
  runtimeRef: {name: torch}
  suspend: true
`)}}
	files, findings := manifest.Files(fsys, []string{"jobs"}, false)
	for _, file := range files {
		data, unreadable := manifest.Read(fsys, os.Stdin, file)
		if unreadable != nil {
			findings = append(findings, *unreadable)
			continue
		}
		documents, found := manifest.Decode(file, data)
		findings = append(findings, found...)
		for _, d := range documents {
			if job, ok := d.Object.(*trainer.TrainJob); ok {
				fmt.Printf("%s: %s is suspended: %t\n",
					d.Position(fieldpath.Fields("spec", "suspend")), job.Name, *job.Spec.Suspend)
			}
		}
	}
	fmt.Println("findings:", len(findings))
	// Output:
	// jobs/llm.yaml:7:3: llm is suspended: true
	// findings: 0
}

func ExampleDecode() {
	_, findings := manifest.Decode("llm.yaml", []byte(`apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: llm
spec:
  trainer:
    numNode: 2
    args: [--verbose, no]
`))
	fmt.Println(findings)
	// Output:
	// llm.yaml:7:5: TW101: TrainJob llm: .spec.trainer.numNode: unknown field "numNode"; did you mean "numNodes"?
	// llm.yaml:8:23: TW105: TrainJob llm: .spec.trainer.args[1]: must be a string; Kubernetes reads the bare word no as the boolean false; quote it: "no"
}

func ExampleDecodePatches() {
	_, findings := manifest.DecodePatches("platform.yaml",
		[]byte(`manager: platform.example.com/defaults
trainingRuntimeSpec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: registry.example.com/train:2
`))
	for _, f := range findings {
		fmt.Printf("%s: %s\nhelp: %s\n", f.Position, f.Message, f.Remedy.Text)
	}
	// Output:
	// platform.yaml:13:19: no patch may set image
	// help: set .spec.trainer.image of the TrainJob
}

func ExampleDocument_Position() {
	documents, _ := manifest.Decode("llm.yaml", []byte(`apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
spec:
  trainer:
    env:
    - name: LR
      value: "0.1"
`))
	fmt.Println(documents[0].Position(
		fieldpath.Fields("spec", "trainer", "env").Append(fieldpath.Item("name", "LR"),
			fieldpath.Field("value"))))
	fmt.Println(documents[0].Position(fieldpath.Fields("spec", "trainer", "image")),
		"is the nearest parent")
	// Output:
	// llm.yaml:7:7
	// llm.yaml:4:3 is the nearest parent
}

func ExampleEncode() {
	two := int32(2)
	job := &trainer.TrainJob{}
	job.APIVersion, job.Kind, job.Name = "trainer.kubeflow.org/v1alpha1", "TrainJob", "llm"
	job.Spec.Trainer = &trainer.Trainer{NumNodes: &two, Args: []string{"--epochs", "3"}}
	if err := manifest.Encode(os.Stdout, manifest.YAML, job); err != nil {
		fmt.Println(err)
	}
	// Output:
	// apiVersion: trainer.kubeflow.org/v1alpha1
	// kind: TrainJob
	// metadata:
	//   name: llm
	// spec:
	//   trainer:
	//     args:
	//     - --epochs
	//     - "3"
	//     numNodes: 2
}

func ExampleTolerate() {
	_, findings := manifest.Decode("app.yaml", []byte("apiVersion: v1\n"))
	fmt.Println(findings.Err() != nil, manifest.Tolerate(findings, codes.NotAnObject).Err() != nil)
	// Output: true false
}
