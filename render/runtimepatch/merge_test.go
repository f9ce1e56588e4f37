package runtimepatch_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestPatchError asks for the place at which a merge fails.
func TestPatchError(t *testing.T) {
	const pod = `.spec.replicatedJobs[name="node"].template.spec.template.spec`
	template := &trainer.JobSetTemplateSpec{
		Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{{Name: "node"}}}}
	spec := &template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	spec.NodeSelector = map[string]string{"pool": "a100"}
	for _, tc := range []struct {
		patch  trainer.PodSpecPatch
		path   string
		says   string
		reason string
	}{
		{trainer.PodSpecPatch{ImagePullSecrets: []corev1.LocalObjectReference{{}}},
			pod + ".imagePullSecrets[0]", `"name"`,
			"the item has no key, and the runtime has the list"},
		{trainer.PodSpecPatch{NodeSelector: map[string]string{"$patch": "x"}},
			pod + ".nodeSelector", `"x"`, "no such directive"},
		{trainer.PodSpecPatch{NodeSelector: map[string]string{"$retainKeys": "x"}},
			pod + ".nodeSelector", "$retainKeys", "it wants a list"},
	} {
		p := patch("a.example.com/x")
		p.TrainingRuntimeSpec.Template.Spec = &trainer.JobSetSpecPatch{
			ReplicatedJobs: []trainer.ReplicatedJobPatch{{
				Name: "node",
				Template: &trainer.JobTemplatePatch{
					Spec: &trainer.JobSpecPatch{
						Template: &trainer.PodTemplatePatch{Spec: &tc.patch}}},
			}}}
		result, err := runtimepatch.Apply(
			template, []trainer.RuntimePatch{patch("b.example.com/x"), p}, runtimepatch.Options{})
		var failed *runtimepatch.PatchError
		if !errors.As(err, &failed) || result != nil {
			t.Fatalf("%s: got %v, %v, want no result and a PatchError", tc.reason, result, err)
		}
		if failed.Manager != "a.example.com/x" || failed.Path.String() != tc.path ||
			!strings.Contains(failed.Err.Error(), tc.says) {
			t.Errorf("%s: manager %q at %s: %v; want a.example.com/x at %s, and %s in the message",
				tc.reason, failed.Manager, failed.Path, failed.Err, tc.path, tc.says)
		}
		if text := err.Error(); !strings.Contains(text, "a.example.com/x") ||
			!strings.Contains(text, tc.path) {
			t.Errorf("%s: %q does not name the manager and the field", tc.reason, text)
		}
	}
}

func TestLayers(t *testing.T) {
	if name, ok := merge.Manager("a.example.com/x").Manager(); name != "a.example.com/x" || !ok {
		t.Errorf("%q, %v", name, ok)
	}
	for _, layer := range []merge.Owner{merge.BaseLayer, runtimepatch.RuntimeLayer,
		runtimepatch.TrainJobLayer, runtimepatch.DefaultLayer, runtimepatch.JobSetLayer,
		runtimepatch.JobLayer, runtimepatch.PolicyLayer("torch"),
		runtimepatch.SchedulerLayer("volcano")} {
		if name, ok := layer.Manager(); ok {
			t.Errorf("%s is the manager %q", layer, name)
		}
	}
}

// TestTwinsOwners lays a patch over two containers of one name, which an earlier patch brought
// where the runtime has none. The log knows the two as one. The last claim on a field has to be the
// one in force all the same.
func TestTwinsOwners(t *testing.T) {
	const env = `.spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="x"].env`
	containers := func(manager string, containers ...trainer.ContainerPatch) trainer.RuntimePatch {
		p := patch(manager)
		p.TrainingRuntimeSpec.Template.Spec = &trainer.JobSetSpecPatch{
			ReplicatedJobs: []trainer.ReplicatedJobPatch{{
				Name: "node",
				Template: &trainer.JobTemplatePatch{
					Spec: &trainer.JobSpecPatch{
						Template: &trainer.PodTemplatePatch{
							Spec: &trainer.PodSpecPatch{Containers: containers}}}},
			}}}
		return p
	}
	x := func(env ...corev1.EnvVar) trainer.ContainerPatch {
		return trainer.ContainerPatch{Name: "x", Env: env}
	}
	a, b := corev1.EnvVar{Name: "A", Value: "first"}, corev1.EnvVar{Name: "B", Value: "first"}
	template := &trainer.JobSetTemplateSpec{
		Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{{Name: "node"}}}}
	result, err := runtimepatch.Apply(template, []trainer.RuntimePatch{
		containers("a.example.com/x", x(a), x(b)),
		containers("b.example.com/x",
			x(corev1.EnvVar{Name: "A", Value: "last"}, corev1.EnvVar{Name: "B", Value: "last"})),
	}, runtimepatch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]merge.Claim{}
	for path, claims := range result.History.All() {
		in[path.String()] = claims[len(claims)-1]
	}
	for _, name := range []string{"A", "B"} {
		path := env + `[name="` + name + `"].value`
		if got := in[path]; got.Owner != "manager/b.example.com/x" || got.Value != "last" {
			t.Errorf("%s is %v of %s, want the last one, of manager/b.example.com/x", path,
				got.Value, got.Owner)
		}
	}
}

func labels(manager string, keysAndValues ...string) trainer.RuntimePatch {
	p := patch(manager)
	for i := 0; i < len(keysAndValues); i += 2 {
		p.TrainingRuntimeSpec.Template.Metadata.Labels[keysAndValues[i]] = keysAndValues[i+1]
	}
	return p
}

// at returns a patch with a time.
func at(patch trainer.RuntimePatch, seconds int64) trainer.RuntimePatch {
	patch.Time = &metav1.Time{Time: time.Unix(seconds, 0)}
	return patch
}

func TestUpsert(t *testing.T) {
	a, b, c := labels("a", "x", "1", "y", "2"), labels("b", "x", "1"), labels("c")
	for _, tc := range []struct {
		name    string
		patches []trainer.RuntimePatch
		entry   trainer.RuntimePatch
		want    []trainer.RuntimePatch
		reason  string
	}{
		{"into nothing", nil, a, []trainer.RuntimePatch{a}, "a nil list is an empty one"},
		{"a new manager", []trainer.RuntimePatch{a, b}, c, []trainer.RuntimePatch{a, b, c},
			"it comes last, and so wins"},
		{"in the first place", []trainer.RuntimePatch{a, b}, labels("a", "z", "3"),
			[]trainer.RuntimePatch{labels("a", "z", "3"), b},
			"its order among the managers stays, and what it sends no longer is gone"},
		{"in the last place", []trainer.RuntimePatch{a, b}, labels("b"),
			[]trainer.RuntimePatch{a, labels("b")}, "an empty entry replaces as well"},
		{"the same once more", []trainer.RuntimePatch{a, b}, a, []trainer.RuntimePatch{a, b},
			"nothing changes"},
		{"the same without a time", []trainer.RuntimePatch{at(a, 1), b}, a,
			[]trainer.RuntimePatch{at(a, 1), b}, "the cluster sets the time"},
		{"the same at a later time", []trainer.RuntimePatch{at(a, 1), b}, at(a, 2),
			[]trainer.RuntimePatch{at(a, 2), b}, "a given time counts"},
		{"another one without a time", []trainer.RuntimePatch{at(a, 1), b}, labels("a"),
			[]trainer.RuntimePatch{labels("a"), b}, "the time of the old entry stays"},
		{"duplicates", []trainer.RuntimePatch{a, b, labels("a")}, a, []trainer.RuntimePatch{a, b},
			"a manager has one entry"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var before []trainer.RuntimePatch
			for _, p := range tc.patches {
				before = append(before, *p.DeepCopy())
			}
			got := runtimepatch.Upsert(tc.patches, tc.entry)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.patches); diff != "" {
				t.Errorf("the list it was given was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestUpsertSharesNothing changes what went in, and looks at what came out.
func TestUpsertSharesNothing(t *testing.T) {
	backing := make([]trainer.RuntimePatch, 1, 2)
	backing[0] = labels("a", "x", "1")
	entry := labels("b", "x", "1")
	got := runtimepatch.Upsert(backing, entry)
	entry.TrainingRuntimeSpec.Template.Metadata.Labels["x"] = "changed"
	if x := got[1].TrainingRuntimeSpec.Template.Metadata.Labels["x"]; x != "1" {
		t.Errorf("the entry is shared: %s", x)
	}
	if other := backing[:2][1].Manager; other != "" {
		t.Errorf("the list's own memory was written: %q", other)
	}
	replaced := runtimepatch.Upsert(got, labels("a", "x", "2"))
	if x := got[0].TrainingRuntimeSpec.Template.Metadata.Labels["x"]; x != "1" {
		t.Errorf("the old list was changed: %s", x)
	}
	if replaced[0].TrainingRuntimeSpec.Template.Metadata.Labels["x"] != "2" {
		t.Errorf("%+v", replaced)
	}
}

// TestWarnings_ZeroNulls merges a patch of Go types, one of which encodes a list that is omitted as
// null.
func TestWarnings_ZeroNulls(t *testing.T) {
	terms := []corev1.NodeSelectorTerm{
		{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "gpu", Operator: corev1.NodeSelectorOpExists}}}}
	affinity := func(terms []corev1.NodeSelectorTerm) *corev1.Affinity {
		return &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: terms}}}
	}
	for _, c := range []struct {
		name        string
		base, patch []corev1.NodeSelectorTerm
		want        int
	}{
		{"removed", terms, nil, 1},
		{"set", terms, terms, 0},
		{"absent", nil, nil, 0},
	} {
		template := &trainer.JobSetTemplateSpec{}
		template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "node"}}
		template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Affinity = affinity(c.base)
		patch := trainer.RuntimePatch{
			Manager: "example.com/a", TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
				Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{
					ReplicatedJobs: []trainer.ReplicatedJobPatch{
						{Name: "node",
							Template: &trainer.JobTemplatePatch{
								Spec: &trainer.JobSpecPatch{Template: &trainer.PodTemplatePatch{
									Spec: &trainer.PodSpecPatch{Affinity: affinity(c.patch)},
								}}}}},
				}}}}
		result, err := runtimepatch.Apply(template, []trainer.RuntimePatch{patch},
			runtimepatch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found := slices.DeleteFunc(runtimepatch.Warnings(template, result),
			func(f finding.Finding) bool { return f.Code != codes.ZeroNull })
		if len(found) != c.want {
			t.Errorf("%s: %v, want %d of TW313", c.name, found, c.want)
			continue
		}
		if c.want > 0 && !found[0].Claims[0].At.HasPrefix(runtimepatch.PatchPath("example.com/a")) {
			t.Errorf("%s: the source is %s, want a path in the patch", c.name,
				found[0].Claims[0].At)
		}
	}
}
