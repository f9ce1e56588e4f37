package fuzz_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// TestRow takes the answers of a Trainer 2.4 that differs from what is known of it: a switch turns
// later, another one did not turn before, both at once, and a way that no switch has.
// The report must call these wrong alone, and say that the marks of others can go.
func TestRow(t *testing.T) {
	t.Parallel()
	known, err := release.Parse("2.4")
	if err != nil {
		t.Fatal(err)
	}
	modes := func(r *release.Release) { r.SSHModes = false }
	image := func(r *release.Release) { r.MPIImage = false }
	for _, c := range []struct {
		own   func(*release.Release)
		seeds uint64
		want  []string
	}{
		{image, 60, []string{"mpi-image of Trainer 2.4: wrong by "}},
		{modes, 60, []string{"ssh-modes of Trainer 2.4: wrong by "}},
		{func(r *release.Release) { image(r); modes(r) }, 60,
			[]string{"mpi-image of Trainer 2.4: wrong by ", "ssh-modes of Trainer 2.4: wrong by "}},
		{nil, 3, []string{"3 of 3 answers differ from Trainer 2.4, and no switch"}},
	} {
		own := *known
		if c.own != nil {
			c.own(&own)
		}
		row := fuzz.NewRow(known)
		for seed := range c.seeds {
			pair := fuzz.Released(seed, known, fuzz.DocumentOptions{})
			in := readAs(t, pair, known)
			rendered := func(r *release.Release) any {
				out, _ := render.JobSet(in, render.Options{Release: r, OnConflict: render.Last})
				if out.JobSet == nil {
					return nil
				}
				if c.own == nil && r == &own {
					out.JobSet.Labels = map[string]string{"example.com/a": "b"}
				}
				return asJSON(t, []any{out.JobSet, out.Companions})
			}
			answer := rendered(&own)
			if answer == nil {
				continue
			}
			differ := func(r *release.Release) int { return fuzz.Differing(answer, rendered(r)) }
			row.Add(differ(known), func(k int) int { return differ(&row.Turned[k]) })
		}
		lines, wrong := row.Report()
		if !slices.EqualFunc(wrong, c.want, strings.HasPrefix) {
			t.Errorf("wrong are %q, want %q", wrong, c.want)
		}
		for _, want := range []string{"mpi-prte", "claims-kept"} {
			if has := slices.ContainsFunc(lines, func(line string) bool {
				return strings.HasPrefix(line, want+" ") && strings.HasSuffix(line, "] can go")
			}); has == (c.own == nil) {
				t.Errorf("%q: a line says that the mark of %s can go: %t", c.want, want, has)
			}
		}
		if last := lines[len(lines)-1]; !strings.Contains(last, "Trainer 2.3 into 2.4 but for: ") {
			t.Errorf("%q: the last line is %q", c.want, last)
		}
		if t.Failed() {
			t.Log(strings.Join(lines, "\n"))
		}
	}
}

// asJSON returns a value as decoded from its JSON.
func asJSON(t *testing.T, value any) (decoded any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &decoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	return decoded
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
