package upstream_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
)

// TestMigrated gives migrated TrainJobs to the Trainer's own code. That code must make the same
// JobSet as trainweld makes of their old forms. TestPairs compares the old forms with the code of
// Trainer 2.1. TRAINWELD_MIGRATED sets the number of TrainJobs.
func TestMigrated(t *testing.T) {
	o := latest(t)
	n, ok := testenv.Number(t, "TRAINWELD_MIGRATED")
	if !ok {
		n = 500
		if testing.Short() {
			n = 50
		}
	}
	series := testenv.Seed(t)
	equal := 0
	for i := range n {
		seed := i / 2
		if i%2 == 1 {
			seed += series
		}
		if migrated(t, o, seed) {
			equal++
		}
	}
	t.Logf("%d of %d TrainJobs were migrated and are equal", equal, n)
	if equal < int(n)*3/4 {
		t.Errorf("only %d of %d TrainJobs were compared", equal, n)
	}
}

func migrated(t *testing.T, o *oracle.Oracle, seed uint64) bool {
	t.Helper()
	pair := fuzz.Old(seed)
	// The API server drops fields that its definitions lack, and JSON drops empty values.
	runtime, err := o.Prune(objectOf(t, pair.Runtime))
	if err != nil {
		t.Fatal(err)
	}
	pair.Runtime = &trainer.ClusterTrainingRuntime{}
	convert(t, runtime, pair.Runtime)
	written := objectOf(t, pair.TrainJob)
	pair.TrainJob = &trainer.TrainJob{}
	convert(t, written, pair.TrainJob)
	in := render.Input{TrainJob: pair.TrainJob.DeepCopy(), Runtime: pair.Runtime.Spec.DeepCopy()}
	render.DefaultTrainJob(in.TrainJob, nil)
	render.DefaultRuntime(in.Runtime, nil)
	m := render.Migrate(in, pair.Overrides, "example.com/migrated")
	if m.TrainJob == nil {
		return false
	}
	layers := pair.Overrides.DeepCopy()
	render.DefaultPatches(layers.Patches(), nil)
	in.Layers = layers
	before, _ := render.JobSet(in, render.Options{})
	pair.TrainJob.Spec.RuntimePatches = m.TrainJob.Spec.RuntimePatches
	job, err := o.Prune(objectOf(t, pair.TrainJob))
	if err != nil {
		t.Fatal(err)
	}
	after := o.Render(job, runtime)
	if after.Failed != "" {
		t.Fatalf("old pair %d: upstream does not render what it is migrated to: %v", seed,
			after.Failed)
	}
	diff, err := upstream.Diff(after.Objects, []upstream.Object{objectOf(t, before.JobSet)},
		[]string{"JobSet"})
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Fatalf("old pair %d: the migrated TrainJob becomes another JobSet\n%s", seed, diff)
	}
	return true
}

func objectOf(t *testing.T, v any) upstream.Object {
	t.Helper()
	var object upstream.Object
	convert(t, v, &object)
	delete(object, "status")
	return object
}

func convert(t *testing.T, from, to any) {
	t.Helper()
	data, err := yaml.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, to); err != nil {
		t.Fatal(err)
	}
}
