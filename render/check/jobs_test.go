package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/check"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

func TestCheckManagers(t *testing.T) {
	long := "a.example.com/" + strings.Repeat("x", 240)
	for _, tc := range []struct {
		managers []string
		want     []string
		reason   string
	}{
		{managers: []string{"kueue.x-k8s.io/manager", "trainer.kubeflow.org/kubeflow-sdk"},
			reason: "a domain and a path"},
		{managers: []string{"a.example.com/x/y"}, reason: "the path may have slashes"},
		{managers: []string{long[:253]}, reason: "as long as the CRD lets it be"},
		{managers: []string{long},
			want:   []string{"TW200 error TrainJob .spec.runtimePatches[0].manager"},
			reason: "one character more"},
		{managers: []string{""}, want: []string{"TW200 error TrainJob .spec.runtimePatches[0]"},
			reason: "no manager"},
		{managers: []string{"", ""},
			want: []string{"TW200 error TrainJob .spec.runtimePatches[0]",
				"TW200 error TrainJob .spec.runtimePatches[1]"},
			reason: "two patches of nobody are not of one manager"},
		{managers: []string{"kueue"},
			want:   []string{"TW200 error TrainJob .spec.runtimePatches[0].manager"},
			reason: "no domain"},
		{managers: []string{"A.example.com/x"},
			want:   []string{"TW200 error TrainJob .spec.runtimePatches[0].manager"},
			reason: "a domain in capitals"},
		{managers: []string{"example.com/"},
			want:   []string{"TW200 error TrainJob .spec.runtimePatches[0].manager"},
			reason: "no path"},
		{
			managers: []string{"a.example.com/x", "b.example.com/x", "a.example.com/x",
				"a.example.com/x"},
			want: []string{
				"TW201 error TrainJob .spec.runtimePatches[2].manager | manager/a.example.com/x " +
					".spec.runtimePatches[0] | manager/a.example.com/x .spec.runtimePatches[2]",
				"TW201 error TrainJob .spec.runtimePatches[3].manager | manager/a.example.com/x " +
					".spec.runtimePatches[0] | manager/a.example.com/x .spec.runtimePatches[3]",
			},
			reason: "each later one next to the first",
		},
	} {
		var patches []trainer.RuntimePatch
		for _, manager := range tc.managers {
			patches = append(patches, trainer.RuntimePatch{Manager: manager})
		}
		got := check.Patches(template(t, runtimePod), patches)
		if diff := cmp.Diff(tc.want, brief(got)); diff != "" {
			t.Errorf("%q: %s (-want +got):\n%s", tc.managers, tc.reason, diff)
		}
	}
}

// TestCheck_DistinctPatches wants paths by position where managers do not identify patches.
func TestCheck_DistinctPatches(t *testing.T) {
	ghost := func(manager string) trainer.RuntimePatch {
		return podPatch(t, manager, `{containers: [{name: ghost}]}`)
	}
	got := check.Patches(template(t, runtimePod),
		[]trainer.RuntimePatch{ghost("a.example.com/x"), ghost(""), ghost("b.example.com/x"),
			ghost("a.example.com/x")})
	var paths []string
	for _, f := range got {
		if f.Code == codes.UnknownContainer {
			paths = append(paths, f.Path[:3].String())
		}
	}
	want := []string{".spec.runtimePatches[0]", ".spec.runtimePatches[1]",
		`.spec.runtimePatches[manager="b.example.com/x"]`, ".spec.runtimePatches[3]"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
}

func TestCheckJobs(t *testing.T) {
	got := check.Patches(template(t, runtimePod),
		[]trainer.RuntimePatch{jobPatch("a.example.com/x", "worker", nil),
			jobPatch("b.example.com/x", "", nil)})
	want := []string{
		`TW202 error TrainJob .spec.runtimePatches[manager="a.example.com/x"].trainingRuntimeSpec.template.spec.replicatedJobs[name="worker"]`,
		`TW215 error TrainJob .spec.runtimePatches[manager="b.example.com/x"].trainingRuntimeSpec.template.spec.replicatedJobs[0]`,
	}
	if diff := cmp.Diff(want, brief(got)); diff != "" {
		t.Error(diff)
	}
}

// TestCheck_RuntimeJobWithoutName asks for nothing: the API server accepts one such job, and no
// second one.
func TestCheck_RuntimeJobWithoutName(t *testing.T) {
	runtime := template(t, `{containers: [{name: node, image: x}]}`)
	runtime.Spec.ReplicatedJobs[0].Name = ""
	if got := check.Patches(runtime, nil); len(got) > 0 {
		t.Errorf("Check = %v, want nothing", got)
	}
	runtime.Spec.ReplicatedJobs = append(runtime.Spec.ReplicatedJobs,
		runtime.Spec.ReplicatedJobs[0])
	want := []string{
		`TW208 error TrainingRuntime .spec.template.spec.replicatedJobs[1] | runtime .spec.template.spec.replicatedJobs[0] | runtime .spec.template.spec.replicatedJobs[1]`}
	if diff := cmp.Diff(want, brief(check.Patches(runtime, nil))); diff != "" {
		t.Errorf("Check of two (-want +got):\n%s", diff)
	}
}

// TestCheckMainEnv asks for env of the main containers, which the Trainer's webhook rejects in any
// job.
func TestCheckMainEnv(t *testing.T) {
	for _, job := range []string{"node", "worker"} {
		patch := jobPatch("a.example.com/x", job, &trainer.PodTemplatePatch{})
		decode(t, `{containers: [{name: node, env: [{name: A, value: a}]}]}`,
			&patch.TrainingRuntimeSpec.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec)
		got := check.Patches(template(t, runtimePod), []trainer.RuntimePatch{patch})
		at := runtimepatch.PatchPath("a.example.com/x").Append(fieldpath.Field("spec"),
			fieldpath.Field("replicatedJobs"), fieldpath.Item("name", job)).
			Append(fieldpath.Fields("template", "spec", "template", "spec",
				"containers")...).Append(fieldpath.Item("name", "node"), fieldpath.Field("env"))
		if !slices.ContainsFunc(got, func(f finding.Finding) bool {
			return f.Code == codes.EnvOnMain && slices.Equal(f.Path, at)
		}) {
			t.Errorf("job %q: want %s at %s, got\n%v", job, codes.EnvOnMain, at, got)
		}
	}
}

func TestCheckMetadata(t *testing.T) {
	patch := jobPatch("a.example.com/x", "node", &trainer.PodTemplatePatch{})
	p := patch.TrainingRuntimeSpec.Template
	decode(t, `{labels: {a: b, $patch: replace}, annotations: {a: b}, name: x, generateName: y, finalizers: [example.com/z]}`, &p.Metadata)
	decode(t, `{labels: {a: b}, namespace: x}`, &p.Spec.ReplicatedJobs[0].Template.Metadata)
	decode(t, `{annotations: {a: b}, finalizers: [example.com/z]}`,
		&p.Spec.ReplicatedJobs[0].Template.Spec.Template.Metadata)
	const at = `.spec.runtimePatches[manager="a.example.com/x"].trainingRuntimeSpec.template`
	want := []string{
		"TW210 warning TrainJob " + at + ".metadata.name",
		"TW210 warning TrainJob " + at + ".metadata.generateName",
		"TW210 warning TrainJob " + at + ".metadata.finalizers",
		"TW209 error TrainJob " + at + `.metadata.labels["$patch"]`,
		"TW210 warning TrainJob " + at +
			`.spec.replicatedJobs[name="node"].template.metadata.namespace`,
		"TW210 warning TrainJob " + at +
			`.spec.replicatedJobs[name="node"].template.spec.template.metadata.finalizers`,
	}
	got := check.Patches(template(t, runtimePod), []trainer.RuntimePatch{patch})
	if diff := cmp.Diff(want, brief(got)); diff != "" {
		t.Error(diff)
	}
	for _, f := range got {
		if reaches := strings.Contains(
			f.Message, "reach the Pods"); f.Code == codes.IgnoredMetadata &&
			reaches != strings.HasSuffix(f.Path.String(),
				"template.spec.template.metadata.finalizers") {
			t.Errorf("%s: %s", f.Path, f.Message)
		}
	}
}

func TestCheck_MissingParts(t *testing.T) {
	for _, patch := range []trainer.RuntimePatch{
		{},
		{TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{}},
		{TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
			Template: &trainer.JobSetTemplatePatch{}}},
		{TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
			Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{}}}},
		jobPatch("", "node", nil),
		jobPatch("", "node", &trainer.PodTemplatePatch{}),
	} {
		patch.Manager = "a.example.com/x"
		for _, template := range []*trainer.JobSetTemplateSpec{{}, template(t, runtimePod)} {
			for _, f := range check.Patches(template, []trainer.RuntimePatch{patch}) {
				if f.Code != codes.UnknownJob {
					t.Errorf("%+v", f)
				}
			}
		}
	}
	if got := check.Patches(&trainer.JobSetTemplateSpec{}, nil); got != nil {
		t.Errorf("%v", got)
	}
}
