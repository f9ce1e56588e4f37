package runtimepatch_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// pods is a manager's patch of the Pods of the job node.
func pods(manager string, change func(*trainer.PodSpecPatch)) trainer.RuntimePatch {
	p := nodeSelector(manager, nil)
	change(podOf(p))
	p.TrainingRuntimeSpec.Template.Metadata = nil
	return p
}

func podOf(p trainer.RuntimePatch) *trainer.PodSpecPatch {
	return p.TrainingRuntimeSpec.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
}

func selects(labels map[string]string) func(*trainer.PodSpecPatch) {
	return func(p *trainer.PodSpecPatch) { p.NodeSelector = labels }
}

func tolerates(keys ...string) func(*trainer.PodSpecPatch) {
	return func(p *trainer.PodSpecPatch) {
		for _, key := range keys {
			p.Tolerations = append(p.Tolerations, corev1.Toleration{Key: key})
		}
	}
}

func TestPlan(t *testing.T) {
	const queue, sdk = "queue", "sdk"
	nothing := trainer.RuntimePatch{Manager: queue}
	env := func(names ...string) func(*trainer.PodSpecPatch) {
		return func(p *trainer.PodSpecPatch) {
			c := trainer.ContainerPatch{Name: "node"}
			for _, name := range names {
				c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: "1"})
			}
			p.Containers = []trainer.ContainerPatch{c}
		}
	}
	for _, tc := range []struct {
		name    string
		patches []trainer.RuntimePatch
		want    trainer.RuntimePatch
		plan    trainer.RuntimePatch
		reason  string
	}{
		{"nothing wanted", nil, nothing, nothing, "an empty patch stays empty"},
		{"set by the runtime", nil, pods(queue, selects(map[string]string{"pool": "general"})),
			nothing, "the runtime sets the field as wanted"},
		{"over the runtime", nil, pods(queue, selects(map[string]string{"pool": "spot"})),
			pods(queue, selects(map[string]string{"pool": "spot"})),
			"a manager may change the runtime's value"},
		{
			"set by another manager",
			[]trainer.RuntimePatch{pods(sdk, selects(map[string]string{"pool": "spot"}))},
			pods(queue, selects(map[string]string{"pool": "spot", "zone": "a"})),
			pods(queue, selects(map[string]string{"zone": "a"})), "only one key is missing",
		},
		{
			"old entry", []trainer.RuntimePatch{
				pods(queue, selects(map[string]string{"pool": "spot", "zone": "b"})),
				pods(sdk, selects(nil))},
			pods(queue, selects(map[string]string{"pool": "spot"})),
			pods(queue, selects(map[string]string{"pool": "spot"})),
			"the manager's old entry sets nothing",
		},
		{
			"equal atomic list", []trainer.RuntimePatch{pods(sdk, tolerates("a", "b"))},
			pods(queue, tolerates("a", "b")), nothing, "managers share equal values",
		},
		{
			"order of items", []trainer.RuntimePatch{pods(sdk, env("A", "B"))},
			pods(queue, env("NEW", "B", "A")), pods(queue, env("NEW")),
			"the other manager's variables keep their order",
		},
		{
			"order of the runtime", nil, pods(queue, env("NEW", "SECOND", "FIRST")),
			pods(queue, env("NEW", "FIRST", "SECOND")),
			"the plan changes the runtime's variables in their order",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base := template()
			base.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "FIRST"}, {Name: "SECOND"}}
			plan, err := runtimepatch.Minimal(base, tc.patches, tc.want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.plan, plan); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPlan_Conflict holds that an error names each field, its managers and their values, and no
// conflict of others.
func TestPlan_Conflict(t *testing.T) {
	volume := func(source corev1.VolumeSource) func(*trainer.PodSpecPatch) {
		return func(p *trainer.PodSpecPatch) {
			p.Volumes = []corev1.Volume{{Name: "data", VolumeSource: source}}
		}
	}
	const pod = `.spec.replicatedJobs[name="node"].template.spec.template.spec`
	for _, tc := range []struct {
		name    string
		patches []trainer.RuntimePatch
		want    trainer.RuntimePatch
		message string
	}{
		{
			"atomic list", []trainer.RuntimePatch{pods("sdk", tolerates("a"))},
			pods("queue", tolerates("a", "b")),
			pod + `.tolerations: managers set different values: sdk sets [{"key":"a"}], queue sets [{"key":"a"},{"key":"b"}]`,
		},
		{
			"in its place",
			[]trainer.RuntimePatch{
				pods("queue", selects(nil)),
				pods("sdk", selects(map[string]string{"pool": "spot"}))},
			pods("queue", selects(map[string]string{"pool": "reserved"})),
			pod + `.nodeSelector["pool"]: managers set different values: queue sets "reserved", sdk sets "spot"`,
		},
		{
			"union", []trainer.RuntimePatch{
				pods("sdk", volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}))},
			pods("queue",
				volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}})),
			"managers set different members of one union",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			others := []trainer.RuntimePatch{pods("x", selects(map[string]string{"rack": "1"})),
				pods("y", selects(map[string]string{"rack": "2"}))}
			plan, err := runtimepatch.Minimal(template(), append(tc.patches, others...), tc.want)
			var found conflict.Conflicts
			if !errors.As(err, &found) || len(found) != 1 ||
				!strings.Contains(err.Error(), tc.message) {
				t.Errorf("Plan = %v, %v, want the error %s", plan, err, tc.message)
			}
		})
	}
}

func TestPlan_PatchError(t *testing.T) {
	keyless := pods("queue", func(p *trainer.PodSpecPatch) {
		p.Containers = []trainer.ContainerPatch{{Env: []corev1.EnvVar{{Value: "1"}}}}
	})
	for name, patches := range map[string][]trainer.RuntimePatch{
		"wanted": nil, "other": {pods("sdk", selects(nil)), func() trainer.RuntimePatch {
			p := keyless
			p.Manager = "other"
			return p
		}()}} {
		want := keyless
		if name == "other" {
			want = pods("queue", selects(nil))
		}
		_, err := runtimepatch.Minimal(template(), patches, want)
		var failed *runtimepatch.PatchError
		if !errors.As(err, &failed) ||
			failed.Manager != map[string]string{"wanted": "queue", "other": "other"}[name] {
			t.Errorf("%s: Plan returns %v, want a PatchError", name, err)
		}
	}
}

// TestPlan_Unset plans nothing for an empty text of a field that the template's type then omits.
func TestPlan_Unset(t *testing.T) {
	template := &trainer.JobSetTemplateSpec{}
	template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "node"}}
	planned, err := runtimepatch.Minimal(template, nil, pods("queue", func(p *trainer.PodSpecPatch) {
		p.ServiceAccountName = new(string)
	}))
	if err != nil || planned.TrainingRuntimeSpec != nil {
		t.Errorf("Minimal() = %+v, %v, want no patch", planned, err)
	}
}
