package testenv

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// WriteTrainJobs writes a runtime and as many TrainJobs, a file each, to a new directory. The
// TrainJobs differ in their names and a label, and have no findings.
func WriteTrainJobs(t testing.TB, jobs int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	WriteIn(t, dir, "runtime.yaml", Runtime)
	for i := range jobs {
		WriteIn(t, dir, fmt.Sprintf("job-%05d.yaml", i), TrainJob(i))
	}
	return dir
}

// WriteRepository writes ten runtimes and the given number of TrainJobs, a file each, to a new
// directory. The directory resembles the repository of a platform. It has a folder runtimes, and a
// folder jobs with nested folders of a hundred TrainJobs.
func WriteRepository(t testing.TB, jobs int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	const runtimes = 10
	named := func(text string, i int) string {
		return strings.Replace(text, "name: torch", fmt.Sprint("name: torch-", i%runtimes), 1)
	}
	for i := range runtimes {
		WriteIn(t, dir, fmt.Sprintf("runtimes/torch-%d.yaml", i), named(Runtime, i))
	}
	for i := range jobs {
		WriteIn(t, dir,
			filepath.Join("jobs", fmt.Sprintf("%02d/%02d/job-%05d.yaml", i/1000, i/100%10, i)),
			named(TrainJob(i), i))
	}
	return dir
}

// TrainJob returns a TrainJob with patches of two managers. Its name and its labels have the
// number. It references Runtime.
func TrainJob(number int) string {
	return strings.ReplaceAll(trainJob, "NNN", fmt.Sprintf("%05d", number))
}

// Runtime is a ClusterTrainingRuntime of torch with two containers.
const Runtime = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: torch
spec:
  mlPolicy:
    numNodes: 1
    torch: {}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata:
              labels:
                trainer.kubeflow.org/trainjob-ancestor-step: trainer
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: registry.example.com/train:1
                    - name: metrics
                      image: registry.example.com/metrics:1
`

const trainJob = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: llm-NNN
  namespace: team-a
spec:
  runtimeRef:
    name: torch
  trainer:
    numNodes: 4
    image: registry.example.com/llm:NNN
    command: [torchrun, train.py, --lr=0.1]
    resourcesPerNode:
      limits:
        cpu: "8"
        memory: 64Gi
        nvidia.com/gpu: "8"
    env:
      - name: RUN
        value: run-NNN
  runtimePatches:
    - manager: trainer.kubeflow.org/kubeflow-sdk
      trainingRuntimeSpec:
        template:
          metadata:
            labels:
              run: run-NNN
          spec:
            replicatedJobs:
              - name: node
                template:
                  spec:
                    template:
                      spec:
                        volumes:
                          - name: data
                            persistentVolumeClaim:
                              claimName: data
                        containers:
                          - name: node
                            volumeMounts:
                              - name: data
                                mountPath: /data
    - manager: kueue.x-k8s.io/manager
      trainingRuntimeSpec:
        template:
          spec:
            replicatedJobs:
              - name: node
                template:
                  spec:
                    template:
                      spec:
                        nodeSelector:
                          pool: a100
                        tolerations:
                          - key: nvidia.com/gpu
                            operator: Exists
`
