package runtimepatch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

func TestForce(t *testing.T) {
	for _, tc := range casefile.Table[struct {
		Name, Reason string
		Patches      []says
		Force        []string
		Want         []says   // the managers' patches that are left
		Decisions    []string // "winner over losers: field"
	}](t, "testdata/forced.yaml") {
		t.Run(tc.Name, func(t *testing.T) {
			template := &trainer.JobSetTemplateSpec{}
			template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "node"}}
			template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers = []corev1.Container{{Name: "node"}, {Name: "side"}}
			left, decisions, err := runtimepatch.Force(template, podPatches(t, tc.Patches),
				tc.Force...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(podPatches(t, tc.Want), left); diff != "" {
				t.Errorf("the forced patches (-want +got):\n%s\nreason: %s", diff, tc.Reason)
			}
			var got []string
			for _, d := range decisions {
				f := d.Finding(fieldpath.Object{Kind: trainer.TrainJobKind, Name: "llm"})
				winner, losers, _ := strings.Cut(strings.TrimSuffix(f.Message, " (forced)"),
					" overrides ")
				_, field, _ := strings.Cut(f.Path.String(), ".template.spec.template.spec")
				got = append(
					got, fmt.Sprintf("%s over %s: %s", nick.Replace(winner), nick.Replace(losers),
						field))
				if last := f.Claims[len(f.Claims)-1].Owner; last != merge.Manager(d.Manager) ||
					f.Severity != finding.Warning || f.Code != codes.Forced {
					t.Errorf("the finding does not end with the winner's claim, or is not a "+
						"warning: %v", f)
				}
			}
			if diff := cmp.Diff(tc.Decisions, got); diff != "" {
				t.Errorf("decisions (-want +got):\n%s\nreason: %s", diff, tc.Reason)
			}
		})
	}
}

var nick = strings.NewReplacer(sdk, "sdk", queue, "queue", team, "team")

// podPatches are patches of the Pod of the replicated job node; {} is one that only names the job.
func podPatches(t *testing.T, all []says) []trainer.RuntimePatch {
	t.Helper()
	var patches []trainer.RuntimePatch
	for _, s := range all {
		pod := &trainer.PodSpecPatch{}
		if err := yaml.UnmarshalStrict([]byte(s.Patch), pod); err != nil {
			t.Fatal(err)
		}
		p := pool(s.Manager, "")
		job := &p.TrainingRuntimeSpec.Template.Spec.ReplicatedJobs[0]
		job.Template.Spec.Template.Spec = pod
		if s.Patch == "{}" {
			job.Template = nil // structs of which nothing is left go, too
		}
		patches = append(patches, p)
	}
	return patches
}

// TestForce_ClusterOutcome wants to know from a decision's help what becomes of it without force.
func TestForce_ClusterOutcome(t *testing.T) {
	for _, tc := range []struct {
		force, want string
		patches     []says
	}{
		{sdk, "the cluster lets the last patch win, which is " + queue +
			"'s: remove the field from the patch of " + queue,
			[]says{{sdk, `nodeSelector: {pool: a}`}, {queue, `nodeSelector: {pool: b}`}}},
		{queue, "the cluster lets it win, too, as long as its patch is the last one: remove the " +
			"field from the patch of " + sdk,
			[]says{{sdk, `nodeSelector: {pool: a}`}, {queue, `nodeSelector: {pool: b}`}}},
		{sdk, "the cluster keeps both members and refuses the object: remove the field from the " +
			"patch of " + queue,
			[]says{{sdk, `volumes: [{name: d, emptyDir: {}}]`},
				{queue, `volumes: [{name: d, configMap: {}}]`}}},
	} {
		_, decisions, err := runtimepatch.Force(&trainer.JobSetTemplateSpec{},
			podPatches(t, tc.patches), tc.force)
		if err != nil || len(decisions) != 1 {
			t.Fatalf("%v %v", decisions, err)
		}
		if got := decisions[0].Finding(fieldpath.Object{}).Remedy.Text; got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// TestForceFails wants the error of the merge, and no half of a result.
func TestForceFails(t *testing.T) {
	template := &trainer.JobSetTemplateSpec{}
	template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "node"}}
	template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector = map[string]string{
		"a": "b"}
	patches := podPatches(t, []says{{sdk, `nodeSelector: {$patch: other}`}})
	_, want := runtimepatch.Apply(template, patches, runtimepatch.Options{})
	left, decisions, err := runtimepatch.Force(template, patches, sdk)
	if want == nil || err == nil || err.Error() != want.Error() || left != nil || decisions != nil {
		t.Errorf("%v %v %v, want %v", left, decisions, err, want)
	}
	if errors.Unwrap(err) == nil {
		t.Errorf("%v has lost its cause", err)
	}
}

// ExampleForce lets the user's patch win over the queue's, which comes after it.
func ExampleForce() {
	template := &trainer.JobSetTemplateSpec{}
	template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "node"}}
	patches := []trainer.RuntimePatch{pool("sdk.example.com/user", "reserved"),
		pool("queue.example.com/admission", "spot")}

	patches, decisions, err := runtimepatch.Force(template, patches, "sdk.example.com/user")
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := runtimepatch.Apply(template, patches, runtimepatch.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector["pool"])
	for _, d := range decisions {
		fmt.Println(d.Finding(fieldpath.Object{}).Message)
	}
	// Output:
	// reserved
	// sdk.example.com/user overrides queue.example.com/admission (forced)
}

// TestForce_NullOfTime keeps a null that a Go patch says by a pointer to a zero time, in the patch
// that loses another field and in the smallest patch.
func TestForce_NullOfTime(t *testing.T) {
	template := &trainer.JobSetTemplateSpec{}
	template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "node"}}
	template.Spec.ReplicatedJobs[0].Template.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	patch := nodeSelector(queue, map[string]string{"pool": "b"})
	patch.TrainingRuntimeSpec.Template.Spec.ReplicatedJobs[0].Template.Metadata = &metav1.ObjectMeta{
		DeletionTimestamp: &metav1.Time{}}
	patches := []trainer.RuntimePatch{patch, nodeSelector(sdk, map[string]string{"pool": "a"})}
	forced, decisions, err := runtimepatch.Force(template, patches, sdk)
	if err != nil || len(decisions) != 1 {
		t.Fatalf("Force() = %v, %v", decisions, err)
	}
	planned, err := runtimepatch.Minimal(template, nil, patch)
	if err != nil {
		t.Fatal(err)
	}
	for name, patches := range map[string][]trainer.RuntimePatch{
		"Force": forced, "Minimal": {planned}} {
		merged, err := runtimepatch.Apply(template, patches, runtimepatch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if at := merged.Template.Spec.ReplicatedJobs[0].Template.DeletionTimestamp; at != nil {
			t.Errorf("%s: the patch that empties deletionTimestamp leaves %v", name, at)
		}
	}
}

// TestFind_NullWithinMember finds the union of which one member has only a null in its patch: the
// Go type of a projected volume always encodes its sources.
func TestFind_NullWithinMember(t *testing.T) {
	volume := func(manager string, source corev1.VolumeSource) trainer.RuntimePatch {
		return pods(manager, func(p *trainer.PodSpecPatch) {
			p.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}}
		})
	}
	result, err := runtimepatch.Apply(nil, []trainer.RuntimePatch{
		volume(sdk, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}),
		volume(queue, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}),
	}, runtimepatch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if found := conflict.Find(result.History); len(found) != 1 || found[0].Kind != conflict.Union {
		t.Errorf("Find() = %v, want a union", found)
	}
}
