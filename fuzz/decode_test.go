package fuzz_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// FuzzDecode reads any bytes. Nothing may panic. Each finding has a place in the file and says what
// to do. A decoded object encodes to a text that decodes to the same object.
func FuzzDecode(f *testing.F) {
	for _, pattern := range []string{"../render/manifest/testdata/*.yaml",
		"../render/manifest/testdata/*/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	for seed := range uint64(8) {
		for _, object := range objects(fuzz.Merge(seed, fuzz.Options{})) {
			f.Add(written(f, manifest.YAML, object))
			f.Add(written(f, manifest.JSON, object))
		}
	}
	for _, text := range []string{
		"", "---\n", "a: b\n---\n# c\n...\n%YAML 1.2\n---\nd", "\uFEFFkind: A\r\napiVersion: b\r",
		"{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[{}, null, []]}",
		"[[[", "- - -", "? ? ?", "a: &a [*a]", "a: &a x\nb: [*a, *a]\n<<: *a", "a: !!binary x",
		"y: n\n1: 2\n~: 3", "kind: ConfigMap\napiVersion: v1\ndata: {y: a, 1.0: b, <<: {c: d}}",
		"manager: a.io/b\ntrainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: x}]}}}",
		"kind: ConfigMap\napiVersion: v1\ndata: {a: \"\\t\\n \\u2028\", \"\": |-\n  x\n}",
		"apiVersion: trainer.kubeflow.org/v2alpha1\nkind: TrainJobList\nitems: [{spec: {trainer: " +
			"{command: []}}}]", "{\"a\":\"\\ud83d\\ude00\"}", "'a\n---\nb'", "--- |\n a\n--- >\n b",
	} {
		f.Add([]byte(text))
	}
	var apis []*manifest.API
	definitions := new(release.Definitions)
	for _, r := range release.Known() {
		apis = append(apis, manifest.NewAPI(&r, definitions))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			t.Skip("larger than any manifest, and slow")
		}
		documents, findings := manifest.Decode("in", data)
		for _, api := range apis {
			checkRelease(t, data, documents, api)
		}
		checkFindings(t, findings)
		patches, patchFindings := manifest.DecodePatches("in", data)
		checkFindings(t, patchFindings)
		for _, p := range patches {
			p.Document.Position(p.Base)
		}
		for _, d := range documents {
			p := d.Position(
				fieldpath.Fields("spec", "trainer", "env").Append(fieldpath.Index(0),
					fieldpath.Field("name")))
			if p.File != "in" || p.Line < 1 {
				t.Errorf("%s is nowhere: %v", d.ID, p)
			}
			if d.Object == nil {
				continue
			}
			if d.Broken {
				t.Errorf("%s is broken and has an object", d.ID)
			}
			roundTrip(t, d.Object)
		}
	})
}

// checkRelease decodes the data by a release. It wants the same from decoding it by the release
// from the start, and from decoding the documents again.
func checkRelease(t *testing.T, data []byte, documents []*manifest.Document, api *manifest.API) {
	t.Helper()
	name := api.Release().Name
	direct, findings, _ := api.Decode("in", data, nil)
	checkFindings(t, findings)
	if len(direct) != len(documents) {
		t.Errorf("Trainer %s: %d documents, want %d", name, len(direct), len(documents))
		return
	}
	for i, d := range direct {
		if d.Object != nil && d.Broken {
			t.Errorf("Trainer %s: %s is broken and has an object", name, d.ID)
		}
		again := documents[i].As(api)
		if again.API() != api {
			continue // the releases do not define its kind, or its text is broken
		}
		if diff := cmp.Diff(d.Object, again.Object); diff != "" || d.Broken != again.Broken {
			t.Errorf("Trainer %s: %s read again differs (-direct +again):\n%s", name, d.ID, diff)
		}
		if diff := cmp.Diff(d.Earlier, again.Earlier) +
			cmp.Diff(d.Overrides, again.Overrides); diff != "" {
			t.Errorf("Trainer %s: the earlier fields of %s read again differ:\n%s", name, d.ID,
				diff)
		}
	}
}

func checkFindings(t *testing.T, findings finding.List) {
	t.Helper()
	for _, f := range findings {
		if f.Position.File != "in" || f.Severity == 0 || f.Code == "" || f.Message == "" ||
			f.Remedy.Text == "" {
			t.Errorf("%#v lacks something", f)
		}
	}
}

// TestEncodedDecodes writes generated objects and reads them back.
func TestEncodedDecodes(t *testing.T) {
	for seed := range uint64(200) {
		for _, object := range objects(fuzz.Merge(seed, fuzz.Options{Directives: true})) {
			roundTrip(t, object)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// objects are a TrainJob and a runtime that hold the case.
func objects(c *fuzz.Case) []any {
	job, runtime := new(trainer.TrainJob), new(trainer.TrainingRuntime)
	job.APIVersion, job.Kind, job.Name = "trainer.kubeflow.org/v1alpha1", "TrainJob", "a"
	job.Spec.RuntimePatches = c.Patches
	runtime.APIVersion, runtime.Kind, runtime.Name = "trainer.kubeflow.org/v1alpha1",
		"TrainingRuntime", "a"
	runtime.Spec.Template = *c.Template
	return []any{job, runtime}
}

// roundTrip encodes the object in each format, decodes that and compares.
func roundTrip(t *testing.T, object any) {
	t.Helper()
	for _, format := range []manifest.Format{manifest.YAML, manifest.JSON} {
		out := written(t, format, object)
		documents, findings := manifest.Decode("in", out)
		if err := findings.Err(); err != nil || len(documents) != 1 || documents[0].Object == nil {
			t.Fatalf("%d documents: %v\n%s", len(documents), err, out)
		}
		again := documents[0].Object
		if want, got := plain(object), plain(again); !reflect.DeepEqual(want, got) {
			t.Fatalf("want %v\ngot  %v\n%s", want, got, out)
		}
		if second := written(t, format, again); !bytes.Equal(out, second) {
			t.Fatalf("other bytes at the second time:\n%s\n%s", out, second)
		}
	}
}

func written(t testing.TB, format manifest.Format, object any) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := manifest.Encode(&b, format, object); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// plain returns the object as encoding/json writes and reads it. It drops the status, which Encode
// never writes. It also drops nulls, since a pointer to the zero time is encoded as null and read
// back as nil.
func plain(object any) map[string]any {
	canonical := reflect.New(reflect.TypeOf(object).Elem()).Interface()
	var m map[string]any
	for _, step := range []struct{ from, to any }{{object, canonical}, {canonical, &m}} {
		j, err := json.Marshal(step.from)
		if err == nil {
			err = json.Unmarshal(j, step.to)
		}
		if err != nil {
			return map[string]any{"error": fmt.Sprint(err)}
		}
	}
	delete(m, "status")
	dropNulls(m)
	return m
}

func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			if dropNulls(child); child == nil {
				delete(v, key)
			}
		}
	case []any:
		for _, child := range v {
			dropNulls(child)
		}
	}
}
