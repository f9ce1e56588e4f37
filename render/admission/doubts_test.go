package admission_test

import (
	"context"
	"slices"
	"testing"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/admission"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
	"github.com/trainweld/trainweld/render/release"
)

// TestStockRuntimesAreNotDoubtful: each runtime that a release ships has the trainer's label, and
// an image in each container.
func TestStockRuntimesAreNotDoubtful(t *testing.T) {
	for _, r := range release.Known() {
		text, err := r.Runtimes()
		if err != nil {
			t.Fatal(err)
		}
		documents, _ := manifest.Decode("runtimes.yaml", text)
		if len(documents) < 3 {
			t.Fatalf("Trainer %s ships %d runtimes", r.Name, len(documents))
		}
		for _, d := range documents {
			fields, err := d.Fields()
			if err != nil {
				t.Fatal(err)
			}
			runtime, _ := admission.AdmitRuntime(context.Background(), &r, fields, "")
			if f := runtime.Unlabeled(); f != nil {
				t.Errorf("Trainer %s, %s: %s", r.Name, d.ID, f.Message)
			}
			for _, f := range runtime.WithoutImage() {
				t.Errorf("Trainer %s, %s %s: %s", r.Name, d.ID, f.Path, f.Message)
			}
		}
	}
}

// runtimeOf returns a runtime with one job.
func runtimeOf(t *testing.T, job string) *admission.Runtime {
	t.Helper()
	documents, _ := manifest.Decode("runtime.yaml",
		[]byte("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: "+
			"ClusterTrainingRuntime\nmetadata: {name: rt}\nspec: {template: {spec: "+
			"{replicatedJobs: ["+job+"]}}}\n"))
	fields, err := documents[0].Fields()
	if err != nil {
		t.Fatal(err)
	}
	runtime, _ := admission.AdmitRuntime(context.Background(), nil, fields, "")
	return runtime
}

func TestRuntime_Unlabeled(t *testing.T) {
	const pod = "spec: {template: {spec: {containers: [{name: node, image: i}]}}}"
	for _, tc := range []struct{ name, job, path string }{
		{"the trainer's label",
			"{name: node, template: {metadata: {labels: " +
				"{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, " + pod + "}}", ""},
		{"no label", "{name: a, template: {" + pod + "}}",
			`.spec.template.spec.replicatedJobs[name="a"]`},
		{"an initializer's label",
			"{name: a, template: {metadata: {labels: " +
				"{trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}, " + pod +
				"}}", `.spec.template.spec.replicatedJobs[name="a"]`},
		{"the label on the Pod",
			"{name: node, template: {spec: {template: {metadata: {labels: " +
				"{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {containers: " +
				"[{name: node, image: i}]}}}}}", `.spec.template.spec.replicatedJobs[name="node"]`},
		{"several jobs", "{name: a, template: {" + pod + "}}, {name: node, template: {" + pod +
			"}}", `.spec.template.spec.replicatedJobs[name="node"]`},
		{"no job called node", "{name: a, template: {" + pod + "}}, {name: b, template: {" + pod +
			"}}", `.spec.template.spec.replicatedJobs`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := runtimeOf(t, tc.job).Unlabeled()
			switch {
			case f == nil && tc.path != "", f != nil && tc.path == "":
				t.Fatalf("Unlabeled() = %v", f)
			case f != nil && (f.Path.String() != tc.path || f.Code != codes.NoTrainerLabel ||
				f.Severity != finding.Warning):
				t.Errorf("Unlabeled() = %v at %s, want a warning at %s", f, f.Path, tc.path)
			}
		})
	}
}

func TestRuntime_WithoutImage(t *testing.T) {
	const trainer = "metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, "
	for _, tc := range []struct {
		name, job string
		want      []finding.Severity
	}{
		{"an image", "{name: node, template: {" + trainer +
			"spec: {template: {spec: {containers: [{name: node, image: i}]}}}}}", nil},
		{"a TrainJob sets the trainer's", "{name: node, template: {" + trainer +
			"spec: {template: {spec: {containers: [{name: node}]}}}}}",
			[]finding.Severity{finding.Warning}},
		{"none sets a sidecar's", "{name: node, template: {" + trainer +
			"spec: {template: {spec: {containers: [{name: node, image: i}, {name: b}]}}}}}",
			[]finding.Severity{finding.Error}},
		{"none sets an init container's", "{name: node, template: {" + trainer +
			"spec: {template: {spec: {initContainers: [{name: node}], containers: [{name: node, " +
			"image: i}]}}}}}", []finding.Severity{finding.Error}},
		{"none sets one without the label",
			"{name: node, template: {spec: {template: {spec: {containers: [{name: node}]}}}}}",
			[]finding.Severity{finding.Error}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []finding.Severity
			for _, f := range runtimeOf(t, tc.job).WithoutImage() {
				got = append(got, f.Severity)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("WithoutImage() = %v, want %v", got, tc.want)
			}
		})
	}
}
