package admission

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// TestAdmitRendered admits the JobSets of recorded TrainJobs as the controller applies them, and
// with the defaults of the webhook. Without a null, both are the same JobSet with the same
// findings.
func TestAdmitRendered(t *testing.T) {
	inputs, err := filepath.Glob(
		filepath.Join(casefile.Shared(t, "../../testdata/cluster"), "*", "input.yaml"))
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	text, err := (*release.Release)(nil).Or().Runtimes()
	if err != nil {
		t.Fatal(err)
	}
	stock, _ := manifest.Decode("", text)
	compared := 0
	for i, input := range inputs {
		if i%testenv.Every(5) != 0 {
			continue
		}
		text, err := os.ReadFile(input)
		if err != nil {
			t.Fatal(err)
		}
		documents, _ := manifest.Decode(input, text)
		var known render.Runtimes
		for _, d := range append(documents, stock...) {
			switch o := d.Object.(type) {
			case *trainer.TrainingRuntime:
				render.DefaultRuntime(&o.Spec, d.Sets)
				known.Add(render.RuntimeOf(&trainer.TrainJob{ObjectMeta: o.ObjectMeta}), &o.Spec)
			case *trainer.ClusterTrainingRuntime:
				render.DefaultRuntime(&o.Spec, d.Sets)
				known.Add(d.ID, &o.Spec)
			}
		}
		for _, d := range documents {
			job, ok := d.Object.(*trainer.TrainJob)
			if !ok {
				continue
			}
			render.DefaultTrainJob(job, d.Sets)
			runtime, _ := known.Find(job)
			if runtime == nil {
				continue
			}
			out, _ := render.JobSet(render.Input{TrainJob: job, Runtime: runtime}, render.Options{})
			if out.JobSet == nil {
				continue
			}
			applied, err := Encode(out.JobSet)
			if err != nil || hasNull(applied) {
				continue
			}
			full := (&findings{}).definition(nil, jobSetKind).mutated(out.JobSet)
			defaulted, err := Encode(full)
			if err != nil {
				t.Fatal(err)
			}
			want, wantFound := admitJobSet(context.Background(), request{fields: applied}, "default")
			got, found := admitJobSet(context.Background(), request{fields: defaulted, full: full}, "default")
			if !equality.Semantic.DeepEqual(got, want) ||
				!reflect.DeepEqual(keysOf(found), keysOf(wantFound)) {
				t.Errorf("%s: %s: with defaults %v\n%v\nwithout\n%v", input, d.ID, found, got, want)
			}
			compared++
		}
	}
	if compared < 10 {
		t.Errorf("compared %d JobSets: the test reads the wrong files", compared)
	}
}

func keysOf(found finding.List) []codes.Key {
	var keys []codes.Key
	for _, f := range found {
		keys = append(keys, codes.KeyOf(f))
	}
	return keys
}
