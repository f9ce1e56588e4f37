package render_test

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/casefile"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/fuzz"
	"github.com/trainweld/trainweld/render/mlpolicy"
)

// forceInput is a TrainJob with two managers who want the Pod of job node each in another way.
func forceInput(sdk, queue trainer.PodSpecPatch) render.Input {
	patch := func(manager string, pod *trainer.PodSpecPatch) trainer.RuntimePatch {
		return trainer.RuntimePatch{
			Manager: manager,
			TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{
				ReplicatedJobs: []trainer.ReplicatedJobPatch{{
					Name:     "node",
					Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{Template: &trainer.PodTemplatePatch{Spec: pod}}},
				}},
			}}},
		}
	}
	node := jobset.ReplicatedJob{Name: "node"}
	node.Template.Spec.Template.Spec.Containers = []corev1.Container{{Name: "node", Image: "i"}}
	node.Template.Spec.Template.Spec.Volumes = []corev1.Volume{{
		Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}},
	}}
	in := render.Input{
		TrainJob: &trainer.TrainJob{},
		Runtime:  &trainer.TrainingRuntimeSpec{},
		Patches:  []trainer.RuntimePatch{patch("queue.example.com/x", &queue)},
	}
	in.TrainJob.Name, in.TrainJob.Namespace = "llm", "default"
	in.TrainJob.Spec.RuntimeRef.Name = "plain"
	in.TrainJob.Spec.RuntimePatches = []trainer.RuntimePatch{patch("sdk.example.com/x", &sdk)}
	in.Runtime.Template.Spec.ReplicatedJobs = []jobset.ReplicatedJob{node}
	render.DefaultTrainJob(in.TrainJob, nil)
	render.DefaultRuntime(in.Runtime, nil)
	return in
}

func TestForceManagers(t *testing.T) {
	pool := func(name string) trainer.PodSpecPatch {
		return trainer.PodSpecPatch{NodeSelector: map[string]string{"pool": name}}
	}
	claim := trainer.PodSpecPatch{Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "mine"}}}}}
	scratch := trainer.PodSpecPatch{Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}}
	for _, tc := range []struct {
		name       string
		sdk, queue trainer.PodSpecPatch
		force      []string
		want       string // the pool
		codes      []finding.Code
		fails      bool
		reason     string
	}{
		{"nobody", pool("a"), pool("b"), nil, "b", []finding.Code{codes.Overlap}, true, "managers that disagree are an error"},
		{"the first patch", pool("a"), pool("b"), []string{"sdk.example.com/x"}, "a", []finding.Code{codes.Forced}, false, "its value is in force, and a warning says so"},
		{"the last patch", pool("a"), pool("b"), []string{"queue.example.com/x"}, "b", []finding.Code{codes.Forced}, false, "a further manager's patch may also win"},
		{"somebody else", pool("a"), pool("b"), []string{"nobody.example.com/x"}, "b", []finding.Code{codes.Overlap}, true, "a manager without a patch wins nothing"},
		{"what goes with the claim", claim, scratch, []string{"sdk.example.com/x"}, "", []finding.Code{codes.Forced, codes.Override}, false, "the other source would clash with the runtime's as well, and is gone"},
		{"what stays", claim, scratch, []string{"queue.example.com/x"}, "", []finding.Code{codes.TwoSources, codes.Forced}, true, "the winner's own source clashes with the runtime's"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := render.JobSet(forceInput(tc.sdk, tc.queue), render.Options{ForceManagers: tc.force})
			if (err != nil) != tc.fails {
				t.Errorf("the error is %v: %s", err, tc.reason)
			}
			var codes []finding.Code
			for _, f := range out.Findings {
				codes = append(codes, f.Code)
			}
			if !slices.Equal(codes, tc.codes) {
				t.Errorf("found %v, want %v: %s", out.Findings, tc.codes, tc.reason)
			}
			if out.JobSet == nil {
				t.Fatal("no JobSet")
			}
			if got := out.JobSet.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector["pool"]; got != tc.want {
				t.Errorf("the pool is %q, want %q: %s", got, tc.want, tc.reason)
			}
		})
	}
}

// TestFindingsWithoutOwners renders with and without asking for owners. Without owners, a write of the policies
// is only recorded where it replaces a value. No finding may be missing for that.
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
				if f.Code == codes.Shadowed {
					shadowed++
				}
			}
		}
	}
	// A manager's value for a field that only the TrainJob may set is lost, and rejected.
	env := func(value string) trainer.PodSpecPatch {
		return trainer.PodSpecPatch{Containers: []trainer.ContainerPatch{{Name: "node", Env: []corev1.EnvVar{{Name: "LR", Value: value}}}}}
	}
	in := forceInput(env("1"), env("2"))
	in.Runtime.Template.Spec.ReplicatedJobs[0].Template.Labels = map[string]string{mlpolicy.Ancestor: mlpolicy.Trainer}
	in.TrainJob.Spec.Trainer = &trainer.Trainer{Env: []corev1.EnvVar{{Name: "LR", Value: "3"}}}
	if same("env of the trainer's container", in); shadowed == 0 {
		t.Error("the trainer's env replaces the managers' in silence")
	}
	for i, dir := range caseFolders(t, casefile.Shared(t, cluster, "input.yaml", "want/jobset.yaml"), "want/jobset.yaml") {
		if i%testenv.Every(4) != 0 {
			continue
		}
		same(dir, readInput(t, filepath.Join(dir, "input.yaml")))
	}
	shadowed = 0
	next := rand.New(rand.NewPCG(testenv.Seed(t), 7))
	cases := max(600, int(testenv.Cases(t, 600)))
	for range cases {
		p := fuzz.Render(next.Uint64(), fuzz.PairOptions{Policies: []fuzz.Policy{
			fuzz.Plain, fuzz.Torch, fuzz.JAX, fuzz.XGBoost, fuzz.MPI, fuzz.Flux, fuzz.Coscheduling, fuzz.Volcano,
		}})
		render.DefaultTrainJob(p.TrainJob, nil)
		render.DefaultRuntime(&p.Runtime.Spec, nil)
		same(p.String(), render.Input{TrainJob: p.TrainJob, Runtime: &p.Runtime.Spec})
		if t.Failed() {
			return
		}
	}
	if shadowed < cases/75 {
		t.Errorf("only %d writes replaced something: the test needs more", shadowed)
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
