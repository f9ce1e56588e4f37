package blame_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainweld/trainweld/cmd/internal/blame"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/runtimepatch"
)

// TestEveryLineHasItsField blames generated JobSets and holds that the lines are those of the
// encoded object, and that each of them shows a field that somebody claims, or one that leads to
// such fields.
func TestEveryLineHasItsField(t *testing.T) {
	policies := []fuzz.Policy{fuzz.Plain, fuzz.Torch, fuzz.JAX, fuzz.XGBoost, fuzz.MPI, fuzz.Flux,
		fuzz.Coscheduling, fuzz.Volcano}
	layers := map[merge.Owner]int{}
	for seed := uint64(0); seed < 300; seed += uint64(testenv.Every(5)) {
		p := fuzz.Render(seed, fuzz.PairOptions{Policies: policies})
		render.DefaultTrainJob(p.TrainJob, nil)
		render.DefaultRuntime(&p.Runtime.Spec, nil)
		view := render.View(seed % 2)
		out, _ := render.JobSet(render.Input{TrainJob: p.TrainJob, Runtime: &p.Runtime.Spec},
			render.Options{OnConflict: render.Last, As: view})
		if out.JobSet == nil {
			continue
		}
		o, err := blame.New(out.JobSet, runtimepatch.JobSetTemplate(), out.History.All(),
			blame.Options{ShowValues: true})
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := manifest.Encode(&want, manifest.YAML, out.JobSet); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for i, line := range o.Lines() {
			got.WriteString(line.Text + "\n")
			layers[line.Layer]++
			if line.Field == nil {
				leadsToNull := i+1 < len(o.Lines()) && o.Lines()[i+1].Field == nil
				if i > 1 && !strings.HasSuffix(line.Text, ": null") && !leadsToNull {
					t.Errorf("pair %d: the line %q shows no field", seed, line.Text)
				}
				continue
			}
			claimed := false
			for range line.Field.All() {
				claimed = true
			}
			if !claimed {
				t.Errorf("pair %d: nobody claims %s, or anything within it: %q", seed,
					line.Field.Path, line.Text)
			}
			if found, err := o.Find(line.Field.Path.String()); err != nil || len(found) != 1 ||
				found[0] != line.Field {
				t.Errorf("pair %d: Find does not find %s: %v, %v", seed, line.Field.Path,
					found, err)
			}
		}
		if got.String() != want.String() {
			t.Errorf("pair %d: the lines are\n%s\nwant\n%s", seed, got.String(), want.String())
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	for _, layer := range []merge.Owner{"", runtimepatch.RuntimeLayer, runtimepatch.TrainJobLayer,
		runtimepatch.DefaultLayer, runtimepatch.PolicyLayer("torch"),
		runtimepatch.SchedulerLayer("volcano")} {
		if layers[layer] == 0 {
			t.Errorf("no line is of layer %q", layer)
		}
	}
}

// TestMasked holds that a value of a variable is in no line, however YAML writes it.
func TestMasked(t *testing.T) {
	for _, value := range []string{"SECRET", "a SECRET: x", "two\nlines SECRET\n", "\ttabs\nSECRET",
		"SECRET\u2028x", "", "'\"SECRET", "- SECRET", strings.Repeat("SECRET ", 300)} {
		p := fuzz.Render(1, fuzz.PairOptions{})
		runtime := &p.Runtime.Spec
		for i := range runtime.Template.Spec.ReplicatedJobs {
			pod := &runtime.Template.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec
			for k := range pod.Containers {
				pod.Containers[k].Env = append(pod.Containers[k].Env, envVar("MARKED", value),
					envVar("AFTER", "plain"))
			}
		}
		render.DefaultTrainJob(p.TrainJob, nil)
		render.DefaultRuntime(runtime, nil)
		out, _ := render.JobSet(render.Input{TrainJob: p.TrainJob, Runtime: runtime},
			render.Options{OnConflict: render.Last})
		o, err := blame.New(out.JobSet, runtimepatch.JobSetTemplate(), out.History.All(),
			blame.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, line := range o.Lines() {
			text.WriteString(line.Text + "\n")
		}
		if strings.Contains(text.String(), "SECRET") || strings.Contains(text.String(), "plain") {
			t.Errorf("%q is not masked:\n%s", value, text.String())
		}
		if !strings.Contains(text.String(), "name: AFTER") {
			t.Errorf("%q: what follows the masked value is gone:\n%s", value, text.String())
		}
	}
}

// TestFind_SeveralKeys finds items that several keys or a number name.
func TestFind_SeveralKeys(t *testing.T) {
	port := func(port int64, protocol string) fieldpath.Path {
		return fieldpath.Path{fieldpath.Field("spec"), fieldpath.Field("ports"),
			fieldpath.ItemBy(fieldpath.ItemKey{Name: "port", Value: port},
				fieldpath.ItemKey{Name: "protocol", Value: protocol})}
	}
	history := func(yield func(fieldpath.Path, []merge.Claim) bool) {
		for _, path := range []fieldpath.Path{port(80, "TCP"), port(80, "UDP")} {
			if !yield(path.Append(fieldpath.Field("name")),
				[]merge.Claim{{Owner: merge.Manager("a"), Value: "x"}}) {
				return
			}
		}
	}
	object, err := blame.New(struct{}{}, nil, history, blame.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		`spec.ports[port=80,protocol="UDP"].name`: {`.spec.ports[port=80,protocol="UDP"].name`},
		`ports[protocol=UDP,port=80]`:             {`.spec.ports[port=80,protocol="UDP"]`},
		`spec.ports[1].name`:                      {`.spec.ports[port=80,protocol="UDP"].name`},
		`spec.ports.name`: {`.spec.ports[port=80,protocol="TCP"].name`,
			`.spec.ports[port=80,protocol="UDP"].name`},
	} {
		fields, err := object.Find(text)
		var got []string
		for _, f := range fields {
			got = append(got, f.Path.String())
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Find(%s) = %v, %v, want %v", text, got, err, want)
		}
	}
	if _, err := object.Find(`spec.ports[port=81,protocol="TCP"]`); err == nil ||
		!strings.Contains(err.Error(), `did you mean .spec.ports[port=80,protocol="TCP"]`) {
		t.Errorf("Find of an unknown item = %v, want the items that there are", err)
	}
}

func envVar(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }
