package trainjob_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/trainjob"
)

// same says how two TrainJobs differ. Where metadata has fields as raw JSON, its spaces do not
// count.
func same(a, b *trainer.TrainJob) string {
	return cmp.Diff(a, b, cmp.Comparer(func(a, b metav1.FieldsV1) bool {
		var x, y bytes.Buffer
		return json.Compact(&x, a.GetRawBytes()) == nil &&
			json.Compact(&y, b.GetRawBytes()) == nil && x.String() == y.String()
	}))
}

// TestReadsBack reads the TrainJobs that New makes of generated options, as YAML and as JSON. They
// are equal and have no findings. Equal options make equal bytes. A TrainJob's own patches and
// labels, given again, make the same TrainJob.
func TestReadsBack(t *testing.T) {
	const cases = 200
	made := 0
	for seed := range uint64(cases) {
		options := generated(seed)
		job, findings := trainjob.New("torch-distributed", options...)
		if findings.Err() != nil {
			if job != nil {
				t.Fatalf("seed %d: a TrainJob in spite of %v", seed, findings)
			}
			continue
		}
		made++
		for _, format := range []manifest.Format{manifest.YAML, manifest.JSON} {
			var text, again bytes.Buffer
			if err := manifest.Encode(&text, format, job); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if diff := same(job, read(t, fmt.Sprintf("seed-%d", seed), text.Bytes())); diff != "" {
				t.Fatalf("seed %d: %v reads back as another (-made +read):\n%s\n%s", seed, format,
					diff, text.String())
			}
			twin, _ := trainjob.New("torch-distributed", generated(seed)...)
			if err := manifest.Encode(&again, format, twin); err != nil ||
				!bytes.Equal(text.Bytes(), again.Bytes()) {
				t.Fatalf("seed %d: equal options make other bytes (%v):\n%s\n%s", seed, err,
					text.String(), again.String())
			}
		}
		if copied, findings := trainjob.New("torch-distributed",
			optionsOf(job)...); copied == nil || same(job, copied) != "" {
			t.Fatalf("seed %d: its own parts make another TrainJob: %v\n%s", seed, findings,
				same(job, copied))
		}
	}
	if made < cases/5 {
		t.Errorf("%d of %d generated cases are TrainJobs; the rest proves nothing", made, cases)
	}
	t.Logf("%d of %d", made, cases)
}

// TestAdmitted: what New makes of generated options is admitted, as far as that does not hang on
// the runtime. Only a runtime gives sense to the values of generated patches, so it looks at the
// rest of the TrainJob.
func TestAdmitted(t *testing.T) {
	made := 0
	patches := fieldpath.Fields("spec", "runtimePatches")
	for seed := range uint64(100) {
		job, findings := trainjob.New("torch-distributed", generated(seed)...)
		if findings.Err() != nil {
			continue
		}
		made++
		fields, err := admission.Encode(job)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, f := range admission.Check(context.Background(), admission.Input{TrainJob: fields}) {
			if f.Severity == finding.Error && !f.Path.HasPrefix(patches) {
				t.Errorf("seed %d: %v", seed, f)
			}
		}
	}
	if made < 30 {
		t.Errorf("only %d of 100 generated cases are TrainJobs", made)
	}
}

// generated are options as a person may give them, and patches of package fuzz.
func generated(seed uint64) []trainjob.Option {
	rng := rand.New(rand.NewPCG(seed, 1))
	words := []string{"a", "yes", "0x1f", "multi\nline", "1e3", "# no comment", "torch.run", "~",
		" x "}
	word := func() string { return words[rng.IntN(len(words))] }
	some := func() []string {
		list := []string{}
		for range rng.IntN(4) {
			list = append(list, word())
		}
		return list
	}
	options := []trainjob.Option{trainjob.Name([]string{"a", "nightly", "n0", "on"}[rng.IntN(4)])}
	add := func(make func() trainjob.Option) {
		if rng.IntN(2) == 0 {
			options = append(options, make())
		}
	}
	add(func() trainjob.Option { return trainjob.Namespace("team-a") })
	add(func() trainjob.Option {
		return trainjob.RuntimeKind(trainjob.RuntimeKinds()[rng.IntN(2)])
	})
	add(func() trainjob.Option { return trainjob.Labels{"yes": "no", "example.com/a": "1.0"} })
	add(func() trainjob.Option { return trainjob.Annotations{"note": word(), "Upper": word()} })
	add(func() trainjob.Option { return trainjob.TrainerImage(word()) })
	add(func() trainjob.Option { return trainjob.TrainerCommand(some()) })
	add(func() trainjob.Option { return trainjob.TrainerArgs(some()) })
	add(func() trainjob.Option { return trainjob.NumNodes(1 + rng.Int32N(9)) })
	add(func() trainjob.Option { return trainjob.ActiveDeadlineSeconds(1 + rng.Int64N(1<<40)) })
	add(func() trainjob.Option { return trainjob.TrainerEnv{Name: "A", Value: word()} })
	add(func() trainjob.Option { return trainjob.TrainerEnv{Name: "B"} })
	add(func() trainjob.Option {
		all := trainjob.ResourcesPerNode{"cpu": "1500m", "Memory": "1024Mi", "gpu": "8",
			"storage": "1e3", "hugepages-2Mi": "4Mi"}
		for name := range maps.Clone(all) {
			if (seed+uint64(len(name)))%3 == 0 {
				delete(all, name)
			}
		}
		return all
	})
	// Now and then something that New has to reject, lest admission finds it.
	rejected := []trainjob.Option{
		trainjob.Name("7b"), trainjob.Name("Llm"), trainjob.Labels{"a": "x y"},
		trainjob.TrainerImage(strings.Repeat("i", 501)),
		trainjob.TrainerCommand(make([]string, 129)), trainjob.ActiveDeadlineSeconds(-1),
		trainjob.RuntimeKind("Runtime"),
		trainjob.TrainerEnv{Name: "B", Value: "twice"}, trainjob.RuntimePatch{Manager: "me"},
	}
	if rng.IntN(3) == 0 {
		options = append(options, rejected[rng.IntN(len(rejected))])
	}
	for _, patch := range fuzz.Merge(seed, fuzz.Options{Checked: true}).Patches {
		options = append(
			options, trainjob.RuntimePatch{
				Manager: patch.Manager, TrainingRuntimeSpec: patch.TrainingRuntimeSpec})
	}
	return options
}

// optionsOf are the options that a TrainJob shows.
func optionsOf(job *trainer.TrainJob) []trainjob.Option {
	options := []trainjob.Option{
		trainjob.Name(job.Name), trainjob.Namespace(job.Namespace), trainjob.Labels(job.Labels),
		trainjob.Annotations(job.Annotations),
	}
	if job.Spec.RuntimeRef.Kind != nil {
		options = append(options, trainjob.RuntimeKind(*job.Spec.RuntimeRef.Kind))
	}
	if job.Spec.ActiveDeadlineSeconds != 0 {
		options = append(options, trainjob.ActiveDeadlineSeconds(job.Spec.ActiveDeadlineSeconds))
	}
	if t := job.Spec.Trainer; t != nil {
		if t.Image != nil {
			options = append(options, trainjob.TrainerImage(*t.Image))
		}
		if t.Command != nil {
			options = append(options, trainjob.TrainerCommand(t.Command))
		}
		if t.Args != nil {
			options = append(options, trainjob.TrainerArgs(t.Args))
		}
		if t.NumNodes != nil {
			options = append(options, trainjob.NumNodes(*t.NumNodes))
		}
		for _, v := range t.Env {
			options = append(options, trainjob.TrainerEnv{Name: v.Name, Value: v.Value})
		}
		if t.ResourcesPerNode != nil {
			resources := trainjob.ResourcesPerNode{}
			for name, q := range t.ResourcesPerNode.Limits {
				resources[string(name)] = q.String()
			}
			options = append(options, resources)
		}
	}
	for _, p := range job.Spec.RuntimePatches {
		options = append(
			options, trainjob.RuntimePatch{
				Manager: p.Manager, TrainingRuntimeSpec: p.TrainingRuntimeSpec})
	}
	return options
}

// read decodes one TrainJob, of which nothing may be found.
func read(t *testing.T, file string, text []byte) *trainer.TrainJob {
	t.Helper()
	documents, findings := manifest.Decode(file, text)
	if len(findings) > 0 || len(documents) != 1 {
		t.Fatalf("%d documents, %v\n%s", len(documents), findings, text)
	}
	return documents[0].Object.(*trainer.TrainJob)
}
