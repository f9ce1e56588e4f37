package runtimepatch_test

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

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge/tree"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestAllocations limits the number of allocations. The limit is the sum of two deep copies of the
// result, one encoding of the base and the patches as JSON, and one for each value in the JSON of
// the patches. It adds one for every three claims. Numbers of allocations are exact, so the test
// cannot fail on a slow machine.
func TestAllocations(t *testing.T) {
	for _, jobs := range []int{1, 3, 5} {
		for _, managers := range []int{1, 4, 16} {
			template, patches := benchTemplate(jobs), benchPatches(managers, jobs)
			result := mustApply(t, template, patches)
			claims, values := 0, 0
			for _, each := range result.History.All() {
				claims += len(each)
			}
			floor := allocations(func() { result.Template.DeepCopy() })
			encoding := allocations(func() {
				tree.Encode(template)
				values = 0
				for i := range patches {
					patch, _ := tree.Encode(patches[i].TrainingRuntimeSpec.Template)
					values += count(patch)
				}
			})
			got, most := allocations(func() { mustApply(t, template, patches) }),
				2*floor+encoding+values+claims/3
			if got > most {
				t.Errorf("%d jobs, %d managers: %d allocations for %d values and %d claims; a "+
					"DeepCopy takes %d and encoding %d, so %d at most",
					jobs, managers, got, values, claims, floor, encoding, most)
			}
			if n := allocations(func() { conflict.Find(result.History) }); n > 0 {
				t.Errorf("%d jobs, %d managers: Find allocates %d times without a conflict", jobs,
					managers, n)
			}
		}
	}
}

// count returns the number of values in a JSON value, itself included.
func count(value any) int {
	n := 1
	switch value := value.(type) {
	case map[string]any:
		for _, part := range value {
			n += count(part)
		}
	case []any:
		for _, part := range value {
			n += count(part)
		}
	}
	return n
}

// TestGrowth holds the number of allocations to a straight line, beyond the number for an input
// that has none. Twice as many managers, jobs or variables take at most twice as many. A tenth more
// is allowed, since maps and slices grow in steps.
func TestGrowth(t *testing.T) {
	for name, g := range growths {
		t.Run(name, func(t *testing.T) {
			count := func(n int) int {
				template, patches := g.input(n)
				return allocations(func() { mustApply(t, template, patches) })
			}
			none, less, few := count(0), g.most/16, count(g.most/16)
			for parts := 8; parts > 0; parts /= 2 {
				n := g.most / parts
				many := count(n)
				if (many-none)*less*10 > (few-none)*n*11 {
					t.Errorf("%d allocations without any, %d for %d, %d for %d: that is not "+
						"a straight line", none, few, less, many, n)
				}
				less, few = n, many
			}
			t.Logf("%d allocations without any, %d for %d", none, few, g.most)
		})
	}
}

// growth is a size of the input that can grow.
type growth struct {
	most  int
	input func(n int) (*trainer.JobSetTemplateSpec, []trainer.RuntimePatch)
}

var growths = map[string]growth{
	"managers": {64, func(n int) (*trainer.JobSetTemplateSpec, []trainer.RuntimePatch) {
		return benchTemplate(3), benchPatches(n, 3)
	}},
	"jobs": {100, func(n int) (*trainer.JobSetTemplateSpec, []trainer.RuntimePatch) {
		return benchTemplate(n), benchPatches(4, n)
	}},
	// All but one variable of each patch are the template's.
	"env": {1000, func(n int) (*trainer.JobSetTemplateSpec, []trainer.RuntimePatch) {
		return withEnv(benchTemplate(1), n), benchPatches(4, 1)
	}},
	// And here all are the patches'.
	"patch-env": {1000, func(n int) (*trainer.JobSetTemplateSpec, []trainer.RuntimePatch) {
		patches := benchPatches(4, 1)
		for i := range patches {
			container := &patches[i].TrainingRuntimeSpec.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0]
			for j := range n {
				container.Env = append(container.Env,
					corev1.EnvVar{Name: fmt.Sprintf("M%d_%d", i, j), Value: "x"})
			}
		}
		return benchTemplate(1), patches
	}},
}

// withEnv gives the container that patches name n variables.
func withEnv(template *trainer.JobSetTemplateSpec, n int) *trainer.JobSetTemplateSpec {
	containers := template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers
	env := &containers[len(containers)-1].Env
	for i := range n {
		*env = append(*env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", i), Value: "x"})
	}
	return template
}

func mustApply(t testing.TB, template *trainer.JobSetTemplateSpec,
	patches []trainer.RuntimePatch) *runtimepatch.Result {
	t.Helper()
	result, err := runtimepatch.Apply(template, patches, runtimepatch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func allocations(f func()) int { return int(testing.AllocsPerRun(5, f)) }

// TestLongLists compares lists that are long enough to be indexed with the merge of the API server.
// The generated cases of other tests have short ones.
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
		template := &trainer.JobSetTemplateSpec{
			Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{{Name: "node"}}}}
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
			spec := trainer.PodSpecPatch{
				Containers: []trainer.ContainerPatch{{Name: "c", Env: env}}}
			p := patch(fmt.Sprintf("m%d.example.com/x", k))
			p.TrainingRuntimeSpec.Template.Spec = &trainer.JobSetSpecPatch{
				ReplicatedJobs: []trainer.ReplicatedJobPatch{{
					Name: "node",
					Template: &trainer.JobTemplatePatch{
						Spec: &trainer.JobSpecPatch{
							Template: &trainer.PodTemplatePatch{Spec: &spec}}},
				}}}
			patches = append(patches, p)
			text, err := json.Marshal(spec)
			if err != nil {
				t.Fatal(err)
			}
			if want, err = strategicpatch.StrategicMergePatch(
				want, text, corev1.PodSpec{}); err != nil {
				t.Fatal(err)
			}
		}
		var wanted corev1.PodSpec
		if err := json.Unmarshal(want, &wanted); err != nil {
			t.Fatal(err)
		}
		for _, owners := range []bool{false, true} {
			result, err := runtimepatch.Apply(template, patches,
				runtimepatch.Options{})
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
