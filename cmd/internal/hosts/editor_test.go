package hosts

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// editorRuntime has other names than the runtimes that a release ships.
const editorRuntime = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: own
spec:
  template:
    spec:
      replicatedJobs:
      - name: worker
        template:
          spec:
            template:
              spec:
                initContainers:
                - {name: fetch, image: i}
                containers:
                - {name: main, image: i}
                - {name: metrics, image: i}
`

// editorHead is a TrainJob up to the jobs of its patch. The runtime goes after it.
func editorHead(runtime string) string {
	return strings.Replace(`apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: llm
spec:
  runtimeRef:
    name: RUNTIME
  runtimePatches:
  - manager: team-a.example.com/defaults
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
`, "RUNTIME", runtime, 1)
}

// editorPage returns the first block of docs/editor.md in a language.
func editorPage(t *testing.T, language string) string {
	t.Helper()
	match := regexp.MustCompile("(?ms)^```" + language + "\n(.*?)^```$").FindStringSubmatch(read(t, filepath.Join(repository, "docs", "editor.md")))
	if match == nil {
		t.Fatalf("docs/editor.md has no block of %s", language)
	}
	return match[1]
}

// editorRepository makes a repository with the schemas that docs/editor.md writes.
func editorRepository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "runtimes", "own.yaml"), editorRuntime)
	write(t, filepath.Join(dir, "jobs", ".keep"), "")
	must(t, dir, nil, "sh", "-e", "-c", editorPage(t, "sh"))
	return dir
}

// codeSettings returns the settings of the section yaml in the page's settings of VS Code.
func codeSettings(t *testing.T) map[string]any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(editorPage(t, "json")), &all); err != nil {
		t.Fatal(err)
	}
	settings := map[string]any{}
	for name, value := range all {
		section, key, _ := strings.Cut(name, ".")
		if section != "yaml" || strings.Contains(key, ".") {
			t.Fatalf("the setting %q is not one of yaml", name)
		}
		settings[key] = value
	}
	return settings
}

// TestEditor_Problems holds the problems that the language server shows, with the settings of VS Code.
func TestEditor_Problems(t *testing.T) {
	s := startServer(t, editorRepository(t), codeSettings(t))
	for _, tc := range []struct {
		name, file, text string
		want             []string
	}{
		{"a good TrainJob", "jobs/good.yaml", editorHead("own") + `          - name: worker
            template:
              spec:
                template:
                  metadata:
                    labels: {a: b}
                  spec:
                    nodeSelector: {pool: spot}
                    containers:
                    - name: main
                      env: [{name: A, value: b}]
                    initContainers:
                    - name: fetch
`, nil},
		{"the container of a guide", "jobs/guide.yaml", editorHead("torch-distributed") + `          - name: node
            template: {spec: {template: {spec: {containers: [
              {name: trainer}]}}}}
`, []string{"16:22 the runtime has no container of this name; it has node"}},
		{"names of another runtime", "jobs/names.yaml", editorHead("own") + `          - name: node
          - name: worker
            template: {spec: {template: {spec: {
              containers: [{name: fetch}],
              initContainers: [{name: main}]}}}}
`, []string{
			"14:19 the runtime has no replicated job of this name; it has worker",
			"17:35 the runtime has no container of this name; it has main, metrics",
			"18:39 the runtime has no init container of this name; it has fetch",
		}},
		{"an unknown runtime", "jobs/runtime.yaml", editorHead("owm"), []string{
			"13:26 Incorrect type. Expected \"array\".",
			"7:11 no ClusterTrainingRuntime of this name is known: deepspeed-distributed, jax-distributed, mlx-distributed, own, torch-distributed, " +
				"torch-distributed-with-cache, torchtune-llama3.2-1b, torchtune-llama3.2-3b, torchtune-qwen2.5-1.5b, xgboost-distributed",
		}},
		{"fields that no patch may set", "jobs/fields.yaml", editorHead("torch-distributed") + `          - name: node
            replicas: 2
            template:
              spec:
                template:
                  metadata: {name: n}
                  spec:
                    restartPolicy: Never
                    containers:
                    - name: node
                      image: i
                      env: [{name: A, value: b}]
`, []string{
			`15:13 no patch may set replicas: set .spec.trainer.numNodes of the TrainJob; for a job that is not the trainer's, set .spec.template.spec.replicatedJobs.replicas in the TrainingRuntime or ClusterTrainingRuntime`,
			`19:30 name has no effect: a patch sets labels and annotations only`,
			`21:21 no patch may set restartPolicy: set .spec.template.spec.replicatedJobs.template.spec.template.spec.restartPolicy in the TrainingRuntime or ClusterTrainingRuntime`,
			`24:23 no patch may set image: set .spec.trainer.image of the TrainJob for the container "node"; for any other, set .spec.template.spec.replicatedJobs.template.spec.template.spec.containers.image in the TrainingRuntime or ClusterTrainingRuntime`,
			`25:23 Invalid value: must not have envs for the dataset-initializer, model-initializer, node containers: set spec.trainer.env of the TrainJob instead`,
		}},
		{"wrong fields and values", "jobs/values.yaml", `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, label: {a: b}}
spec:
  runtimeRef: {name: own}
  trainer:
    numNodes: two
    numNode: 2
    resourcesPerNode: {requests: {memory: 8 GiB}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: a}
spec: {template: {spec: {network: {publishNotReadyAddress: true}}}}
---
apiVersion: v1
kind: ConfigMap
data: any
`, []string{
			`14:36 Property publishNotReadyAddress is not allowed.`,
			`3:23 Property label is not allowed.`,
			`7:15 Incorrect type. Expected "integer".`,
			`8:5 Property numNode is not allowed.`,
			`9:43 must be a quantity, such as 2, 500m or 8Gi`,
		}},
		{"a patch in a file", "jobs/patch.yaml", "manager: a.example.com/b\ntrainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: nodes}, {name: worker}]}}}\n", []string{
			"2:65 no runtime has a replicated job of this name; there are node, launcher, worker, dataset-initializer, model-initializer",
		}},
		{"a List", "jobs/list.yaml", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: a}, spec: {}}\n", []string{
			`4:84 Missing property "runtimeRef".`,
		}},
		{"a list of patches", "jobs/patches.yaml", "- manager: a.example.com/b\n  trainingRuntimeSpec: {template: {spec: {network: {}}}}\n- trainingRuntimeSpecs: {}\n", []string{
			"2:43 no patch may set network: set .spec.template.spec.network in the TrainingRuntime or ClusterTrainingRuntime",
		}},
		{"a policy", "trainweld.yaml", "severities: {TW300: bad, TW3000: off}\n", []string{
			`1:21 Value is not accepted. Valid values: "off", false, "note", "warning", "error".`, "1:26 Property TW3000 is not allowed.",
		}},
		{"options", "runtimes/cases/options.yaml", "to: pod\nindex: 3\npatch: [a.yaml]\nshow-notes: maybe\n", []string{
			`1:5 Value is not accepted. Valid values: "jobset", "jobs", "pods".`, `4:13 Incorrect type. Expected "boolean".`,
		}},
		{"another file", "other/trainjob.yaml", "kind: TrainJob\nspec: 1\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, got := s.open(tc.file, tc.text); !slices.Equal(got, tc.want) {
				t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

// TestEditor_Completion checks the completions of the language server, in files with the modeline of the page.
func TestEditor_Completion(t *testing.T) {
	s := startServer(t, editorRepository(t), nil)
	jobs := "          - name: ¦\n"
	containers := "          - name: JOB\n            template:\n              spec:\n                template:\n                  spec:\n                    LIST:\n                    - name: ¦\n"
	list := func(job, list string) string {
		return strings.NewReplacer("JOB", job, "LIST", list).Replace(containers)
	}
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"kinds", "kind: ¦\n", []string{"ClusterTrainingRuntime", "JobSet", "TrainJob", "TrainingRuntime"}},
		{"the version", "kind: TrainJob\napiVersion: ¦\n", []string{"trainer.kubeflow.org/v1alpha1"}},
		{"runtimes", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec:\n  runtimeRef:\n    name: ¦\n", []string{
			"deepspeed-distributed", "jax-distributed", "mlx-distributed", "own", "torch-distributed", "torch-distributed-with-cache", "torchtune-llama3.2-1b",
			"torchtune-llama3.2-3b", "torchtune-qwen2.5-1.5b", "xgboost-distributed",
		}},
		{"fields of a runtimeRef", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec:\n  runtimeRef:\n    ¦\n", []string{"apiGroup", "kind", "name", "object(TrainJob)"}},
		{"jobs of a runtime", editorHead("own") + jobs, []string{"worker"}},
		{"jobs of a shipped runtime", editorHead("torch-distributed") + jobs, []string{"node"}},
		{"jobs of a runtime whose name begins another", editorHead("torch-distributed-with-cache") + jobs, []string{"dataset-initializer", "node"}},
		{"containers", editorHead("own") + list("worker", "containers"), []string{"main", "metrics"}},
		{"init containers", editorHead("own") + list("worker", "initContainers"), []string{"fetch"}},
		{"containers of a shipped runtime", editorHead("torch-distributed") + list("node", "containers"), []string{"node"}},
		{"fields of a container", editorHead("own") + strings.Replace(list("worker", "containers"), "¦", "main\n                      ¦", 1), []string{"env", "securityContext", "volumeMounts"}},
		{"words of a field", editorHead("own") + strings.Replace(strings.Replace(list("worker", "tolerations"), "name: ¦", "effect: ¦", 1), "- name: JOB", "- name: worker", 1), []string{"NoExecute", "NoSchedule", "PreferNoSchedule"}},
		{"metadata of a patch", strings.Replace(editorHead("own"), "        spec:\n", "        metadata:\n          ¦\n        spec:\n", 1) + "          - name: worker\n", []string{"annotations", "labels"}},
		{"jobs of a patch without a TrainJob", "manager: a.example.com/b\ntrainingRuntimeSpec:\n  template:\n    spec:\n      replicatedJobs:\n      - name: ¦\n", []string{"dataset-initializer", "launcher", "model-initializer", "node", "worker"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, _ := s.open(filepath.Join("jobs", strings.ReplaceAll(tc.name, " ", "-")+".yaml"), editorPage(t, "yaml")+tc.text)
			if got := d.completion(0); !slices.Equal(got, tc.want) {
				t.Errorf("completion = %q, want %q", got, tc.want)
			}
		})
	}
}

// TestEditor_Hover checks the text that the language server shows about a field.
func TestEditor_Hover(t *testing.T) {
	s := startServer(t, editorRepository(t), nil)
	for _, tc := range []struct{ name, text, want string }{
		{"a field", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec:\n  trainer:\n    num¦Nodes: 2\n", "numNodes is the number of training nodes."},
		{"a default", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec:\n  sus¦pend: true\n", "Default: false."},
		{"a rule", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec:\n  runtime¦Ref: {name: own}\n", "Rule: Field is immutable."},
		{"metadata", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n  la¦bels: {a: b}\n", "Map of string keys and values"},
		{"the source of a runtime", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec:\n  runtimeRef:\n    name: o¦wn\n", "runtimes/own.yaml:4:3"},
		{"why a patch may not set it", editorHead("own") + "          - name: worker\n            repli¦cas: 2\n", "Set .spec.trainer.numNodes of the TrainJob"},
		{"a code", "severities:\n  TW300: e¦rror\n", "Managers set different values."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			modeline := editorPage(t, "yaml")
			if strings.HasPrefix(tc.text, "severities") {
				modeline = strings.Replace(modeline, "manifests", "policy", 1)
			}
			d, _ := s.open(filepath.Join("jobs", strings.ReplaceAll(tc.name, " ", "-")+".yaml"), modeline+tc.text)
			if got := d.hover(0); !strings.Contains(got, tc.want) {
				t.Errorf("hover = %q, want %q", got, tc.want)
			}
		})
	}
}
