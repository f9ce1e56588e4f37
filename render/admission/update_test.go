package admission_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/schema"
)

// object reads one object from YAML that is indented as the code is.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	j, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(text, "\t", "  ")))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(j, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

const torchRuntime = `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch}
spec:
	mlPolicy: {numNodes: 2, torch: {}}
	template:
		spec:
			replicatedJobs:
			- name: node
				template:
					metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
					spec:
						template:
							spec:
								containers:
								- {name: node, image: "pytorch:2"}
								- {name: logs, image: "fluent:1"}
`

// jobYAML is a TrainJob of that runtime, with more lines for its spec.
func jobYAML(spec string) string {
	return `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: default}
spec:
	runtimeRef: {name: torch}
` + spec
}

// patchYAML is a patch of the Pod template of job node.
func patchYAML(pod string) string {
	return `
	runtimePatches:
	- manager: example.com/m
		trainingRuntimeSpec:
			template:
				spec:
					replicatedJobs:
					- name: node
						template: {spec: {template: ` + pod + `}}
`
}

func admitted(t *testing.T, text string) *admission.Runtime {
	t.Helper()
	r, found := admission.AdmitRuntime(t.Context(), object(t, text), "default")
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

// codes are the codes of the errors, each once, and the field of the first.
func codes(found schema.Findings) []string {
	set := map[string]bool{}
	for _, f := range found {
		if f.Severity == schema.Error {
			set[string(f.Code)] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

func TestUpdate(t *testing.T) {
	runtime := admitted(t, torchRuntime)
	for _, c := range []struct {
		name, old, new string
		want           []string
		path           string // of some error
		reason         string
	}{
		{
			name: "nothing", old: "\ttrainer: {numNodes: 2}\n", new: "\ttrainer: {numNodes: 2}\n",
			reason: "the same object can always be applied again",
		},
		{
			name: "trainer", old: "\ttrainer: {numNodes: 2}\n", new: "\ttrainer: {numNodes: 3}\n",
			want: []string{"TW700"}, path: ".spec.trainer",
			reason: "a rule of the definition says that spec.trainer is immutable",
		},
		{
			name: "trainer added", old: "", new: "\ttrainer: {numNodes: 3}\n",
			reason: "such a rule compares old and new, so that it says nothing about a field that was not there; a running JobSet stays as it is",
		},
		{
			name: "trainer added while suspended", old: "\tsuspend: true\n", new: "\tsuspend: true\n\ttrainer: {numNodes: 3}\n",
			want: []string{"TW702"}, path: ".spec.replicatedJobs[name=\"node\"].template.spec.parallelism",
			reason: "the TrainJob is accepted, and then its JobSet does not take another number of Pods",
		},
		{
			name: "patch while running", old: "", new: patchYAML("{spec: {nodeSelector: {pool: a}}}"),
			want: []string{"TW701"}, path: ".spec.runtimePatches",
			reason: "the webhook lets patches change only while the job is suspended",
		},
		{
			name: "five fields", old: "\tsuspend: true\n" + patchYAML("{spec: {nodeSelector: {pool: a}}}"),
			new:    "\tsuspend: true\n" + patchYAML("{metadata: {labels: {a: b}, annotations: {a: b}}, spec: {nodeSelector: {pool: b}, tolerations: [{operator: Exists}], schedulingGates: [{name: a.b/c}]}}"),
			reason: "these five are what Kueue sets; a suspended JobSet takes them",
		},
		{
			name: "five fields with the resumption", old: "\tsuspend: true\n", new: "\tsuspend: false\n" + patchYAML("{spec: {nodeSelector: {pool: b}}}"),
			reason: "patch and resumption may come in one change",
		},
		{
			name: "affinity", old: "\tsuspend: true\n", new: "\tsuspend: true\n" + patchYAML("{spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}}}"),
			want: []string{"TW702"}, path: `.spec.replicatedJobs[name="node"].template.spec.template.spec.affinity`,
			reason: "affinity is no field that a suspended JobSet lets change, and the Trainer's webhook does not know",
		},
		{
			name: "volume", old: "\tsuspend: true\n", new: "\tsuspend: false\n" + patchYAML("{spec: {volumes: [{name: v, emptyDir: {}}], containers: [{name: logs, volumeMounts: [{name: v, mountPath: /v}]}]}}"),
			want: []string{"TW702"}, path: `.spec.replicatedJobs[name="node"].template.spec.template.spec.volumes[name="v"]`,
			reason: "neither are volumes and mounts",
		},
		{
			name: "suspend", old: "\tsuspend: false\n", new: "\tsuspend: true\n",
			reason: "a running job can be suspended",
		},
		{
			name: "pod of a kept patch", old: "\tsuspend: true\n" + patchYAML("{spec: {serviceAccountName: a}}"), new: "\tsuspend: true\n" + patchYAML("{spec: {serviceAccountName: b}}"),
			want:   []string{"TW700", "TW702"},
			path:   `.spec.runtimePatches[manager="example.com/m"].trainingRuntimeSpec.template.spec.replicatedJobs[name="node"].template.spec.template.spec.serviceAccountName`,
			reason: "within a patch that stays, the definition makes the service account immutable",
		},
		{
			name: "runtimeRef", old: "", new: "\tmanagedBy: kueue.x-k8s.io/multikueue\n",
			want: []string{"TW700"}, path: ".spec.managedBy",
			reason: "the default of managedBy is there in the old object, so that the rule compares with it",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := admission.Update(t.Context(),
				admission.Input{TrainJob: object(t, jobYAML(c.old)), Runtime: runtime},
				admission.Input{TrainJob: object(t, jobYAML(c.new)), Runtime: runtime})
			if got := codes(found); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v: %s\n%v", got, c.want, c.reason, found)
			}
			at := func(f schema.Finding) bool { return f.Severity == schema.Error && f.Path.String() == c.path }
			if c.path != "" && !slices.ContainsFunc(found, at) {
				t.Errorf("no error at %s: %s\n%v", c.path, c.reason, found)
			}
		})
	}
}

// A suspended job of a runtime whose claims lack a retentionPolicy can never be resumed.
func TestNeverResumes(t *testing.T) {
	claims := func(policy string) string {
		text := strings.Replace(torchRuntime, "\t\t\treplicatedJobs:", `			volumeClaimPolicies:
			- templates:
				- metadata: {name: data}
					spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`+policy+`			replicatedJobs:`, 1)
		return strings.Replace(text, `image: "pytorch:2"`, `image: "pytorch:2", volumeMounts: [{name: data, mountPath: /data}]`, 1)
	}
	for _, c := range []struct {
		policy string
		want   []string
	}{
		{policy: "", want: []string{"TW431"}},
		{policy: "\t\t\t\tretentionPolicy: {whenDeleted: Retain}\n"},
	} {
		runtime := admitted(t, claims(c.policy))
		found := admission.Update(t.Context(),
			admission.Input{TrainJob: object(t, jobYAML("\tsuspend: true\n")), Runtime: runtime},
			admission.Input{TrainJob: object(t, jobYAML("\tsuspend: false\n")), Runtime: runtime})
		if got := codes(found); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v\n%v", c.policy, got, c.want, found)
		}
	}
}

// The recorded cases that are suspended tell which of them the Trainer fails to apply again.
func TestRecordedReapply(t *testing.T) {
	cases, stock := recordedCases(t)
	for _, c := range cases {
		if c.outcome != "suspended" {
			continue
		}
		var runtime *admission.Runtime
		for _, o := range c.objects {
			if r, _ := admission.AdmitRuntime(t.Context(), o, "default"); r != nil {
				runtime = r
			}
		}
		for _, o := range c.objects {
			if o["kind"] != "TrainJob" {
				continue
			}
			if id, _ := refersTo(o); runtime == nil {
				runtime = stock[id]
			}
			in := admission.Input{TrainJob: o, Runtime: runtime}
			found := admission.Update(t.Context(), in, in)
			fails := slices.ContainsFunc(found, func(f schema.Finding) bool {
				return f.Code == schema.CodeEndlessUpdate || f.Code == schema.CodeNeverResumed && f.Severity == schema.Error
			})
			if fails != c.failsAgain {
				t.Errorf("%s: fails to be applied again: %v, want %v\n%v", c.name, fails, c.failsAgain, found)
			}
		}
	}
}

func TestStamp(t *testing.T) {
	now, before := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), metav1.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	patch := func(label string, at *metav1.Time) trainer.RuntimePatch {
		return trainer.RuntimePatch{Manager: "example.com/m", Time: at, TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
			Template: &trainer.JobSetTemplatePatch{Metadata: &metav1.ObjectMeta{Labels: map[string]string{"a": label}}},
		}}
	}
	job := func(patches ...trainer.RuntimePatch) *trainer.TrainJob {
		return &trainer.TrainJob{Spec: trainer.TrainJobSpec{RuntimePatches: patches}}
	}
	for _, c := range []struct {
		name     string
		old, new *trainer.TrainJob
		want     time.Time
		changed  bool
		reason   string
	}{
		{"created", nil, job(patch("x", nil)), now, true, "an entry without a time gets now"},
		{"created with a time", nil, job(patch("x", &before)), before.Time, false, "a time that the author gave survives creation"},
		{"unchanged", job(patch("x", &before)), job(patch("x", nil)), before.Time, true, "an entry whose content did not change keeps its time"},
		{"changed", job(patch("x", &before)), job(patch("y", &before)), now, true, "changed content gets now, whatever time it brings"},
		{"added", job(), job(patch("x", &before)), before.Time, false, "a new manager's own time survives"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if changed := admission.Stamp(c.old, c.new, now); changed != c.changed {
				t.Errorf("changed: %v; %s", changed, c.reason)
			}
			if got := c.new.Spec.RuntimePatches[0].Time; !got.Time.Equal(c.want) {
				t.Errorf("%v, want %v: %s", got, c.want, c.reason)
			}
		})
	}
}
