package trainjob_test

import (
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/trainjob"
)

func ExampleNew() {
	job, findings := trainjob.New("torch-distributed",
		trainjob.Name("llm"),
		trainjob.Labels{"team": "research"},
		trainjob.TrainerImage("registry.example.com/train:2"),
		trainjob.TrainerCommand{"torchrun", "train.py"},
		trainjob.NumNodes(4),
		trainjob.ResourcesPerNode{"cpu": "8", "gpu": "1"},
		trainjob.RuntimePatch{TrainingRuntimeSpec: &trainjob.TrainingRuntimeSpecPatch{
			Template: &trainjob.JobSetTemplatePatch{Spec: &trainjob.JobSetSpecPatch{
				ReplicatedJobs: []trainjob.ReplicatedJobPatch{
					{Name: "node", Template: &trainjob.JobTemplatePatch{
						Spec: &trainjob.JobSpecPatch{Template: &trainjob.PodTemplatePatch{
							Spec: &trainjob.PodSpecPatch{
								NodeSelector: map[string]string{"pool": "h100"}},
						}},
					}}},
			}},
		}},
	)
	if err := findings.Err(); err != nil {
		fmt.Println(err)
		return
	}
	if err := manifest.Encode(os.Stdout, manifest.YAML, job); err != nil {
		fmt.Println(err)
	}
	// Output:
	// apiVersion: trainer.kubeflow.org/v1alpha1
	// kind: TrainJob
	// metadata:
	//   labels:
	//     team: research
	//   name: llm
	// spec:
	//   runtimePatches:
	//   - manager: trainer.kubeflow.org/kubeflow-sdk
	//     trainingRuntimeSpec:
	//       template:
	//         spec:
	//           replicatedJobs:
	//           - name: node
	//             template:
	//               spec:
	//                 template:
	//                   spec:
	//                     nodeSelector:
	//                       pool: h100
	//   runtimeRef:
	//     name: torch-distributed
	//   trainer:
	//     command:
	//     - torchrun
	//     - train.py
	//     image: registry.example.com/train:2
	//     numNodes: 4
	//     resourcesPerNode:
	//       limits:
	//         cpu: "8"
	//         nvidia.com/gpu: "1"
	//       requests:
	//         cpu: "8"
	//         nvidia.com/gpu: "1"
}

// The SDK's rules hold for patches before anything is sent.
func ExampleNew_rejected() {
	patch := trainjob.ContainerPatch{
		Name: "metrics", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "data"}}}
	_, findings := trainjob.New("torch-distributed", trainjob.Name("llm"),
		trainjob.RuntimePatch{TrainingRuntimeSpec: &trainjob.TrainingRuntimeSpecPatch{
			Template: &trainjob.JobSetTemplatePatch{Spec: &trainjob.JobSetSpecPatch{
				ReplicatedJobs: []trainjob.ReplicatedJobPatch{
					{Name: "node", Template: &trainjob.JobTemplatePatch{
						Spec: &trainjob.JobSpecPatch{Template: &trainjob.PodTemplatePatch{
							Spec: &trainjob.PodSpecPatch{
								Containers: []trainjob.ContainerPatch{patch}},
						}},
					}}},
			}},
		}},
	)
	for _, f := range findings {
		fmt.Printf("%s; %s\n", f.Message, f.Remedy.Text)
	}
	// Output: "data" is not an absolute path; begin it with /
}
