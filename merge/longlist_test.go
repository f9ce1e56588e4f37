package merge_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
)

// TestLongLists compares lists that are long enough to be indexed with the merge of the API server: the generated
// cases of other tests have short ones.
func TestLongLists(t *testing.T) {
	next := rand.New(rand.NewPCG(testenv.Seed(t), 11))
	variables := func(n, names int) []corev1.EnvVar {
		env := make([]corev1.EnvVar, n)
		for i, name := range next.Perm(names)[:n] {
			env[i] = corev1.EnvVar{Name: fmt.Sprint("V", name), Value: fmt.Sprint(next.IntN(100))}
		}
		return env
	}
	for i := range 60 {
		template := &trainer.JobSetTemplateSpec{Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{{Name: "node"}}}}
		pod := &template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
		pod.Containers = []corev1.Container{{Name: "c", Env: variables(25+next.IntN(40), 90)}}
		if next.IntN(6) == 0 {
			pod.Containers[0].Env[9].Name = pod.Containers[0].Env[3].Name
		}
		want, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		var patches []trainer.RuntimePatch
		for k := range 4 {
			env := variables(1+next.IntN(12), 120)
			if next.IntN(3) == 0 { // new ones only, as most patches have
				for j := range env {
					env[j].Name = fmt.Sprint("N", k, env[j].Name)
				}
			}
			if next.IntN(3) == 0 {
				env = append(env, env[0])
			}
			spec := trainer.PodSpecPatch{Containers: []trainer.ContainerPatch{{Name: "c", Env: env}}}
			p := patch(fmt.Sprintf("m%d.example.com/x", k))
			p.TrainingRuntimeSpec.Template.Spec = &trainer.JobSetSpecPatch{ReplicatedJobs: []trainer.ReplicatedJobPatch{{
				Name: "node", Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{Template: &trainer.PodTemplatePatch{Spec: &spec}}},
			}}}
			patches = append(patches, p)
			text, err := json.Marshal(spec)
			if err != nil {
				t.Fatal(err)
			}
			if want, err = strategicpatch.StrategicMergePatch(want, text, corev1.PodSpec{}); err != nil {
				t.Fatal(err)
			}
		}
		var wanted corev1.PodSpec
		if err := json.Unmarshal(want, &wanted); err != nil {
			t.Fatal(err)
		}
		for _, owners := range []bool{false, true} {
			result, err := merge.Apply(template, patches, merge.Options{Owners: owners})
			if err != nil {
				t.Fatal(err)
			}
			got := result.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].Env
			if diff := cmp.Diff(wanted.Containers[0].Env, got); diff != "" {
				t.Fatalf("list %d, owners %v (-want +got):\n%s", i, owners, diff)
			}
		}
	}
}
