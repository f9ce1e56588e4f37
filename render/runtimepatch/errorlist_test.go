package runtimepatch_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

func TestErrorList(t *testing.T) {
	const node = `trainingRuntimeSpec.template.spec.replicatedJobs[name="node"].template.spec.template.spec.`
	for _, tc := range []struct {
		patches []says
		root    *field.Path
		want    []string
		reason  string
	}{
		{
			[]says{{sdk, `nodeSelector: {pool: a}`}, {queue, `nodeSelector: {pool: b}`}}, nil,
			[]string{`spec.runtimePatches[queue.example/admission].` + node +
				`nodeSelector["pool"]: Invalid value: managers set different values: sdk.example/user sets "a", queue.example/admission sets "b"`},
			"the last patch is the one to look at",
		},
		{
			[]says{{sdk, `volumes: [{name: d, emptyDir: {}}]`},
				{queue, `volumes: [{name: d, configMap: {name: c}}]`}}, field.NewPath("patches"),
			[]string{`patches[queue.example/admission].` + node +
				`volumes[name="d"].configMap: Invalid value: managers set different members of one union; the merge keeps both, and the cluster rejects the object: sdk.example/user sets .emptyDir to present, queue.example/admission sets .configMap to "c"`},
			"the list of patches may stand elsewhere",
		},
		{
			[]says{{sdk, `containers: [{name: side, env: [{name: A, value: s3cret}]}]`},
				{queue, `containers: [{name: side, env: [{name: A, value: hidden}]}]`}}, nil,
			[]string{`spec.runtimePatches[queue.example/admission].` + node +
				`containers[name="side"].env[name="A"].value: Invalid value: managers set different values: sdk.example/user sets *** (6 characters), queue.example/admission sets *** (6 characters)`},
			"values of variables may be secrets",
		},
		{
			[]says{{sdk, `volumes: [{name: d, scaleIO: {secretRef: {name: s}, system: x, gateway: g}}]`}, {queue, `volumes: [{name: d, scaleIO: {system: x, gateway: g}}]`}}, nil,
			[]string{`spec.runtimePatches[queue.example/admission].` + node +
				`volumes[name="d"].scaleIO.secretRef: Invalid value: one manager empties what another sets: sdk.example/user sets .name to "s", queue.example/admission sets null`},
			"a null is also a value",
		},
		{[]says{{sdk, `nodeSelector: {pool: a}`}}, nil, nil, "no conflict, no error"},
	} {
		template := &trainer.JobSetTemplateSpec{}
		template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "node"}}
		template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers = []corev1.Container{
			{Name: "side"}}
		result, err := runtimepatch.Apply(template, podPatches(t, tc.patches),
			runtimepatch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range runtimepatch.ErrorList(conflict.Find(result.History), tc.root) {
			got = append(got, e.Error())
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.reason, diff)
		}
	}
}

// TestFind_WithoutOwners wants no silence about conflicts that nobody has looked for.
func TestFind_WithoutOwners(t *testing.T) {
	err := conflict.Find(nil).Err()
	if err == nil || !strings.Contains(err.Error(), "no history") {
		t.Errorf("Find(a merge without owners) = %v, want an error that says so", err)
	}
}
