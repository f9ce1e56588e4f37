package render_test

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/policy"
)

// TestFindingsWithoutOwners renders with and without asking for owners. Without, what the policies write is only
// recorded where something is lost by it, and no finding may be missed for that.
func TestFindingsWithoutOwners(t *testing.T) {
	shadowed := 0
	same := func(name string, in render.Input) {
		t.Helper()
		for _, opts := range []render.Options{
			{OnConflict: render.Last},
			{As: render.Stored, FeatureGates: render.FeatureGates{TrainJobStatus: true}},
		} {
			got, _ := render.JobSet(in, opts)
			opts.Owners = true
			want, _ := render.JobSet(in, opts)
			if diff := cmp.Diff(asText(t, want.Findings), asText(t, got.Findings)); diff != "" {
				t.Errorf("%s: the findings with owners (-) and without (+) differ:\n%s", name, diff)
			}
			if diff := cmp.Diff(asText(t, want.JobSet, want.Companions), asText(t, got.JobSet, got.Companions)); diff != "" {
				t.Errorf("%s: the objects with owners (-) and without (+) differ:\n%s", name, diff)
			}
			for _, f := range got.Findings {
				if f.Code == finding.CodeShadowed {
					shadowed++
				}
			}
		}
	}
	// What a manager sets where only the TrainJob may is lost, too, and refused besides.
	env := func(value string) trainer.PodSpecPatch {
		return trainer.PodSpecPatch{Containers: []trainer.ContainerPatch{{Name: "node", Env: []corev1.EnvVar{{Name: "LR", Value: value}}}}}
	}
	in := forceInput(env("1"), env("2"))
	in.Runtime.Template.Spec.ReplicatedJobs[0].Template.Labels = map[string]string{policy.Ancestor: policy.Trainer}
	in.TrainJob.Spec.Trainer = &trainer.Trainer{Env: []corev1.EnvVar{{Name: "LR", Value: "3"}}}
	if same("env of the trainer's container", in); shadowed == 0 {
		t.Error("the trainer's env replaces the managers' in silence")
	}
	for _, dir := range caseFolders(t, casefile.Unpack(t, cluster, "input.yaml", "want/jobset.yaml"), "want/jobset.yaml") {
		same(dir, readInput(t, filepath.Join(dir, "input.yaml")))
	}
	shadowed = 0
	next := rand.New(rand.NewPCG(testenv.Seed(t), 7))
	for range 600 {
		p := fuzz.Render(next.Uint64(), fuzz.PairOptions{Policies: []fuzz.Policy{
			fuzz.Plain, fuzz.Torch, fuzz.JAX, fuzz.XGBoost, fuzz.MPI, fuzz.Flux, fuzz.Coscheduling, fuzz.Volcano,
		}})
		render.DefaultTrainJob(p.TrainJob)
		render.DefaultRuntime(&p.Runtime.Spec, nil)
		same(p.String(), render.Input{TrainJob: p.TrainJob, Runtime: &p.Runtime.Spec})
		if t.Failed() {
			return
		}
	}
	if shadowed < 8 {
		t.Errorf("only %d writes replaced something: what is lost was hardly looked at", shadowed)
	}
	t.Logf("%d writes replaced something", shadowed)
}

func asText(t *testing.T, values ...any) string {
	t.Helper()
	text, err := json.MarshalIndent(values, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
