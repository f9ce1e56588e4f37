package render_test

import (
	"crypto/rand"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
	"github.com/trainweld/trainweld/render/casefile"
	"github.com/trainweld/trainweld/render/codes"
)

// probes holds the objects that the Trainer's and JobSet's own code made of inputs, in process.
const probes = "../testdata/probe"

// rejectedOnPurpose are the cases that the Trainer admits and renders and this package reports as
// errors, next to equal objects. The table of docs/differences.md gives the reasons.
var rejectedOnPurpose = map[string]finding.Code{
	"annotations-directive":                      codes.Directive,
	"joblabels-directive-drops-ancestor":         codes.Directive,
	"merge-container-by-initcontainer-name":      codes.UnknownContainer,
	"merge-env-node-as-initcontainer":            codes.UnknownContainer,
	"merge-env-value-to-valuefrom":               codes.ValueAndValueFrom,
	"merge-initcontainer-by-container-name":      codes.UnknownContainer,
	"merge-nodeselector-directive-delete":        codes.Directive,
	"merge-nodeselector-directive-replace":       codes.Directive,
	"merge-podlabels-directive":                  codes.Directive,
	"merge-unknown-container":                    codes.UnknownContainer,
	"merge-unknown-initcontainer":                codes.UnknownContainer,
	"merge-unknown-replicatedjob-with-container": codes.UnknownJob,
	"merge-volume-projected":                     codes.TwoSources,
	"merge-volumes-other-source":                 codes.TwoSources,
	"podlabels-directive-existing":               codes.Directive,
	"tj-env-filekeyref":                          codes.FileKeyRef,
	"torch-envinjection-ghost-by-patch":          codes.UnknownContainer,
}

// TestObjectsEqualTheController compares every object that upstream's code made, kind by kind, and
// the JobSet also as stored. Cases that upstream rejects at admission are compared as well wherever
// its controller would have made objects.
func TestObjectsEqualTheController(t *testing.T) {
	templates := fluxTemplates(t)
	count := tally{}
	for _, dir := range caseFolders(t, casefile.Shared(t, probes), "want/result.yaml") {
		name := filepath.Base(dir)
		if len(objectFiles(t, dir)) > 0 {
			compareWithController(t, dir, name, templates, count)
		}
	}
	count.log(t)
	if got := count["objects"].total; got != 176 {
		t.Errorf("%d cases were compared, want 176", got)
	}
}

func objectFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "want", "objects", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func compareWithController(t *testing.T, dir, name string, templates fs.FS, count tally) {
	in := readCase(t, dir)
	in.TrainJob.UID = "00000000-0000-4000-8000-000000000001"
	before := mustJSON(t, in)
	opts := render.Options{
		OnConflict: render.Last, OwnerReferences: true, Secrets: rand.Reader,
		FluxTemplates: templates,
	}
	out, err := render.JobSet(in, opts)
	if outcome(t, dir) == "rendered" {
		code, onPurpose := rejectedOnPurpose[filepath.Base(dir)]
		if onPurpose != (err != nil) || onPurpose && !onlyErrors(out.Findings, code) {
			t.Errorf("%s: the errors are %v, on purpose %q", name, err, code)
		}
	}
	if after := mustJSON(t, in); after != before {
		t.Errorf("%s: the input was changed", name)
	}
	if out.JobSet == nil {
		count.add(t, "objects", name, []string{"no JobSet:", out.Findings.Error()})
		return
	}
	var want []object
	for _, file := range objectFiles(t, dir) {
		want = append(want, readTyped(t, file))
	}
	got := typedObjects(t, out)
	for _, o := range got {
		if o["kind"] == "Secret" && strings.HasSuffix(meta(o)["name"].(string), "-mpi-ssh-auth") {
			maskKeys(t, o)
		}
	}
	diff := differences(want, got)
	storedFile := filepath.Join(dir, "want", "jobset.yaml")
	// Where upstream's order of two plugins is random, either is right.
	if variant := filepath.Join(dir, "want", "variant-1", "jobset."+in.TrainJob.Name+".yaml"); len(
		diff) > 0 && exists(variant) {
		diff = differences([]object{readTyped(t, variant)}, got)
		storedFile = variant
	}
	count.add(t, "objects", name, diff)

	if !exists(storedFile) {
		return
	}
	opts.As = render.Stored
	out, _ = render.JobSet(in, opts)
	stored := render.DefaultJobSet(readJobSetLeniently(t, storedFile))
	count.add(t, "stored JobSet", name, differences(
		levelAll(asObjects(t, []*jobset.JobSet{stored})),
		levelAll(asObjects(t, []*jobset.JobSet{out.JobSet}))))
}

// outcome is what upstream made of the case.
func outcome(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "want", "result.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var result struct{ Outcome string }
	if err := yaml.Unmarshal(data, &result); err != nil {
		t.Fatal(err)
	}
	return result.Outcome
}

func onlyErrors(findings finding.List, code finding.Code) bool {
	return !slices.ContainsFunc(findings, func(f finding.Finding) bool {
		return f.Severity == finding.Error && f.Code != code
	})
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// maskKeys replaces a Secret's SSH keys by the masked text of the cases. It does not check the
// keys.
func maskKeys(t *testing.T, o object) {
	t.Helper()
	data := o["data"].(object)
	for key := range data {
		data[key] = map[string]string{
			"ssh-privatekey": "TUFTS0VEIHNzaC1wcml2YXRla2V5",
			"ssh-publickey":  "TUFTS0VEIHNzaC1wdWJsaWNrZXk=",
		}[key]
	}
}

// readCase reads a case's runtime and TrainJob as an API server that prunes unknown fields does.
// Within the metadata of a patch, it prunes fields that the Go type has. Such a TrainJob is read as
// the API server admitted it.
func readCase(t *testing.T, dir string) render.Input {
	t.Helper()
	job, runtime := &trainer.TrainJob{}, &trainer.ClusterTrainingRuntime{}
	raw := object{}
	file := "trainjob.yaml"
	if admitted := "want/trainjob.admitted.yaml"; strings.Contains(dir, "merge-metadata") {
		file = admitted
	}
	for file, into := range map[string][]any{file: {job}, "runtime.yaml": {runtime, &raw}} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range into {
			if err := yaml.Unmarshal(data, value); err != nil {
				t.Fatalf("%s/%s: %v", dir, file, err)
			}
		}
	}
	if job.Namespace == "" {
		job.Namespace = "default"
	}
	render.DefaultTrainJob(job, nil)
	render.DefaultRuntime(&runtime.Spec,
		writtenIn(list(raw, "spec", "template", "spec", "replicatedJobs")))
	return render.Input{TrainJob: job, Runtime: &runtime.Spec}
}

// writtenIn reports whether the replicated jobs, as decoded from a file, have a field.
func writtenIn(jobs []any) func(fieldpath.Path) bool {
	return func(path fieldpath.Path) bool {
		_, name, _ := path[len(path)-2].Item()
		field, _ := path[len(path)-1].Field()
		return slices.ContainsFunc(jobs, func(job any) bool {
			_, found := job.(object)[field]
			return found && job.(object)["name"] == name
		})
	}
}

func list(value any, names ...string) []any {
	for _, name := range names {
		fields, _ := value.(object)
		value = fields[name]
	}
	items, _ := value.([]any)
	return items
}

// readTyped reads an object through its Go type, which is how two objects are compared. A PodGroup
// stays as it is.
func readTyped(t *testing.T, file string) object {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	header := metav1.TypeMeta{}
	if err := yaml.Unmarshal(data, &header); err != nil {
		t.Fatal(err)
	}
	var typed any = &object{}
	switch {
	case header.Kind == "JobSet":
		typed = &jobset.JobSet{}
	case header.Kind == "ConfigMap":
		typed = &corev1.ConfigMap{}
	case header.Kind == "Secret":
		typed = &corev1.Secret{}
	}
	if err := yaml.Unmarshal(data, typed); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return levelOwned(asObjects(t, []any{typed})[0])
}

func typedObjects(t *testing.T, out *render.Output) []object {
	t.Helper()
	objects := asObjects(t, []*jobset.JobSet{out.JobSet})
	objects = append(objects, asObjects(t, out.Companions)...)
	for i := range objects {
		objects[i] = levelOwned(objects[i])
	}
	return objects
}

// levelOwned levels an object and keeps its owner references.
func levelOwned(o object) object {
	owners := meta(o)["ownerReferences"]
	level(o)
	if owners != nil {
		meta(o)["ownerReferences"] = owners
	}
	return o
}

func levelAll(objects []object) []object {
	for _, o := range objects {
		level(o)
	}
	return objects
}

func readJobSetLeniently(t *testing.T, file string) *jobset.JobSet {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	js := &jobset.JobSet{}
	if err := yaml.Unmarshal(data, js); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return js
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fluxTemplates is the trainer module's own folder of templates.
func fluxTemplates(t *testing.T) fs.FS {
	t.Helper()
	dir := filepath.Join(testenv.ModuleDir(t, "github.com/kubeflow/trainer/v2"),
		"pkg/runtime/framework/plugins/flux/templates")
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	return os.DirFS(dir)
}
