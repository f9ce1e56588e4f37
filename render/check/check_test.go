package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render/check"
)

// The runtime of the cases: one job with two containers and two init containers.
const runtimePod = `
initContainers:
- {name: fetch, image: x}
- {name: unpack, image: x}
containers:
- {name: node, image: x}
- name: metrics
  image: x
  env:
  - {name: LEVEL, value: info}
  - {name: HOST, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}
  volumeMounts:
  - {name: scratch, mountPath: /scratch, subPath: a}
tolerations:
- {key: nvidia.com/gpu, operator: Exists}
volumes:
- {name: scratch, emptyDir: {}}
securityContext:
  seccompProfile: {type: Localhost, localhostProfile: mine.json}
`

func template(t *testing.T, pod string) *trainer.JobSetTemplateSpec {
	t.Helper()
	var spec corev1.PodSpec
	decode(t, pod, &spec)
	job := jobset.ReplicatedJob{Name: "node"}
	job.Template.Spec.Template.Spec = spec
	return &trainer.JobSetTemplateSpec{
		Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{job}}}
}

// podPatch is a manager's patch of the Pods of the job node.
func podPatch(t *testing.T, manager, pod string) trainer.RuntimePatch {
	t.Helper()
	var spec trainer.PodSpecPatch
	decode(t, pod, &spec)
	return jobPatch(manager, "node", &trainer.PodTemplatePatch{Spec: &spec})
}

func jobPatch(manager, job string, pod *trainer.PodTemplatePatch) trainer.RuntimePatch {
	return trainer.RuntimePatch{
		Manager: manager, TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
			Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{
				ReplicatedJobs: []trainer.ReplicatedJobPatch{
					{Name: job, Template: &trainer.JobTemplatePatch{
						Spec: &trainer.JobSpecPatch{Template: pod}}}},
			}},
		}}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// The paths of the findings, without what they share.
var shorten = strings.NewReplacer(
	`.spec.runtimePatches[manager="a.example.com/x"].trainingRuntimeSpec.template.spec.replicatedJobs[name="node"].template.spec.template.spec`, "PATCH",
	`.spec.template.spec.replicatedJobs[name="node"].template.spec.template.spec`, "RUNTIME",
)

func brief(findings finding.List) []string {
	var lines []string
	for _, f := range findings {
		line := fmt.Sprintf("%s %s %s %s", f.Code, f.Severity, f.Object.Kind,
			shorten.Replace(f.Path.String()))
		for _, c := range f.Claims {
			line += fmt.Sprintf(" | %s %s", c.Owner, shorten.Replace(c.At.String()))
		}
		lines = append(lines, line)
	}
	return lines
}

func TestCheckOfOnePatch(t *testing.T) {
	for _, tc := range casefile.Table[struct {
		Name, Runtime, Patch string
		Want                 []string
		Reason               string
	}](t, "testdata/patches.yaml") {
		t.Run(tc.Name, func(t *testing.T) {
			runtime := tc.Runtime
			if runtime == "" {
				runtime = runtimePod
			}
			got := check.Patches(template(t, runtime),
				[]trainer.RuntimePatch{podPatch(t, "a.example.com/x", tc.Patch)})
			if diff := cmp.Diff(tc.Want, brief(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.Reason, diff)
			}
			for _, f := range got {
				if f.Message == "" || f.Remedy.Text == "" {
					t.Errorf("no message or help: %+v", f)
				}
			}
		})
	}
}

func ExamplePatches() {
	runtime := &trainer.JobSetTemplateSpec{
		Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{{Name: "node"}}}}
	patches := []trainer.RuntimePatch{jobPatch("kueue.x-k8s.io/manager", "nodes", nil)}
	for _, f := range check.Patches(runtime, patches) {
		fmt.Println(f.Severity, f.Code, f.Message)
		fmt.Println(f.Remedy.Text)
	}
	// Output:
	// error TW202 the runtime has no replicated job "nodes": the merge adds one without containers
	// use one of the runtime's jobs: did you mean "node"? It has node
}
