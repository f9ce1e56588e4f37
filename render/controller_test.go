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
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render"
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
	for _, dir := range caseFolders(t, casefile.Shared(t, probes), recordedFile) {
		if recorded := readRecording(t, dir); recorded["objects"] != nil {
			compareWithController(t, dir, recorded, templates, count)
		}
	}
	count.log(t)
	if got := count["objects"].total; got != 176 {
		t.Errorf("%d cases were compared, want 176", got)
	}
}

func compareWithController(t *testing.T, dir string, recorded recording, templates fs.FS,
	count tally) {
	name, in := filepath.Base(dir), readCase(t, dir, recorded)
	in.TrainJob.UID = "00000000-0000-4000-8000-000000000001"
	before := mustJSON(t, in)
	opts := render.Options{
		OnConflict: render.Last, OwnerReferences: true, Secrets: rand.Reader,
		FluxTemplates: templates,
	}
	out, err := render.JobSet(in, opts)
	if field(object(recorded), "result")["outcome"] == "rendered" {
		code, onPurpose := rejectedOnPurpose[name]
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
	for _, o := range recorded.objects("objects") {
		want = append(want, typed(t, o))
	}
	got := typedObjects(t, out)
	for _, o := range got {
		if o["kind"] == "Secret" && strings.HasSuffix(meta(o)["name"].(string), "-mpi-ssh-auth") {
			maskKeys(t, o)
		}
	}
	diff := differences(want, got)
	wantStored := recorded["jobset"]
	// Where upstream's order of two plugins is random, either is right.
	if variant, ok := recorded["variant"].(object); ok && len(diff) > 0 {
		diff = differences([]object{typed(t, variant)}, got)
		wantStored = variant
	}
	count.add(t, "objects", name, diff)

	if wantStored == nil {
		return
	}
	opts.As = render.Stored
	out, _ = render.JobSet(in, opts)
	stored := &jobset.JobSet{}
	decode(t, wantStored, stored)
	stored = render.DefaultJobSet(stored)
	count.add(t, "stored JobSet", name, differences(
		levelAll(asObjects(t, []*jobset.JobSet{stored})),
		levelAll(asObjects(t, []*jobset.JobSet{out.JobSet}))))
}

func onlyErrors(findings finding.List, code finding.Code) bool {
	return !slices.ContainsFunc(findings, func(f finding.Finding) bool {
		return f.Severity == finding.Error && f.Code != code
	})
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
func readCase(t *testing.T, dir string, recorded recording) render.Input {
	t.Helper()
	job, runtime := &trainer.TrainJob{}, &trainer.ClusterTrainingRuntime{}
	raw := object{}
	for file, into := range map[string][]any{
		"trainjob.yaml": {job}, "runtime.yaml": {runtime, &raw}} {
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
	if admitted := recorded["admitted"]; admitted != nil {
		job = &trainer.TrainJob{}
		decode(t, admitted, job)
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

// typed passes an object through its Go type, which is how two objects are compared. A PodGroup
// stays as it is.
func typed(t *testing.T, o object) object {
	t.Helper()
	var value any = &object{}
	switch o["kind"] {
	case "JobSet":
		value = &jobset.JobSet{}
	case "ConfigMap":
		value = &corev1.ConfigMap{}
	case "Secret":
		value = &corev1.Secret{}
	}
	decode(t, o, value)
	return levelOwned(asObjects(t, []any{value})[0])
}

// decode reads a value of a recording as a Go value. Fields without a place in it are dropped.
func decode(t *testing.T, value, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(mustJSON(t, value)), into); err != nil {
		t.Fatal(err)
	}
}

func typedObjects(t *testing.T, out *render.Objects) []object {
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
