package render_test

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/render"
)

// TestPolicyGoldens_Described wants a comment at the head of each input.
func TestPolicyGoldens_Described(t *testing.T) {
	for _, dir := range caseFolders(t, "../testdata/policies", "input.yaml") {
		input := filepath.Join(dir, "input.yaml")
		if text, err := os.ReadFile(input); err != nil || !bytes.HasPrefix(text, []byte("# ")) {
			t.Errorf("%s does not say what it shows (%v)", input, err)
		}
	}
}

// TestRuntimesWithoutDefaults renders runtimes without the defaults of their CRD, as a Go program
// may hand them in. Where the controller would crash on a nil pointer, the CRD's default counts.
func TestRuntimesWithoutDefaults(t *testing.T) {
	for _, policies := range []string{
		"{}", "{mlPolicy: {}}", "{mlPolicy: {torch: {}}}",
		"{mlPolicy: {torch: {envInjection: {}}}}", "{mlPolicy: {jax: {}}}",
		"{mlPolicy: {xgboost: {}}}", "{mlPolicy: {mpi: {}}}", "{mlPolicy: {flux: {}}}",
		"{podGroupPolicy: {}}",
		"{podGroupPolicy: {coscheduling: {}, volcano: {}}}",
		"{podGroupPolicy: {volcano: {networkTopology: {}}}}",
		"{mlPolicy: {torch: {}, mpi: {}, jax: {}, xgboost: {}, flux: {}}}",
	} {
		for _, trainerSection := range []*trainer.Trainer{nil, {}, {NumNodes: new(int32)}} {
			for _, jobs := range []string{"[]", "[{name: node}]", nodeJob, mpiJobs} {
				var sparse, full render.Input
				for _, in := range []*render.Input{&sparse, &full} {
					in.TrainJob, in.Runtime = &trainer.TrainJob{}, &trainer.TrainingRuntimeSpec{}
					in.TrainJob.Spec.Trainer = trainerSection
					for text, into := range map[string]any{
						policies: in.Runtime, jobs: &in.Runtime.Template.Spec.ReplicatedJobs} {
						if err := yaml.Unmarshal([]byte(text), into); err != nil {
							t.Fatal(err)
						}
					}
				}
				render.DefaultTrainJob(full.TrainJob, nil)
				render.DefaultRuntime(full.Runtime, nil)
				opts := render.Options{
					As: render.Stored, OwnerReferences: true, Secrets: rand.Reader,
					FluxTemplates: texts("%s%s%s%s", "%s%s%s", "%s%s%s%s"),
					FeatureGates:  render.FeatureGates{TrainJobStatus: true},
				}
				got, _ := render.JobSet(sparse, opts)
				want, _ := render.JobSet(full, opts)
				if (got.JobSet == nil) != (want.JobSet == nil) {
					t.Fatalf("%s %s: the one renders and the other does not", policies, jobs)
				}
				if got.JobSet == nil {
					continue
				}
				// the TrainJob's default, not the runtime's
				got.JobSet.Spec.Suspend = want.JobSet.Spec.Suspend
				g, w := typedObjects(t, got), typedObjects(t, want)
				for _, o := range slices.Concat(g, w) {
					if o["kind"] == "Secret" {
						delete(o, "data")
					}
				}
				if diff := differences(w, g); len(diff) > 0 {
					t.Errorf("%s %s: %v", policies, jobs, diff)
				}
			}
		}
	}
}

func TestParseFeatureGates(t *testing.T) {
	for _, test := range []struct {
		text   string
		on     bool
		fails  bool
		reason string
	}{
		{"", false, false, "nothing leaves the defaults"},
		{"TrainJobStatus=true", true, false, "as the controller's flag takes it"},
		{"TrainJobStatus=true, TrainJobStatus=false", false, false, "the last one counts"},
		{"TrainJobStatus", false, true, "a gate is switched by a word"},
		{"TrainJobStatus=yes", false, true, "Kubernetes reads true and false only"},
		{"AllAlpha=true", false, true, "the Trainer has one gate"},
	} {
		gates, err := render.ParseFeatureGates(test.text)
		if gates.TrainJobStatus != test.on || (err != nil) != test.fails {
			t.Errorf("%q: got %v, %v: %s", test.text, gates, err, test.reason)
		}
	}
}
