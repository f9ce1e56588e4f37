package diff_test

import (
	"os"
	"path/filepath"
	"testing"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/manifest"
	"github.com/trainweld/trainweld/render"
)

// recorded are the folders of the inputs that a real control plane was given.
func recorded(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(casefile.Unpack(t, "../../testdata/cluster"), "*", "input.yaml"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recorded inputs: %v", err)
	}
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	return dirs
}

// renderRecorded renders a recorded input that brings its own runtime, and nil where it does not, or where
// it does not render.
func renderRecorded(t *testing.T, dir string) *jobset.JobSet {
	t.Helper()
	if out := outputOf(t, dir); out != nil {
		return out.JobSet
	}
	return nil
}

func outputOf(t *testing.T, dir string) *render.Output {
	t.Helper()
	file := filepath.Join(dir, "input.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	documents, _ := manifest.Decode(file, data)
	var in render.Input
	for _, d := range documents {
		switch o := d.Object.(type) {
		case *trainer.TrainJob:
			render.DefaultTrainJob(o)
			in.TrainJob = o
		case *trainer.TrainingRuntime:
			render.DefaultRuntime(&o.Spec, d.Has)
			in.Runtime = &o.Spec
		case *trainer.ClusterTrainingRuntime:
			render.DefaultRuntime(&o.Spec, d.Has)
			in.Runtime = &o.Spec
		}
	}
	if in.TrainJob == nil || in.Runtime == nil {
		return nil
	}
	out, _ := render.JobSet(in, render.Options{OnConflict: render.Last, As: render.Stored, Owners: true})
	return out
}
