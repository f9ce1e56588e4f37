package admission_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/release"
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
	r, found := admission.AdmitRuntime(t.Context(), nil, object(t, text), "default")
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

// codesOf returns the codes of the errors, each once.
func codesOf(found finding.List) []string {
	set := map[string]bool{}
	for _, f := range found {
		if f.Severity == finding.Error {
			set[string(f.Code)] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

func TestUpdate(t *testing.T) {
	runtime := admitted(t, torchRuntime)
	for _, c := range casefile.Table[struct {
		Name, Old, New string
		Want           []string
		Path           string // of some error
		Reason         string
	}](t, "testdata/update.yaml") {
		t.Run(c.Name, func(t *testing.T) {
			found := admission.Update(t.Context(),
				admission.Input{TrainJob: object(t, jobYAML(c.Old)), Runtime: runtime},
				admission.Input{TrainJob: object(t, jobYAML(c.New)), Runtime: runtime})
			if got := codesOf(found); !slices.Equal(got, c.Want) {
				t.Errorf("%v, want %v: %s\n%v", got, c.Want, c.Reason, found)
			}
			at := func(f finding.Finding) bool {
				return f.Severity == finding.Error && f.Path.String() == c.Path
			}
			if c.Path != "" && !slices.ContainsFunc(found, at) {
				t.Errorf("no error at %s: %s\n%v", c.Path, c.Reason, found)
			}
			for _, f := range found {
				if f.Code == codes.Immutable &&
					!strings.HasPrefix(f.Remedy.Text, "restore the old value") {
					t.Errorf("help %q of an immutable field", f.Remedy.Text)
				}
			}
			if slices.Contains(c.Want, "TW700") &&
				strings.Contains(fmt.Sprint(found), "the TrainJob is accepted") {
				t.Errorf("a rejected update is said to be accepted:\n%v", found)
			}
		})
	}
}

// A finished TrainJob makes no more objects, and one that began with another runtime keeps it.
func TestUpdate_OfExisting(t *testing.T) {
	wrong := strings.Replace(torchRuntime, `image: "pytorch:2"`,
		`image: "pytorch:2", ports: [{containerPort: 70000}]`, 1)
	if wrong == torchRuntime {
		t.Fatal("the runtime has another container")
	}
	unknown := "\truntimePatches: [{manager: example.com/m, trainingRuntimeSpec: {template: " +
		"{spec: {replicatedJobs: [{name: none}]}}}}]\n"
	finished := "status: {conditions: [{type: Complete, status: \"True\", reason: JobsCompleted, " +
		"message: m, lastTransitionTime: \"2026-01-01T00:00:00Z\"}]}\n"
	late := strings.NewReplacer("Complete", "Failed", "JobsCompleted",
		trainer.TrainJobDeadlineExceededReason).Replace(finished)
	elsewhere := "\tmanagedBy: kueue.x-k8s.io/multikueue\n"
	for _, c := range []struct {
		name, old, new string
		before, after  string // the runtimes
		release        string
		want           []string
		kept           bool // a warning tells of the kept runtime
		reason         string
	}{
		{name: "running", old: unknown, new: unknown, want: []string{"TW202"},
			reason: "the Job API rejects the job"},
		{name: "finished", old: unknown + finished, new: unknown,
			reason: "no JobSet is made of it any more"},
		{name: "late", old: unknown + late, new: unknown, reason: "it exceeded its deadline"},
		{name: "failed",
			old: unknown + strings.Replace(late, trainer.TrainJobDeadlineExceededReason,
				"JobSetFailed", 1), new: unknown, want: []string{"TW202"},
			reason: "other failures do not last"},
		{name: "finished, patches changed", old: finished, new: unknown, want: []string{"TW701"},
			reason: "the webhook also compares the patches of a finished job"},
		{name: "changed runtime", after: wrong, kept: true,
			reason: "the Trainer keeps the runtime with which the job began"},
		{name: "changed runtime, suspended", old: "\tsuspend: true\n", new: "\tsuspend: true\n",
			after: wrong, kept: true, reason: "it also resumes with this runtime"},
		{name: "changed runtime, finished", old: finished, after: wrong,
			reason: "nothing is made of either runtime"},
		{name: "changed runtime, another controller", old: elsewhere, new: elsewhere, after: wrong,
			reason: "the Trainer reads neither runtime"},
		{name: "changed runtime, live", after: wrong, release: "2.2", want: []string{"TW612"},
			reason: "the release reads the runtime again"},
		{name: "broken runtime", before: wrong, kept: true, want: []string{"TW612"},
			reason: "the job keeps the error that the new runtime repairs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r *release.Release
			if c.release != "" {
				var err error
				if r, err = release.Parse(c.release); err != nil {
					t.Fatal(err)
				}
			}
			in := func(job, runtime string) admission.Input {
				admitted, found := admission.AdmitRuntime(t.Context(), r,
					object(t, cmp.Or(runtime, torchRuntime)), "default")
				if err := found.Err(); err != nil {
					t.Fatal(err)
				}
				return admission.Input{Release: r, TrainJob: object(t, jobYAML(job)),
					Runtime: admitted}
			}
			found := admission.Update(t.Context(), in(c.old, c.before), in(c.new, c.after))
			if got := codesOf(found); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v: %s\n%v", got, c.want, c.reason, found)
			}
			if kept := found.Of(codes.UpdateIgnored) != nil; kept != c.kept {
				t.Errorf("tells of the kept runtime: %t, want %t: %s\n%v", kept, c.kept, c.reason,
					found)
			}
		})
	}
}

// A suspended job of a runtime whose claims lack a retentionPolicy can never be resumed.
func TestNeverResumes(t *testing.T) {
	claims := func(policy string) string {
		text := strings.Replace(torchRuntime, "\t\t\treplicatedJobs:",
			`			volumeClaimPolicies:
			- templates:
				- metadata: {name: data}
					spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`+policy+`			replicatedJobs:`, 1)
		return strings.Replace(text, `image: "pytorch:2"`,
			`image: "pytorch:2", volumeMounts: [{name: data, mountPath: /data}]`, 1)
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
		if got := codesOf(found); !slices.Equal(got, c.want) {
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
			if r, _ := admission.AdmitRuntime(t.Context(), nil, o, "default"); r != nil {
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
			fails := slices.ContainsFunc(found, func(f finding.Finding) bool {
				return f.Code == codes.EndlessUpdate || f.Code == codes.NeverResumed &&
					f.Severity == finding.Error
			})
			if fails != c.failsAgain {
				t.Errorf("%s: fails to be applied again: %v, want %v\n%v", c.name, fails,
					c.failsAgain, found)
			}
		}
	}
}

func TestStamp(t *testing.T) {
	now, before := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		metav1.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	patch := func(label string, at *metav1.Time) trainer.RuntimePatch {
		return trainer.RuntimePatch{Manager: "example.com/m", Time: at,
			TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
				Template: &trainer.JobSetTemplatePatch{
					Metadata: &metav1.ObjectMeta{Labels: map[string]string{"a": label}}},
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
		{"created with a time", nil, job(patch("x", &before)), before.Time, false,
			"a time that the author gave survives creation"},
		{"unchanged", job(patch("x", &before)), job(patch("x", nil)), before.Time, true,
			"an entry whose content did not change keeps its time"},
		{"changed", job(patch("x", &before)), job(patch("y", &before)), now, true,
			"changed content gets now, whatever time it brings"},
		{"added", job(), job(patch("x", &before)), before.Time, false,
			"a new manager's own time survives"},
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
