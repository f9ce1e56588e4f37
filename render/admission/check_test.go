package admission_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
)

// Input that the cluster accepts and that is probably a mistake.
func TestWarnings(t *testing.T) {
	priorityClass := [2]string{"\t\t\t\t\t\t\t\tcontainers:",
		"\t\t\t\t\t\t\t\tpriorityClassName: high\n\t\t\t\t\t\t\t\tcontainers:"}
	for _, c := range []struct {
		name, job string
		classes   []string
		runtime   [2]string // old and new text
		want      finding.Code
		path      string // of the last claim, or of the finding where it has none
		reason    string
	}{
		{
			name: "label taken away",
			job: patch(
				`{metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: ""}}}`),
			want:   codes.AncestorMoved,
			path:   `.spec.runtimePatches[manager="example.com/m"].trainingRuntimeSpec.template.spec.replicatedJobs[name="node"].template.metadata.labels["trainer.kubeflow.org/trainjob-ancestor-step"]`,
			reason: "spec.trainer then goes nowhere",
		},
		{
			name: "privileged",
			job: patchYAML(
				"{spec: {containers: [{name: logs, securityContext: {privileged: true}}]}}"),
			want:   codes.PrivilegedPatch,
			path:   `.spec.runtimePatches[manager="example.com/m"].trainingRuntimeSpec.template.spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="logs"].securityContext.privileged`,
			reason: "a patch hands out the node",
		},
		{
			name: "hostPath", job: patchYAML("{spec: {volumes: [{name: h, hostPath: {path: /}}]}}"),
			want:   codes.PrivilegedPatch,
			path:   `.spec.runtimePatches[manager="example.com/m"].trainingRuntimeSpec.template.spec.replicatedJobs[name="node"].template.spec.template.spec.volumes[name="h"].hostPath`,
			reason: "as does a mount of it",
		},
		{
			name: "empty patch", job: "\n\truntimePatches: [{manager: example.com/m}]\n",
			want: codes.IdlePatch, path: `.spec.runtimePatches[manager="example.com/m"]`,
			reason: "it says nothing",
		},
		{
			name: "idle patch", job: patchYAML("{spec: {containers: [{name: logs}]}}"),
			want: codes.IdlePatch, path: `.spec.runtimePatches[manager="example.com/m"]`,
			reason: "it names an item that the runtime has",
		},
		{
			name: "list that a patch cannot clear", job: patchYAML("{spec: {containers: []}}"),
			want:   codes.IdlePatch,
			path:   `.spec.runtimePatches[manager="example.com/m"].trainingRuntimeSpec.template.spec.replicatedJobs[name="node"].template.spec.template.spec.containers`,
			reason: "the runtime's containers stay",
		},
		{
			name: "null that clears nothing",
			job: patchYAML(
				"{metadata: {labels: null}, spec: {nodeSelector: {a: b}, securityContext: null, " +
					"volumes: []}}"),
			reason: "the runtime has no values to clear",
		},
		{
			name: "PriorityClass", runtime: priorityClass, want: codes.NoPriorityClass,
			path: `.spec.template.spec.replicatedJobs[name="node"].template.spec.template.spec.priorityClassName`, reason: "no Pod is created where there is none",
		},
		{name: "known PriorityClass", runtime: priorityClass, classes: []string{"high"},
			reason: "it is among the inputs"},
		{
			name:    "relative directory",
			runtime: [2]string{"{name: node,", "{name: node, workingDir: work,"},
			want:    codes.RelativeDir,
			path:    `.spec.template.spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="node"].workingDir`,
			reason:  "runc does not start the container",
		},
		{
			name: "relative directory of an init container",
			runtime: [2]string{"\t\t\t\t\t\t\t\tcontainers:",
				"\t\t\t\t\t\t\t\tinitContainers: [{name: get, image: get, workingDir: ./data}]\n" +
					"\t\t\t\t\t\t\t\tcontainers:"},
			want:   codes.RelativeDir,
			path:   `.spec.template.spec.replicatedJobs[name="node"].template.spec.template.spec.initContainers[name="get"].workingDir`,
			reason: "as of any container",
		},
		{
			name:    "absolute directory",
			runtime: [2]string{"{name: node,", "{name: node, workingDir: /work,"},
			reason:  "it begins with a slash",
		},
		{
			name:    "empty directory",
			runtime: [2]string{"{name: node,", "{name: node, workingDir: '',"},
			reason:  "it means the image's own",
		},
		{
			name: "directory of Windows",
			runtime: [2]string{"containers:\n\t\t\t\t\t\t\t\t- {name: node,",
				"os: {name: windows}\n\t\t\t\t\t\t\t\tcontainers:\n" +
					"\t\t\t\t\t\t\t\t- {name: node, workingDir: 'C:\\work',"},
			reason: "it begins with a drive",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(torchRuntime, c.runtime[0], c.runtime[1], 1)
			found := admission.Check(t.Context(), admission.Input{
				TrainJob: object(t, jobYAML("\ttrainer: {}\n"+c.job)), Runtime: admitted(t, text),
				PriorityClasses: c.classes,
			})
			if err := found.Err(); err != nil {
				t.Error(err)
			}
			own := []finding.Code{codes.AncestorMoved, codes.PrivilegedPatch, codes.IdlePatch,
				codes.NoPriorityClass, codes.RelativeDir}
			var got []string
			for _, f := range found {
				if !slices.Contains(own, f.Code) {
					continue
				}
				path := f.Path
				if len(f.Claims) > 0 {
					path = f.Claims[len(f.Claims)-1].At
				}
				got = append(got, string(f.Code)+" "+path.String())
			}
			var want []string
			if c.want != "" {
				want = []string{string(c.want) + " " + c.path}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v, want %v: %s", got, want, c.reason)
			}
		})
	}
}

// patch is a patch of the Job template of job node.
func patch(job string) string {
	return `
	runtimePatches:
	- manager: example.com/m
		trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: ` + job + `}]}}}
`
}

// Further patches are judged as if they stood in the TrainJob. The input stays as it is.
func TestFurtherPatches(t *testing.T) {
	job := object(t, jobYAML("\ttrainer: {}\n"))
	in := admission.Input{TrainJob: job, Runtime: admitted(t, torchRuntime),
		Patches: []trainer.RuntimePatch{{
			Manager: "example.com/m",
			TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
				Template: &trainer.JobSetTemplatePatch{
					Metadata: &metav1.ObjectMeta{Labels: map[string]string{"team": "not valid!"}},
				}},
		}}}
	found := admission.Check(t.Context(), in)
	if got := codesOf(found); !slices.Equal(got, []string{"TW503"}) {
		t.Errorf("%v, want the label of the JobSet to be refused\n%v", got, found)
	}
	source := found[slices.IndexFunc(found, func(f finding.Finding) bool {
		return f.Code == codes.BadMetadata
	})].Claims[0].At.String()
	if want := `.spec.runtimePatches[manager="example.com/m"].trainingRuntimeSpec.template.metadata.labels["team"]`; source != want {
		t.Errorf("it comes from %s, want %s", source, want)
	}
	if spec := job["spec"].(map[string]any); spec["runtimePatches"] != nil {
		t.Errorf("the TrainJob was changed: %v", job)
	}
}

// Every finding on the recorded cases names its object and a remedy. A finding on an object that
// the files lack names the field of the files that it comes from.
func TestFindingsAreComplete(t *testing.T) {
	stock := stockRuntimes(t)
	for _, c := range append(readCases(t, "r7-*"), readCases(t, "c1-*")...) {
		for _, f := range c.check(t, stock) {
			switch f.Object.Kind {
			case "": // the test's own, where no runtime is found
			case "TrainJob", "TrainingRuntime", "ClusterTrainingRuntime":
				if f.Severity == finding.Error && (len(f.Path) == 0 || f.Remedy.Text == "") {
					t.Errorf("%s: no path or no help: %v", c.name, f)
				}
			default:
				if len(f.Claims) == 0 || len(f.Claims[len(f.Claims)-1].At) == 0 ||
					f.Severity == finding.Error && f.Remedy.Text == "" {
					t.Errorf("%s: no source or no help: %v", c.name, f)
				}
			}
		}
	}
}

// The same input gives the same findings in the same order. The order in which the API server's
// code finds them does not matter.
func TestFindingsHaveAnOrder(t *testing.T) {
	job := object(t, jobYAML(`
	runtimePatches:
	- manager: example.com/m
		trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: ghost, template: {spec: {template: {spec: {containers: [], volumes: [{name: v, projected: {sources: null}}]}}}}}]}}}
`))
	runtime := admitted(t, torchRuntime)
	first := admission.Check(t.Context(), admission.Input{TrainJob: job, Runtime: runtime})
	if len(first) < 2 {
		t.Fatalf("%d findings leave no order: %v", len(first), first)
	}
	for range 20 {
		if again := admission.Check(
			t.Context(), admission.Input{TrainJob: job, Runtime: runtime}); again.Error() !=
			first.Error() {
			t.Fatalf("%v\nand then\n%v", first, again)
		}
	}
}

// Bad input never panics, whatever is missing.
func TestOddInputs(t *testing.T) {
	runtime := admitted(t, torchRuntime)
	for _, text := range []string{
		"{}", "{kind: TrainJob}", "{kind: TrainJob, metadata: 3}",
		"{kind: TrainJob, metadata: {name: 3}, spec: x}",
		"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, spec: {runtimePatches: x}}",
		"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: a}, spec: " +
			"{runtimeRef: {name: torch}, runtimePatches: [null, {manager: a.b/c, " +
			"trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{}]}}}}]}}",
	} {
		in := admission.Input{TrainJob: object(t, text), Runtime: runtime,
			Patches: []trainer.RuntimePatch{{}}}
		if admission.Check(t.Context(), in).Err() == nil {
			t.Errorf("%s passes", text)
		}
		admission.Update(t.Context(), in, in)
		admission.AdmitRuntime(t.Context(), nil, object(t, text), "")
		admission.AdmitJobSet(t.Context(), nil, object(t, text), "")
	}
}

// A cluster makes a name of generateName before it looks at the object. That there is none yet is
// rejected here alone, and everything else as the cluster does.
func TestGenerateName(t *testing.T) {
	for _, c := range []struct{ metadata, spec, want, reason string }{
		{"{generateName: llm-}", "", "TW407", "a cluster takes it"},
		{"{generateName: a.llm-}", "", "TW407 TW502",
			"every name made of it has a dot, which the Trainer refuses"},
		{"{generateName: llm_}", "", "TW407 TW502 TW503", "no name can be made of it"},
		{"{generateName: llm-}", "\ttrainer: {numNodes: x}\n", "TW103 TW407",
			"the rest is looked at as well"},
		{"{name: llm, generateName: llm_}", "", "TW503",
			"a bad generateName is rejected next to a name"},
		{"{name: '', generateName: ''}", "", "TW503", "there is nothing to make a name of"},
		{"{generateName: " + strings.Repeat("a", 63) + "}", "", "TW407",
			"it is cut before the suffix"},
	} {
		text := strings.Replace(jobYAML(c.spec), "{name: llm, namespace: default}", c.metadata, 1)
		found := admission.Check(
			t.Context(), admission.Input{
				TrainJob: object(t, text), Runtime: admitted(t, torchRuntime)})
		if got := strings.Join(codesOf(found), " "); got != c.want {
			t.Errorf("%s: %s, want %s: %s\n%v", c.metadata, got, c.want, c.reason, found.Err())
		}
	}
}

// TestCheck_ListItems wants an object with too many list items or mistakes rejected as a whole.
func TestCheck_ListItems(t *testing.T) {
	for n, want := range map[int]string{
		100_000: "has 100000 list items: must be at most 16384",
		2000:    "has 2000 missing fields and wrong values: must have at most 1024",
	} {
		env := make([]any, n)
		for i := range env {
			env[i] = map[string]any{}
		}
		found := admission.Check(context.Background(), admission.Input{TrainJob: map[string]any{
			"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
			"metadata": map[string]any{"name": "a"},
			"spec": map[string]any{"runtimeRef": map[string]any{"name": "a"},
				"trainer": map[string]any{"env": env}},
		}})
		if len(found) != 1 || found[0].Code != codes.Syntax ||
			!strings.Contains(found[0].Message, want) {
			t.Errorf("got %d findings, the first of them %.300v, want %s", len(found), found, want)
		}
	}
}
