package hosts

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// component is the shipped component by the names of its files.
func component(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	dir := filepath.Join(repository, "docs", "examples", "components", "trainjobs")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		files["/trainjobs/"+entry.Name()] = read(t, filepath.Join(dir, entry.Name()))
	}
	return files
}

// overlay is what kustomize makes of files with the overlay in /overlay, over the resources of
// /base.
func overlay(t *testing.T, files ...map[string]string) string {
	t.Helper()
	memory := filesys.MakeFsInMemory()
	for _, some := range files {
		for name, text := range some {
			if err := memory.WriteFile(name, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	openapi.ResetOpenAPI() // the schema of an earlier build stays otherwise
	result, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, "/overlay")
	if err != nil {
		t.Fatal(err)
	}
	text, err := result.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// without is files without a text, which one of them holds once.
func without(t *testing.T, files map[string]string, name, text string) map[string]string {
	t.Helper()
	if strings.Count(files[name], text) != 1 {
		t.Fatalf("%s holds %q %d times", name, text, strings.Count(files[name], text))
	}
	less := maps.Clone(files)
	less[name] = strings.Replace(files[name], text, "", 1)
	return less
}

// cluster is a base and the overlay of a cluster. The base has a TrainJob of two managers, its
// runtime and a Deployment.
var cluster = map[string]string{
	"/base/kustomization.yaml": "resources: [objects.yaml]\n",
	"/base/objects.yaml": `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team}
spec:
  runtimeRef: {name: torch, kind: TrainingRuntime}
  trainer: {image: train:1}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: torch, namespace: team}
spec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: [{name: node}]}}}}}]}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: shared}
spec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: [{name: node}]}}}}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team}
spec: {template: {spec: {containers: [{name: one}, {name: two}]}}}
`,
	"/overlay/kustomization.yaml": `
resources: [../base]
components: [../trainjobs]
namespace: eu
images: [{name: train, newTag: "2"}]
labels: [{pairs: {team: a}, includeTemplates: true}]
configMapGenerator:
  - name: cluster
    literals: [queue=eu-queue]
    options: {annotations: {config.kubernetes.io/local-config: "true"}}
patches:
  - patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: team}, spec: {template: {spec: {containers: [{name: two, image: two}]}}}}'
`,
}

// TestComponentLines wants each line that the other tests omit to do something that is not done
// without it. The schema also says which kinds have no namespace.
func TestComponentLines(t *testing.T) {
	shipped := component(t)
	whole := overlay(t, shipped, cluster)
	if !strings.Contains(whole, "name: one") {
		t.Errorf("a Deployment loses a container to the component's schema:\n%s", whole)
	}
	jobSetLabels := "spec:\n  template:\n    metadata:\n      labels:\n        team: a\n"
	podLabels := "template:\n              metadata:\n                labels:\n                  " +
		"team: a\n"
	for _, c := range []struct{ file, line, does string }{
		{"kustomization.yaml", "openapi:\n  path: schema.json\n", "  name: shared\nspec:"},
		{"kustomization.yaml", "  - images.yaml\n", "image: train:2"},
		{"kustomization.yaml", "  - labels.yaml\n", jobSetLabels},
		{"kustomization.yaml", "replacements:\n  - path: queue.yaml\n",
			"kueue.x-k8s.io/queue-name: eu-queue"},
		{"images.yaml", "  - {kind: TrainJob, path: spec/trainer/image}\n", "image: train:2"},
		{"labels.yaml",
			"  - {kind: TrainingRuntime, path: spec/template/metadata/labels, create: true}\n",
			"kind: TrainingRuntime\nmetadata:\n  labels:\n    team: a\n  name: torch\n  " +
				"namespace: eu\n" + jobSetLabels},
		{"labels.yaml",
			"  - {kind: ClusterTrainingRuntime, path: spec/template/metadata/labels, create: " +
				"true}\n", "kind: ClusterTrainingRuntime\nmetadata:\n  labels:\n    team: a\n  " +
				"name: shared\n" + jobSetLabels},
		{"labels.yaml",
			"  - {kind: TrainingRuntime, path: " +
				"\"spec/template/spec/replicatedJobs[]/template/spec/template/metadata/labels\", " +
				"create: true}\n", podLabels},
		{"labels.yaml",
			"  - {kind: ClusterTrainingRuntime, path: " +
				"\"spec/template/spec/replicatedJobs[]/template/spec/template/metadata/labels\", " +
				"create: true}\n", podLabels},
	} {
		if !strings.Contains(whole, c.does) {
			t.Errorf("%s: the line %q does nothing:\n%s", c.file, c.line, whole)
		}
		name := "/trainjobs/" + c.file
		less := overlay(t, without(t, shipped, name, c.line), cluster)
		if strings.Count(less, c.does) >= strings.Count(whole, c.does) {
			t.Errorf("%s: without %q there is still %q in:\n%s", c.file, c.line, c.does, less)
		}
	}
}

// TestJobSetsTransformer renders after the overlay's own patches and names. kustomize changes the
// names in the JobSet.
func TestJobSetsTransformer(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "kustomize"),
		os.DirFS(filepath.Join(repository, "docs", "examples", "components"))); err != nil {
		t.Fatal(err)
	}
	kustomization := filepath.Join(dir, "overlays", "eu", "kustomization.yaml")
	for file, text := range map[string]string{
		kustomization: `
resources: [../../base]
namePrefix: eu-
components: [../../kustomize/trainjobs]
transformers: [../../kustomize/jobsets]
images: [{name: train, newTag: "2"}]
configMapGenerator:
  - {name: settings, namespace: team, literals: [a=1]}
  - name: cluster
    literals: [queue=eu-queue]
    options: {annotations: {config.kubernetes.io/local-config: "true"}}
`,
		filepath.Join(dir, "base", "kustomization.yaml"): "resources: [objects.yaml]\n",
		filepath.Join(dir, "base", "objects.yaml"): `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team}
spec:
  runtimeRef: {name: torch, kind: TrainingRuntime}
  trainer: {image: train:1}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: torch, namespace: team}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec:
              template:
                spec:
                  containers: [{name: node, image: train:1, envFrom: [{configMapRef: {name: settings}}]}]
`,
	} {
		write(t, file, text)
	}
	openapi.ResetOpenAPI()
	text, err := build(filepath.Dir(kustomization))
	if err != nil {
		t.Fatal(err)
	}
	want(t, text, "kind: JobSet", "name: eu-llm\n", "image: train:2", "name: eu-settings-",
		"kueue.x-k8s.io/queue-name: eu-queue")
	wantNot(t, text, "kind: TrainJob\n", "internal.config.kubernetes.io")

	edit(t, kustomization, "transformers: [../../kustomize/jobsets]\n", "")
	openapi.ResetOpenAPI()
	if text, err = build(filepath.Dir(kustomization)); err != nil {
		t.Fatal(err)
	}
	want(t, text, "kind: TrainJob\n", "name: eu-torch\n")
	wantNot(t, text, "kind: JobSet")
}
