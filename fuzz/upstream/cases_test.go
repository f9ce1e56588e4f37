package upstream_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fuzz/oracle"
	"github.com/trainweld/trainweld/fuzz/upstream"
	"github.com/trainweld/trainweld/internal/casefile"
)

const (
	differencesFile = "differences.txt"
	casesFolder     = "../../testdata/probe"
)

// input is a TrainJob and its runtime.
type input struct {
	name              string
	trainJob, runtime upstream.Object
	// rejected says that the cluster is known to reject it, by rules that rendering does not know.
	rejected bool
}

// TestCases compares the renderings of the module's own examples and of a folder of cases. A case
// that trainweld rejects and upstream renders must be in differences.txt. No other case may be in
// the file.
func TestCases(t *testing.T) {
	differences, err := upstream.Differences(differencesFile)
	if err != nil {
		t.Fatal(err)
	}
	needed := map[upstream.Difference]bool{}
	for _, in := range examples(t) {
		t.Run(in.name, func(t *testing.T) { compareCase(t, in, differences, needed) })
	}
	for _, in := range cases(t) {
		t.Run(in.name, func(t *testing.T) { compareCase(t, in, differences, needed) })
	}
	for _, d := range differences {
		if d.Case != "" && !needed[d] {
			t.Errorf("%s lists %s with %s, and no case needs it", differencesFile, d.Case, d.Code)
		}
	}
}

// TestExamples compares the renderings of a release's own examples and of TrainJobs for its stock
// runtimes. The release rejects every object that trainweld rejects.
func TestExamples(t *testing.T) {
	for _, in := range slices.Concat(examples(t), stock(t)) {
		t.Run(in.name, func(t *testing.T) {
			compareCase(t, in, nil, map[upstream.Difference]bool{})
		})
	}
}

func compareCase(t *testing.T, in input, differences []upstream.Difference,
	needed map[upstream.Difference]bool) {
	o := released(t)
	kinds, rendered := upstream.Kinds(in.runtime)
	if !rendered {
		t.Fatalf("selected a case whose policies are not rendered")
	}
	got, err := upstream.Trainweld(o, in.trainJob, in.runtime)
	if err != nil {
		t.Fatal(err)
	}
	want, err := o.Render(in.trainJob, in.runtime)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rejected) > 0 {
		listed := false
		for _, code := range got.Codes() {
			for _, d := range differences {
				if d.Case == in.name && d.Code == code {
					needed[d], listed = true, true
				}
			}
		}
		clusterRejects := in.rejected || want.Failed != "" || len(want.Rejected) > 0
		if !listed && !clusterRejects {
			t.Errorf("trainweld refuses what upstream renders, and %s does not list it:\n%v",
				differencesFile, got.Rejected)
		}
		t.Logf("refused: %v; upstream: %q, %s", got.Codes(), want.Rejected, want.Failed)
	}
	switch {
	case len(got.Objects) == 0:
		return // rejected before there is anything to compare
	case want.Failed != "":
		t.Fatalf("upstream does not render it (%v), and trainweld does", want.Failed)
	}
	diff, err := variant(o, want, in, got, kinds)
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Errorf("trainweld renders something else than upstream:\n%s", diff)
	}
}

// variant compares with upstream's result. If that differs, it compares with further results,
// because upstream's plugins run in the order of a Go map.
func variant(o *upstream.Upstream, want oracle.Outcome, in input, got upstream.Rendered,
	kinds []string) (string, error) {
	const variants = 24
	diff, err := upstream.Diff(want.Objects, got.Objects, kinds)
	for range variants {
		if diff == "" || err != nil {
			return diff, err
		}
		again, err := o.Render(in.trainJob, in.runtime)
		if err != nil {
			return diff, err
		}
		if again.Failed != "" {
			return diff, fmt.Errorf("upstream rendered it, and does not now: %s", again.Failed)
		}
		var other string
		if other, err = upstream.Diff(again.Objects, got.Objects, kinds); other == "" {
			return "", err
		}
	}
	return diff, err
}

// examples are the TrainJobs of the module's examples that name a runtime which trainweld renders.
func examples(t *testing.T) (inputs []input) {
	t.Helper()
	dir := released(t).Modules.Trainer
	runtimes := map[string]upstream.Object{}
	keep := func(objects []upstream.Object) {
		for _, o := range objects {
			if kind, _ := o["kind"].(string); strings.HasSuffix(kind, "TrainingRuntime") {
				runtimes[nameOf(o)] = o
			}
		}
	}
	err := filepath.WalkDir(filepath.Join(dir, "manifests", "base", "runtimes"),
		func(path string, d fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".yaml" && d.Name() != "kustomization.yaml" {
				keep(read(t, path))
			}
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	// Trainer 2.0 and 2.1 have examples in notebooks only.
	files, err := filepath.Glob(filepath.Join(dir, "examples", "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		keep(read(t, file)) // some name a runtime of another file
	}
	for _, file := range files {
		for _, o := range read(t, file) {
			if o["kind"] != "TrainJob" {
				continue
			}
			spec, _ := o["spec"].(map[string]any)
			ref, _ := spec["runtimeRef"].(map[string]any)
			runtime := runtimes[fmt.Sprint(ref["name"])]
			if runtime == nil {
				t.Fatalf("%s: no runtime %v", file, ref["name"])
			}
			inputs = append(inputs, input{
				name:     "examples/" + strings.TrimSuffix(filepath.Base(file), ".yaml"),
				trainJob: o, runtime: runtime,
			})
		}
	}
	return selected(t, inputs)
}

// stock returns TrainJobs for each runtime that the release installs. They are minimal, or have
// counts and devices.
func stock(t *testing.T) (inputs []input) {
	t.Helper()
	data, err := released(t).Release.Runtimes()
	if err != nil {
		t.Fatal(err)
	}
	var runtimes struct{ Items []upstream.Object }
	if err := yaml.Unmarshal(data, &runtimes); err != nil || len(runtimes.Items) == 0 {
		t.Fatalf("no stock runtimes: %v", err)
	}
	gpus := upstream.Object{"limits": upstream.Object{"nvidia.com/gpu": int64(2)}}
	for _, runtime := range runtimes.Items {
		for name, trainer := range map[string]upstream.Object{
			"small": {},
			"nodes": {"numNodes": int64(2)},
			"counts": {"numNodes": int64(2), "numProcPerNode": int64(2),
				"image": "example.com/train:1", "args": []any{"epochs=2"}},
			"gpus": {"numNodes": int64(1), "numProcPerNode": int64(2), "resourcesPerNode": gpus},
		} {
			spec := upstream.Object{"runtimeRef": upstream.Object{"name": nameOf(runtime)},
				"trainer": trainer}
			if strings.HasPrefix(nameOf(runtime), "torchtune") {
				trainer["command"] = []any{"tune", "run"}
				spec["initializer"] = upstream.Object{
					"dataset": upstream.Object{"storageUri": "hf://tatsu-lab/alpaca/data"},
					"model": upstream.Object{
						"storageUri": "hf://meta-llama/Llama-3.2-1B-Instruct"},
				}
			}
			inputs = append(inputs, input{
				name: "runtimes/" + nameOf(runtime) + "/" + name, runtime: runtime,
				trainJob: upstream.Object{"apiVersion": "trainer.kubeflow.org/v1alpha1",
					"kind": "TrainJob", "metadata": upstream.Object{"name": "tj"}, "spec": spec},
			})
		}
	}
	return selected(t, inputs)
}

// cases are the cases of the folder whose runtime trainweld renders.
func cases(t *testing.T) (inputs []input) {
	t.Helper()
	files, err := filepath.Glob(
		filepath.Join(casefile.Shared(t, casesFolder), "*", "trainjob.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", casesFolder, err)
	}
	slices.Sort(files)
	for _, file := range files {
		dir := filepath.Dir(file)
		runtime := filepath.Join(dir, "runtime.yaml")
		if _, err := os.Stat(runtime); err != nil {
			continue // a case about a runtime that is missing
		}
		in := input{
			name:     filepath.Base(casesFolder) + "/" + filepath.Base(dir),
			trainJob: read(t, file)[0], runtime: read(t, runtime)[0],
		}
		recorded := read(t, filepath.Join(dir, "want", "objects.yaml"))[0]
		if result, ok := recorded["result"].(map[string]any); ok {
			in.rejected = result["outcome"] != "rendered"
		}
		inputs = append(inputs, in)
	}
	return selected(t, inputs)
}

func selected(t *testing.T, inputs []input) (out []input) {
	t.Helper()
	for _, in := range inputs {
		if _, rendered := upstream.Kinds(in.runtime); rendered {
			out = append(out, in)
		}
	}
	t.Logf("%d of %d inputs have a runtime that trainweld renders", len(out), len(inputs))
	return out
}

// read reads the objects of a file.
func read(t *testing.T, file string) (objects []upstream.Object) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range bytes.Split(data, []byte("\n---")) {
		var o upstream.Object
		if err := yaml.Unmarshal(document, &o); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(o) > 0 {
			objects = append(objects, o)
		}
	}
	return objects
}

func nameOf(o upstream.Object) string {
	metadata, _ := o["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}
