package render_test

import (
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/manifest"
)

// TestObjectsEqualTheCluster renders every recorded input that a real control plane accepted. It
// compares the JobSet and its companions with the stored ones.
func TestObjectsEqualTheCluster(t *testing.T) {
	count := tally{}
	for _, dir := range caseFolders(t, casefile.Shared(t, cluster), recordedFile) {
		compareInputWithCluster(t, dir, count)
	}
	count.log(t)
	for _, kind := range []string{"jobset", "others"} {
		if count[kind].total != 141 {
			t.Errorf("%d cases of %s were compared, want 141", count[kind].total, kind)
		}
	}
}

// compareInputWithCluster skips a case of which the cluster did not make all objects.
func compareInputWithCluster(t *testing.T, dir string, count tally) {
	text, err := os.ReadFile(filepath.Join(dir, "want/outcome.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if outcome := strings.Fields(string(text))[0]; outcome != "accepted" && outcome != "suspended" {
		return
	}
	name, recorded := filepath.Base(dir), readRecording(t, dir)
	out, err := render.JobSet(readInput(t, filepath.Join(dir, "input.yaml")), render.Options{
		OnConflict: render.Last, As: render.Stored, Secrets: rand.Reader,
	})
	if err != nil {
		for _, kind := range []string{"jobset", "others"} {
			count.add(t, kind, name, []string{err.Error()})
		}
		return
	}
	check := func(kind string, got []object) {
		keep := func(objects []object) []object {
			return slices.DeleteFunc(objects, func(o object) bool {
				flux := o["kind"] != "JobSet" && strings.Contains(meta(o)["name"].(string), "flux")
				return flux ||
					!slices.Contains([]string{"JobSet", "ConfigMap", "Secret", "PodGroup"},
						o["kind"].(string))
			})
		}
		level := func(objects []object) []object {
			for _, o := range levelAll(objects) {
				if o["kind"] == "Secret" {
					for key := range o["data"].(object) {
						o["data"].(object)[key] = "MASKED"
					}
				}
				if o["kind"] == "JobSet" {
					removeUnsayablePorts(o)
				}
			}
			return objects
		}
		got = level(keep(got))
		diff := differences(level(keep(recorded.objects(kind))), got)
		// Where the order of two plugins is random, either is right.
		if alt, _ := recorded["alt"].(object); alt[kind] != nil && len(diff) > 0 {
			diff = differences(level(keep(recording(alt).objects(kind))), got)
		}
		count.add(t, kind, name, diff)
	}
	check("jobset", asObjects(t, []*jobset.JobSet{out.JobSet}))
	check("others", asObjects(t, out.Companions))
}

// removeUnsayablePorts drops the protocol that the CRD fills in: the recorded cases leave it out
// where the runtime does.
func removeUnsayablePorts(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			removeUnsayablePorts(item)
		}
	case object:
		if _, port := v["containerPort"]; port && v["protocol"] == "TCP" {
			delete(v, "protocol")
		}
		for _, item := range v {
			removeUnsayablePorts(item)
		}
	}
}

// readInput reads a file with a TrainJob, and the runtime from the same file or from the stock
// ones.
func readInput(t *testing.T, file string) render.Input {
	t.Helper()
	files := []string{file}
	var stock []string
	err := filepath.WalkDir(stockRuntimes(t),
		func(path string, entry fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".yaml" && entry.Name() != "kustomization.yaml" {
				stock = append(stock, path)
			}
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	var job *trainer.TrainJob
	var runtimes render.Runtimes
	known := map[fieldpath.Object]bool{}
	for _, file := range append(files, stock...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents, findings := manifest.Decode(file, data)
		if err := findings.Err(); err != nil {
			t.Fatal(err)
		}
		for _, d := range documents {
			id := d.ID
			var spec *trainer.TrainingRuntimeSpec
			switch o := d.Object.(type) {
			case *trainer.TrainJob:
				if o.Namespace == "" {
					o.Namespace = "default"
				}
				render.DefaultTrainJob(o, nil)
				job = o
				continue
			case *trainer.TrainingRuntime:
				spec = &o.Spec
				if id.Namespace == "" {
					id.Namespace = "default"
				}
			case *trainer.ClusterTrainingRuntime:
				spec = &o.Spec
				id.Namespace = ""
			default:
				continue
			}
			if known[id] {
				continue
			}
			known[id] = true
			render.DefaultRuntime(spec, d.Has)
			if f := runtimes.Add(id, spec); f != nil {
				t.Fatal(f)
			}
		}
	}
	if job == nil {
		t.Fatalf("%s holds no TrainJob", file)
	}
	spec, missing := runtimes.Find(job)
	if missing != nil {
		t.Fatal(missing)
	}
	return render.Input{TrainJob: job, Runtime: spec}
}
