package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/release"
)

func apiOf(t *testing.T, version string) *API {
	t.Helper()
	r, err := release.Parse(version)
	if err != nil {
		t.Fatal(err)
	}
	return NewAPI(r, nil)
}

// TestAPI_EveryField wants the Go types to have every field of every release, so that decoding
// loses none.
func TestAPI_EveryField(t *testing.T) {
	// JobSet 0.11.0 has a field of Kubernetes 1.35 that 1.36 replaced. legacy.Earlier has the
	// fields of Trainer 2.4.
	known := []string{"JobSet 2.2: 1 field"}
	var lost []string
	for _, r := range release.Known() {
		api := NewAPI(&r, nil)
		for _, kind := range readables(nil) {
			s := api.shapeOf(&kind)
			if s == nil {
				if kind.kind != "ConfigMap" {
					t.Errorf("Trainer %s has no %s", r.Name, kind.kind)
				}
				continue
			}
			if len(s.ignored) > 0 {
				lost = append(
					lost, kind.kind+" "+r.Name+": "+
						[]string{"0", "1 field", "more fields"}[min(len(s.ignored), 2)])
			}
		}
	}
	if !slices.Equal(lost, known) {
		t.Errorf("the types lack %q, want %q", lost, known)
	}
}

// TestAPI_Decode wants each field that a release lacks to be an error that names the releases, and
// to be dropped.
func TestAPI_Decode(t *testing.T) {
	const job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: " +
		"a}\nspec:\n  runtimeRef: {name: torch}\n"
	const runtime = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: " +
		"ClusterTrainingRuntime\nmetadata: {name: a}\nspec:\n"
	const patch = "  runtimePatches: [{manager: a.io/b, trainingRuntimeSpec: {template: {spec: " +
		"{replicatedJobs: [{name: node, template: {spec: {template: {spec: " +
		"{terminationGracePeriodSeconds: 3}}}}}]}}}}]\n"
	for _, tc := range []struct {
		name, version, in string
		want              []string // of the errors
		broken            bool
	}{
		{"patches on 2.1", "2.1", job + patch,
			[]string{"6:3 spec.runtimePatches is a field of Trainer 2.2 and later; Trainer 2.1 " +
				"has no such field"}, false},
		{"a field of a patch on 2.2", "2.2", job + patch,
			[]string{"6:144 spec.runtimePatches.trainingRuntimeSpec.template.spec.replicatedJobs.template.spec.template.spec.terminationGracePeriodSeconds is a field of Trainer 2.3 and later; Trainer 2.2 has no such field"}, false},
		{"patches on 2.3", "2.3", job + patch, nil, false},
		{"overrides of 2.0 on 2.1", "2.1", job + "  podSpecOverrides: []\n",
			[]string{"6:3 spec.podSpecOverrides is a field of Trainer 2.0; Trainer 2.1 has no " +
				"such field"}, false},
		{"overrides of 2.1 on 2.3", "2.3", job + "  podTemplateOverrides: []\n  labels: {a: b}\n",
			[]string{
				"6:3 spec.podTemplateOverrides is a field of Trainer 2.1; Trainer 2.3 has no such field",
				"7:3 spec.labels is a field of Trainer 2.0 and 2.1; Trainer 2.3 has no such field",
			}, false},
		{"overrides of 2.0", "2.0",
			job + "  labels: {a: b}\n  podSpecOverrides: [{targetJobs: [{name: node}], " +
				"serviceAccountName: x}]\n", nil, false},
		{"a field that no override has", "2.0",
			job + "  podSpecOverrides: [{targetJobs: [{name: node}], hostNetwork: true}]\n",
			[]string{"6:51 no override may set hostNetwork"}, true},
		{"a misspelling", "2.2", job + "  runtimePatchs: []\n",
			[]string{`6:3 unknown field "runtimePatchs"`}, true},
		{"processes by a word on 2.1", "2.1", job + "  trainer: {numProcPerNode: auto}\n", nil,
			false},
		{"processes by a word on 2.2", "2.2", job + "  trainer: {numProcPerNode: auto}\n",
			[]string{"6:29 must be an integer, not a string"}, true},
		{"a policy of 2.2 on 2.1", "2.1", runtime + "  mlPolicy: {jax: {}}\n",
			[]string{"5:14 spec.mlPolicy.jax is a field of Trainer 2.2 and later; Trainer 2.1 " +
				"has no such field"}, false},
		{"torch of 2.1 on 2.2", "2.2",
			runtime + "  mlPolicy: {torch: {numProcPerNode: 2, elasticPolicy: {}}}\n", []string{
				"5:22 spec.mlPolicy.torch.numProcPerNode is a field of Trainer 2.0 and 2.1; " +
					"Trainer " +
					"2.2 has no such field",
				"5:41 spec.mlPolicy.torch.elasticPolicy is a field of Trainer 2.0 and 2.1; Trainer " +
					"2.2 has no such field",
			}, false},
		{"torch of 2.1", "2.1",
			runtime + "  mlPolicy: {torch: {numProcPerNode: 2, elasticPolicy: {maxNodes: 2}}}\n",
			nil, false},
		{"metadata that no definition keeps", "2.3",
			runtime + "  template: {metadata: {creationTimestamp: null, labels: {a: b}}}\n",
			[]string{`5:25 unknown field "creationTimestamp": no release of the Trainer has it here`}, false},
		{"metadata of the object", "2.3",
			strings.Replace(job, "{name: a}",
				"{name: a, creationTimestamp: null, managedFields: [{manager: x}]}", 1), nil,
			false},
		{"a field that Kubernetes dropped", "2.2",
			"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec: " +
				"{replicatedJobs: [{name: node, template: {spec: {template: {spec: {workloadRef: " +
				"{name: x}}}}}}]}\n", nil, false},
		{"version v2alpha1", "2.1", strings.Replace(job, "v1alpha1", "v2alpha1", 1) +
			"  suspend: true\n", nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			documents, findings, _ := apiOf(t, tc.version).Decode("in.yaml", []byte(tc.in), nil)
			var got []string
			for _, f := range findings {
				if f.Severity == finding.Error {
					got = append(got, strings.TrimPrefix(f.Position.String(), "in.yaml:")+" "+
						f.Message)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
			d := documents[0]
			if d.Broken != tc.broken || (d.Object == nil) != tc.broken {
				t.Errorf("broken: %t, object %v", d.Broken, d.Object)
			}
			if tc.broken {
				return
			}
			fields, err := d.Fields()
			if err != nil {
				t.Fatal(err)
			}
			kind := readable{group: trainerGroup, kind: d.ID.Kind}
			if s, before := d.API().shapeOf(&kind), fmt.Sprint(fields); d.ID.Kind != "JobSet" {
				if s.prune(fields, s.fields, unstored); fmt.Sprint(fields) != before {
					t.Errorf("Fields returns fields that the release lacks: %s", before)
				}
			}
		})
	}
}

// TestAPI_Earlier wants the fields of earlier releases next to the object, with their defaults.
func TestAPI_Earlier(t *testing.T) {
	const in = `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: a}
spec:
  runtimeRef: {name: torch}
  trainer: {numProcPerNode: gpu, numNodes: 2}
  podSpecOverrides: [{targetJobs: [{name: node}], containers: [{name: node, env: [{name: A, value: b}]}]}]
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: a}
spec: {mlPolicy: {numNodes: 3, torch: {}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: b}
spec: {mlPolicy: {torch: {numProcPerNode: 4}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: c}
spec: {mlPolicy: {mpi: {}}}
`
	documents, findings, _ := apiOf(t, "2.0").Decode("in.yaml", []byte(in), nil)
	if findings != nil {
		t.Fatal(findings)
	}
	job, torch, four, mpi := documents[0], documents[1], documents[2], documents[3]
	o := job.Object.(*trainer.TrainJob)
	if n := job.Earlier.NumProcPerNode; n == nil || *n != intstr.FromString("gpu") ||
		o.Spec.Trainer.NumProcPerNode != nil || *o.Spec.Trainer.NumNodes != 2 {
		t.Errorf("the TrainJob has %v next to %+v", n, o.Spec.Trainer)
	}
	if job.Overrides == nil || job.Overrides.PodSpecOverrides[0].Containers[0].Env[0].Value != "b" {
		t.Errorf("the overrides are %+v", job.Overrides)
	}
	r := torch.Object.(*trainer.TrainingRuntime)
	if n := torch.Earlier.TorchNumProcPerNode; n == nil || *n != intstr.FromString("auto") ||
		r.Spec.MLPolicy.Torch == nil || *r.Spec.MLPolicy.NumNodes != 3 ||
		r.Kind != "TrainingRuntime" {
		t.Errorf("the runtime has %v next to %+v", n, r.Spec.MLPolicy)
	}
	if n := four.Earlier.TorchNumProcPerNode; n == nil || *n != intstr.FromInt32(4) {
		t.Errorf("the runtime has %v", n)
	}
	if n := mpi.Earlier.TorchNumProcPerNode; n != nil {
		t.Errorf("a runtime without torch has %v", n)
	}
}

// TestAs wants a document by another API, and the document itself by its own.
func TestAs(t *testing.T) {
	const in = "items:\n- apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainJob\n  " +
		"metadata: {name: a}\n  spec: {runtimeRef: {name: torch}, podTemplateOverrides: " +
		"[{targetJobs: [{name: node}]}]}\nkind: List\napiVersion: v1\n"
	documents, _ := Decode("in.yaml", []byte(in))
	d := documents[0]
	of21, of23 := apiOf(t, "2.1"), apiOf(t, "2.3")
	if d.As(nil) != d || d.As(of21).As(of21).API() != of21 || (*Document)(nil).As(of21) != nil {
		t.Error("As does not keep the document")
	}
	if a := d.As(of21); a.Overrides == nil || a.Findings != nil || a.ID != d.ID {
		t.Errorf("by Trainer 2.1 it is %+v", a)
	}
	a := d.As(of23)
	if a.Overrides != nil || len(a.Findings) != 1 || a.Findings[0].Position.Line != 5 ||
		!reflect.DeepEqual(a.As(nil).Overrides, d.Overrides) {
		t.Errorf("by Trainer 2.3 it is %+v with %v", a, a.Findings)
	}
	if _, ok := a.Object.(*trainer.TrainJob); !ok {
		t.Errorf("the object is a %T", a.Object)
	}
	jobSets, _ := Decode(
		"in.yaml", []byte(
			"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec: "+
				"{volumeClaimPolicies: []}\n"))
	if js := jobSets[0].As(of21); len(js.Findings) != 1 {
		t.Errorf("a JobSet of 0.10 has volumeClaimPolicies: %v", js.Findings)
	} else if _, ok := js.Object.(*jobset.JobSet); !ok {
		t.Errorf("the object is a %T", js.Object)
	}
	const patch = "manager: a.io/b\ntrainingRuntimeSpec: {template: {spec: {replicatedJobs: " +
		"[{name: node, template: {spec: {template: {spec: {terminationGracePeriodSeconds: " +
		"3}}}}}]}}}\n"
	patches, _ := DecodePatches("in.yaml", []byte(patch))
	if p := patches[0].Document.As(apiOf(t, "2.2")); len(p.Findings) != 1 ||
		p.Findings[0].Position.Line != 2 {
		t.Errorf("a patch by Trainer 2.2 has the findings %v", p.Findings)
	}
	maps, _ := Decode("in.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"))
	if maps[0].As(of21) != maps[0] {
		t.Error("a ConfigMap depends on the release")
	}
}

// TestAPI_Patches wants the patches of a release, and an error for one without patches.
func TestAPI_Patches(t *testing.T) {
	const in = "manager: a.io/b\ntrainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: " +
		"node, template: {spec: {template: {spec: {terminationGracePeriodSeconds: 3}}}}}]}}}\n"
	for version, want := range map[string]string{
		"2.0": "spec.runtimePatches is a field of Trainer 2.2 and later; Trainer 2.0 has no " +
			"patches of managers",
		"2.2": "spec.runtimePatches.trainingRuntimeSpec.template.spec.replicatedJobs.template.spec.template.spec.terminationGracePeriodSeconds is a field of Trainer 2.3 and later; Trainer 2.2 has no such field",
		"2.3": "",
	} {
		patches, findings := apiOf(t, version).DecodePatches("in.yaml", []byte(in))
		var got []string
		for _, f := range findings {
			got = append(got, f.Message)
		}
		if strings.Join(got, "\n") != want || (len(patches) == 1) != (version != "2.0") {
			t.Errorf("%s: %d patches, %q, want %q", version, len(patches), got, want)
		}
	}
}
