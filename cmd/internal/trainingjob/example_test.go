package trainingjob_test

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/cmd/internal/trainingjob"
	"github.com/trainweld/trainweld/render/manifest"
)

const mnist = `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: mnist
spec:
  nprocPerNode: "4"
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: pytorch
            image: registry.example.com/mnist:1
            command: [torchrun, train.py]
`

// A job of workers only becomes a TrainJob of as many nodes, and a runtime of policy torch.
func ExampleConvert() {
	job := trainingjob.New("PyTorchJob")
	if err := yaml.UnmarshalStrict([]byte(mnist), job); err != nil {
		fmt.Println(err)
		return
	}
	result, findings := trainingjob.Convert(job, trainingjob.Options{})
	if err := findings.Err(); err != nil {
		fmt.Println(err)
		return
	}
	if err := manifest.Encode(os.Stdout, manifest.YAML, result.Objects()...); err != nil {
		fmt.Println(err)
	}
	// Output:
	// apiVersion: trainer.kubeflow.org/v1alpha1
	// kind: TrainingRuntime
	// metadata:
	//   labels:
	//     trainer.kubeflow.org/framework: torch
	//   name: mnist
	// spec:
	//   mlPolicy:
	//     numNodes: 1
	//     torch: {}
	//   template:
	//     spec:
	//       replicatedJobs:
	//       - name: node
	//         replicas: 1
	//         template:
	//           metadata:
	//             labels:
	//               trainer.kubeflow.org/trainjob-ancestor-step: trainer
	//           spec:
	//             backoffLimit: 2147483647
	//             template:
	//               spec:
	//                 containers:
	//                 - image: registry.example.com/mnist:1
	//                   name: node
	//                 restartPolicy: OnFailure
	// ---
	// apiVersion: trainer.kubeflow.org/v1alpha1
	// kind: TrainJob
	// metadata:
	//   name: mnist
	// spec:
	//   runtimeRef:
	//     apiGroup: trainer.kubeflow.org
	//     kind: TrainingRuntime
	//     name: mnist
	//   trainer:
	//     command:
	//     - torchrun
	//     - train.py
	//     env:
	//     - name: PYTHONUNBUFFERED
	//       value: "1"
	//     image: registry.example.com/mnist:1
	//     numNodes: 2
	//     numProcPerNode: 4
}
