package fuzz_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// TestSwitches turns the switches from one release to another one by one, and renders generated
// pairs after each turn. The last rendering equals the other release's, and every rendering comes
// to an end.
func TestSwitches(t *testing.T) {
	t.Parallel()
	if seed, ok := testenv.Number(t, "TRAINWELD_CASE"); ok {
		turnSwitches(t, seed)
		return
	}
	n, series := uint64(max(20, cases(t)/50)), testenv.Seed(t)
	turned := 0
	for i := range n {
		turned += turnSwitches(t, i/2+i%2*series)
	}
	t.Logf("%d pairs, of which %d turns changed the JobSet", n, turned)
	if turned < int(n)/4 {
		t.Errorf("only %d turns changed the JobSets of %d pairs: the generator makes too little "+
			"that differs", turned, n)
	}
}

// turnSwitches returns how many turns changed the JobSet.
func turnSwitches(t *testing.T, seed uint64) (changed int) {
	t.Helper()
	known := release.Known()
	from, to := known[seed%uint64(len(known))], known[seed/uint64(len(known))%uint64(len(known))]
	pair := fuzz.Released(seed, &from, fuzz.DocumentOptions{})
	step := "none"
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("case %d, from %s to %s, after the switch %s: panic: %v\n%s", seed, from.Name,
				to.Name, step, r, pair.YAML())
		}
	}()
	now, inputs := from, map[string]render.Input{} // by what decides about the decoding
	renderedAs := func(r *release.Release) *render.Objects {
		in, read := inputs[r.Schema]
		if !read {
			in = readAs(t, pair, r)
			inputs[r.Schema] = in
		}
		out, _ := render.JobSet(in, render.Options{Release: r, OnConflict: render.Last})
		return out
	}
	before := renderedAs(&now)
	for _, s := range release.Switches() {
		step = s.ID
		if !s.Set(&now, &to) {
			continue
		}
		after := renderedAs(&now)
		if !cmp.Equal(before.JobSet, after.JobSet) {
			changed++
		}
		before = after
	}
	now.Name, now.Version, now.JobSetVersion = to.Name, to.Version, to.JobSetVersion
	last, want := renderedAs(&now), renderedAs(&to)
	if diff := cmp.Diff(want.JobSet, last.JobSet) + cmp.Diff(want.Companions, last.Companions) +
		cmp.Diff(messages(want), messages(last)); diff != "" {
		t.Errorf("case %d: the switches from %s to %s end in another rendering (-%s "+
			"+switches):\n%s\n%s", seed, from.Name, to.Name, to.Name, diff, pair.YAML())
	}
	return changed
}

func messages(out *render.Objects) (texts []string) {
	for _, f := range out.Findings {
		texts = append(texts, f.Error())
	}
	slices.Sort(texts)
	return texts
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
