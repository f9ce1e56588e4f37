package legacy_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/legacy"
)

func ExampleOverrides_Patches() {
	var old legacy.TrainJob
	err := json.Unmarshal([]byte(`{"spec": {
		"labels": {"team": "a"},
		"podTemplateOverrides": [{"targetJobs": [{"name": "node"}, {"name": "eval"}], "spec": {"serviceAccountName": "training"}}]
	}}`), &old)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, overrides := old.Split()
	for _, patch := range overrides.Patches() {
		template, _ := json.Marshal(patch.TrainingRuntimeSpec.Template)
		fmt.Println(legacy.Layer(merge.Manager(patch.Manager)), string(template))
	}
	// Output:
	// override/metadata {"metadata":{"labels":{"team":"a"}}}
	// override/0 {"spec":{"replicatedJobs":[{"name":"node","template":{"spec":{"template":{"spec":{"serviceAccountName":"training"}}}}},{"name":"eval","template":{"spec":{"template":{"spec":{"serviceAccountName":"training"}}}}}]}}
}

func targets(names ...string) (jobs []legacy.TargetJob) {
	for _, name := range names {
		jobs = append(jobs, legacy.TargetJob{Name: name})
	}
	return jobs
}

func example() *legacy.Overrides {
	one, two := "one", "two"
	return &legacy.Overrides{
		Labels: map[string]string{"team": "a"},
		PodTemplateOverrides: []legacy.PodTemplateOverride{
			{TargetJobs: targets("node", "eval", "node"), Spec: &legacy.PodTemplateSpecOverride{
				ServiceAccountName: &one,
				Volumes: []corev1.Volume{
					{Name: "v", VolumeSource: corev1.VolumeSource{
						EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
				Containers: []legacy.ContainerOverride{
					{Name: "c", Env: []corev1.EnvVar{{Name: "A", Value: "a"}}}},
			}},
			{TargetJobs: targets("gone")},
			{TargetJobs: targets("node"),
				Metadata: &metav1.ObjectMeta{Labels: map[string]string{"b": "c"}},
				Spec:     &legacy.PodTemplateSpecOverride{ServiceAccountName: &two}},
		},
	}
}

// TestPatchesOf leaves jobs aside that the runtime lacks, as Trainer 2.1 did, and names none twice.
func TestPatchesOf(t *testing.T) {
	var got []string
	for _, patch := range example().PatchesOf(
		[]jobset.ReplicatedJob{{Name: "eval"}, {Name: "node"}}) {
		layer := string(legacy.Layer(merge.Manager(patch.Manager)))
		if spec := patch.TrainingRuntimeSpec.Template.Spec; spec != nil {
			for _, job := range spec.ReplicatedJobs {
				layer += " " + job.Name
			}
		}
		got = append(got, layer)
	}
	if want := []string{"override/metadata", "override/0 node eval", "override/1",
		"override/2 node"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPaths goes from a patch to the TrainJob and back.
func TestPaths(t *testing.T) {
	o := example()
	path := func(text string) fieldpath.Path {
		p, err := fieldpath.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	const pod = `.spec.replicatedJobs[name="node"].template.spec.template`
	for template, want := range map[string][]string{
		`.metadata.labels["team"]`: {`.spec.labels["team"]`},
		pod + `.spec.serviceAccountName`: {
			".spec.podTemplateOverrides[2].spec.serviceAccountName",
			".spec.podTemplateOverrides[0].spec.serviceAccountName"},
		pod + `.metadata.labels["b"]`: {`.spec.podTemplateOverrides[2].metadata.labels["b"]`,
			`.spec.podTemplateOverrides[0].metadata.labels["b"]`},
		`.spec.replicatedJobs[name="eval"]`: {".spec.podTemplateOverrides[0].targetJobs[1]"},
		`.spec.replicatedJobs[name="none"]`: nil,
	} {
		var got []string
		for _, p := range o.SourcesOf(path(template)) {
			got = append(got, p.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("the sources of %s are %q, want %q", template, got, want)
		}
	}
	for source, want := range map[string][]string{
		".spec.podTemplateOverrides[2].spec.serviceAccountName": {pod + ".spec.serviceAccountName"},
		".spec.podTemplateOverrides[1].targetJobs[0]": {
			`.spec.replicatedJobs[name="gone"]`},
		".spec.podTemplateOverrides[0].targetJobs[1].name": {
			`.spec.replicatedJobs[name="eval"]`},
		".spec.podTemplateOverrides[7].spec": nil,
		".spec.trainer.image":                nil,
	} {
		var got []string
		for _, p := range o.Reach(path(source)) {
			got = append(got, p.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s reaches %q, want %q", source, got, want)
		}
	}
	same := path(`.spec.runtimePatches[manager="example.com/m"].trainingRuntimeSpec`)
	if got := o.Source(same); !slices.Equal(got, same) {
		t.Errorf("a manager's own patch stands at %s", got)
	}
}

// TestDeepCopy changes a copy through and through.
func TestDeepCopy(t *testing.T) {
	o, want := example(), example()
	for _, each := range []*legacy.Overrides{o, want} {
		name := "of 2.0"
		each.PodSpecOverrides = []legacy.PodSpecOverride{{
			TargetJobs: []legacy.TargetJob{{Name: "node"}}, ServiceAccountName: &name,
			Tolerations: []corev1.Toleration{{Key: "k"}},
			Containers: []legacy.ContainerOverride{
				{Name: "node", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}}},
		}}
	}
	c := o.DeepCopy()
	if diff := cmp.Diff(o, c); diff != "" {
		t.Errorf("the copy differs:\n%s", diff)
	}
	c.Labels["team"] = "x"
	first := &c.PodTemplateOverrides[0]
	first.TargetJobs[0].Name = "x"
	*first.Spec.ServiceAccountName = "x"
	first.Spec.Volumes[0].EmptyDir.Medium = "x"
	first.Spec.Containers[0].Env[0].Value = "x"
	c.PodTemplateOverrides[2].Metadata.Labels["b"] = "x"
	of20 := &c.PodSpecOverrides[0]
	of20.TargetJobs[0].Name, *of20.ServiceAccountName, of20.Tolerations[0].Key,
		of20.Containers[0].Env[0].Value = "x", "x", "x", "x"
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("changing the copy changed the original:\n%s", diff)
	}
	if (*legacy.Overrides)(nil).DeepCopy() != nil {
		t.Error("the copy of nil is not nil")
	}
}

// TestPodSpecOverrides converts the overrides of Trainer 2.0, which have the fields of a Pod's spec
// next to their targets. They become patches of that spec, and paths lead there and back.
func TestPodSpecOverrides(t *testing.T) {
	name := "sa"
	o := &legacy.Overrides{PodSpecOverrides: []legacy.PodSpecOverride{
		{TargetJobs: targets("node", "gone"), ServiceAccountName: &name},
		{TargetJobs: targets("node"), NodeSelector: map[string]string{"a": "b"}},
	}}
	patches := o.PatchesOf([]jobset.ReplicatedJob{{Name: "node"}})
	if len(patches) != 2 || len(patches[0].TrainingRuntimeSpec.Template.Spec.ReplicatedJobs) != 1 {
		t.Fatalf("got %v", patches)
	}
	const pod = `.spec.replicatedJobs[name="node"].template.spec.template.spec`
	for template, want := range map[string]string{
		pod + ".serviceAccountName":                                     `[.spec.podSpecOverrides[1].serviceAccountName .spec.podSpecOverrides[0].serviceAccountName]`,
		`.spec.replicatedJobs[name="gone"].template.spec.template.spec`: "[.spec.podSpecOverrides[0]]",
		`.spec.replicatedJobs[name="gone"]`:                             "[.spec.podSpecOverrides[0].targetJobs[1]]",
	} {
		path, err := fieldpath.ParsePath(template)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(o.SourcesOf(path)); got != want {
			t.Errorf("the sources of %s are %s, want %s", template, got, want)
		}
	}
	for source, want := range map[string]string{
		".spec.podSpecOverrides[1].nodeSelector":      "[" + pod + ".nodeSelector]",
		".spec.podSpecOverrides[0].targetJobs[1]":     `[.spec.replicatedJobs[name="gone"]]`,
		".spec.podTemplateOverrides[1].spec.replicas": "[]",
	} {
		path, err := fieldpath.ParsePath(source)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(o.Reach(path)); got != want {
			t.Errorf("%s reaches %s, want %s", source, got, want)
		}
	}
	// JobSet.Validate of v2.0.1 counts the targets of all overrides.
	if found := fmt.Sprint(o.Check()); !strings.Contains(
		found, ".spec.podSpecOverrides[1].targetJobs[0].name") ||
		!strings.Contains(found, "Duplicate value: \"node\": Trainer 2.0 rejects") {
		t.Errorf("got %s", found)
	}
	if f := o.Beside(true); !strings.Contains(f.Message, "Trainer 2.0") ||
		!strings.Contains(f.Remedy.Text, "spec.podSpecOverrides") {
		t.Errorf("got %v", f)
	}
}

// TestEarlier_Grows holds that a patch costs the same after many others.
func TestEarlier_Grows(t *testing.T) {
	bytesOf := func(managers int) uint64 {
		var e legacy.Earlier
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range managers {
			e.TakePatch(map[string]any{
				"manager": fmt.Sprint(i),
				"trainingRuntimeSpec": map[string]any{
					"template": map[string]any{"spec": map[string]any{
						"resourceClaims": []any{map[string]any{"name": "gpu"}},
					}}},
			})
		}
		runtime.ReadMemStats(&after)
		if len(e.Patched) != managers {
			t.Fatalf("%d managers have fields, want %d", len(e.Patched), managers)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := bytesOf(250), bytesOf(1000); many > 8*few {
		t.Errorf("1,000 patches take %d bytes, and 250 take %d", many, few)
	}
}
