package fuzz_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// TestRow takes the answers of a Trainer 2.4 that differs from what is known of it by one switch:
// one that does not turn in it, or one that does so though nobody knows. The report must call that
// one wrong, and say that the marks of others can go.
func TestRow(t *testing.T) {
	t.Parallel()
	known, err := release.Parse("2.4")
	if err != nil {
		t.Fatal(err)
	}
	for id, change := range map[string]func(*release.Release){
		"mpi-image": func(r *release.Release) { r.MPIImage = false },
		"endpoints": func(r *release.Release) { r.Endpoints = release.FirstReplica },
	} {
		own := *known
		change(&own)
		row := fuzz.NewRow(known)
		for seed := range uint64(60) {
			pair := fuzz.Released(seed, known, fuzz.DocumentOptions{})
			in := readAs(t, pair, known)
			rendered := func(r *release.Release) *render.Objects {
				out, _ := render.JobSet(in, render.Options{Release: r, OnConflict: render.Last})
				return out
			}
			answer := rendered(&own)
			agrees := func(r *release.Release) bool {
				out := rendered(r)
				return cmp.Equal(answer.JobSet, out.JobSet) &&
					cmp.Equal(answer.Companions, out.Companions)
			}
			row.Add(agrees(known), func(k int) bool { return agrees(&row.Turned[k]) })
		}
		lines, wrong := row.Report()
		if len(wrong) != 1 || !strings.HasPrefix(wrong[0], id+" of Trainer 2.4: wrong by ") {
			t.Errorf("wrong are %q, want %s alone", wrong, id)
		}
		for _, want := range []string{"mpi-prte", "claims-kept"} {
			if !slices.ContainsFunc(lines, func(line string) bool {
				return strings.HasPrefix(line, want+" ") && strings.HasSuffix(line, "] can go")
			}) {
				t.Errorf("%s: no line says that the mark of %s can go", id, want)
			}
		}
		if last := lines[len(lines)-1]; !strings.Contains(last, "Trainer 2.3 into 2.4 but for: ") ||
			strings.Contains(last, "mpi-image") != (id == "mpi-image") {
			t.Errorf("%s: the last line is %q", id, last)
		}
		if t.Failed() {
			t.Log(strings.Join(lines, "\n"))
		}
	}
}

// readAs reads the pair by the API of the release.
func readAs(t *testing.T, pair *fuzz.Documents, r *release.Release) (in render.Input) {
	t.Helper()
	api := manifest.NewAPI(r, definitions)
	for _, object := range []map[string]any{pair.TrainJob, pair.Runtime} {
		data, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		documents, _, _ := api.Decode("f", data, nil)
		if len(documents) != 1 {
			t.Fatalf("%d documents\n%s", len(documents), data)
		}
		d := documents[0]
		switch o := d.Object.(type) {
		case *trainer.TrainJob:
			render.DefaultTrainJob(o, d.Sets)
			in.TrainJob, in.Earlier.NumProcPerNode = o, d.Earlier.NumProcPerNode
			if d.Overrides != nil {
				render.DefaultPatches(d.Overrides.Patches(), nil)
				in.Layers = d.Overrides
			}
		case *trainer.TrainingRuntime:
			render.DefaultRuntime(&o.Spec, d.Sets)
			in.Runtime, in.Earlier.TorchNumProcPerNode = &o.Spec, d.Earlier.TorchNumProcPerNode
		case *trainer.ClusterTrainingRuntime:
			render.DefaultRuntime(&o.Spec, d.Sets)
			in.Runtime, in.Earlier.TorchNumProcPerNode = &o.Spec, d.Earlier.TorchNumProcPerNode
		}
	}
	return in
}

// definitions holds the definitions of all releases, read once.
var definitions = &release.Definitions{}
