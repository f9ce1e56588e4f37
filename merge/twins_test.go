package merge_test

import (
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/merge"
)

// TestTwinsOwners lays a patch over two containers of one name, which an earlier patch brought where the runtime
// has none. The log knows the two as one; the last claim on a field has to be the one in force all the same.
func TestTwinsOwners(t *testing.T) {
	const env = `.spec.replicatedJobs[name="node"].template.spec.template.spec.containers[name="x"].env`
	containers := func(manager string, containers ...trainer.ContainerPatch) trainer.RuntimePatch {
		p := patch(manager)
		p.TrainingRuntimeSpec.Template.Spec = &trainer.JobSetSpecPatch{ReplicatedJobs: []trainer.ReplicatedJobPatch{{
			Name: "node", Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{Template: &trainer.PodTemplatePatch{Spec: &trainer.PodSpecPatch{Containers: containers}}}},
		}}}
		return p
	}
	x := func(env ...corev1.EnvVar) trainer.ContainerPatch { return trainer.ContainerPatch{Name: "x", Env: env} }
	a, b := corev1.EnvVar{Name: "A", Value: "first"}, corev1.EnvVar{Name: "B", Value: "first"}
	template := &trainer.JobSetTemplateSpec{Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{{Name: "node"}}}}
	result, err := merge.Apply(template, []trainer.RuntimePatch{
		containers("a.example.com/x", x(a), x(b)),
		containers("b.example.com/x", x(corev1.EnvVar{Name: "A", Value: "last"}, corev1.EnvVar{Name: "B", Value: "last"})),
	}, merge.Options{Owners: true})
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]merge.Claim{}
	for path, claims := range result.Owners.All() {
		in[path.String()] = claims[len(claims)-1]
	}
	for _, name := range []string{"A", "B"} {
		path := env + `[name="` + name + `"].value`
		if got := in[path]; got.Layer != "manager/b.example.com/x" || got.Value != "last" {
			t.Errorf("%s is %v of %s, want the last one, of manager/b.example.com/x", path, got.Value, got.Layer)
		}
	}
}
