package manifest_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render/codes"
	"github.com/trainweld/trainweld/render/manifest"
)

const job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"

// summary is the documents in one line each: file position, kind, name, Go type.
func summary(documents []*manifest.Document) []string {
	var lines []string
	for _, d := range documents {
		p := d.Position(nil)
		line := fmt.Sprintf("%d:%d %s", p.Line, p.Column, d.ID)
		switch {
		case d.Broken:
			line += " (broken)"
		case d.Object == nil:
			line += " (not read)"
		}
		lines = append(lines, line)
	}
	return lines
}

// brief is the findings in one line each, without messages.
func brief(findings finding.List) []string {
	var lines []string
	for _, f := range findings {
		line := fmt.Sprintf("%d:%d %s %s", f.Position.Line, f.Position.Column, f.Severity, f.Code)
		if len(f.Path) > 0 {
			line += " " + f.Path.String()
		}
		lines = append(lines, line)
	}
	return lines
}

func TestStreams(t *testing.T) {
	for _, tc := range casefile.Table[struct {
		Name, In string
		Want     []string
		Findings []string
		Reason   string
	}](t, "testdata/streams.yaml") {
		t.Run(tc.Name, func(t *testing.T) {
			documents, findings := manifest.Decode("in", []byte(tc.In))
			if diff := cmp.Diff(tc.Want, summary(documents)); diff != "" {
				t.Errorf("%s: documents (-want +got):\n%s", tc.Reason, diff)
			}
			if diff := cmp.Diff(tc.Findings, brief(findings)); diff != "" {
				t.Errorf("%s: findings (-want +got):\n%s\n%v", tc.Reason, diff, findings)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	for _, tc := range []struct {
		apiVersion, kind string
		want             any
		code             finding.Code
		severity         finding.Severity
		help             string
	}{
		{"trainer.kubeflow.org/v1alpha1", "TrainJob", &trainer.TrainJob{}, "", 0, ""},
		{"trainer.kubeflow.org/v1alpha1", "TrainingRuntime", &trainer.TrainingRuntime{}, "", 0, ""},
		{"trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime",
			&trainer.ClusterTrainingRuntime{}, "", 0, ""},
		{"jobset.x-k8s.io/v1alpha2", "JobSet", &jobset.JobSet{}, "", 0, ""},
		{"v1", "ConfigMap", &corev1.ConfigMap{}, "", 0, ""},
		{"trainer.kubeflow.org/v2alpha1", "TrainJob", &trainer.TrainJob{}, codes.OldVersion,
			finding.Warning, "set apiVersion: trainer.kubeflow.org/v1alpha1"},
		{"trainer.kubeflow.org/v1", "TrainJob", nil, codes.UnknownVersion, finding.Error,
			"set apiVersion: trainer.kubeflow.org/v1alpha1"},
		{"jobset.x-k8s.io/v1alpha1", "JobSet", nil, codes.UnknownVersion, finding.Error,
			"set apiVersion: jobset.x-k8s.io/v1alpha2"},
		{"v2", "ConfigMap", nil, codes.UnknownVersion, finding.Error, "set apiVersion: v1"},
		{"trainer.kubeflow.org/v1alpha1", "Trainjob", nil, codes.UnknownKind, finding.Error,
			`did you mean "TrainJob"?`},
		{"kueue.x-k8s.io/v1beta1", "Resourceflavor", nil, codes.UnknownKind, finding.Error,
			`did you mean "ResourceFlavor"?`},
		{"v1", "Configmap", nil, codes.UnknownKind, finding.Error, `did you mean "ConfigMap"?`},
		{"kueue.x-k8s.io/v1beta1", "ClusterQueue", nil, "", 0, ""},
		{"trainer.kubeflow.org/v1alpha1", "Pod", nil, codes.UnknownKind, finding.Error,
			"write one of TrainJob, TrainingRuntime, ClusterTrainingRuntime, OptimizationJob"},
		{"kubeflow.org/v1", "TrainJob", nil, codes.UnknownKind, finding.Warning,
			"set apiVersion: trainer.kubeflow.org/v1alpha1"},
		{"trainer.kubeflow.org/v1alpha1", "OptimizationJob", nil, codes.MissingField, finding.Error,
			"set spec.trainJobTemplate.spec to that of a TrainJob"},
		{"trainer.kubeflow.org/v1beta1", "OptimizationJob", nil, codes.UnknownVersion, finding.Error,
			"set apiVersion: trainer.kubeflow.org/v1alpha1"},
		{"trainer.kubeflow.org/v1alpha1", "Optimizationjob", nil, codes.UnknownKind, finding.Error,
			`did you mean "OptimizationJob"?`},
		{"trainer.kubeflow.com/v1alpha1", "TrainJob", nil, codes.UnknownKind, finding.Error,
			"set apiVersion: trainer.kubeflow.org/v1alpha1"},
		{"trainer.kubeflow.dev/v2", "TrainingRuntime", nil, codes.UnknownKind, finding.Error,
			"set apiVersion: trainer.kubeflow.org/v1alpha1"},
		{"trianer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", nil, codes.UnknownKind,
			finding.Error, "set apiVersion: trainer.kubeflow.org/v1alpha1"},
		{"Trainer.KubeFlow.org/v1alpha1", "TrainJob", nil, codes.UnknownKind, finding.Error,
			"set apiVersion: trainer.kubeflow.org/v1alpha1"},
		{"trainer.kubeflow.org", "TrainJob", nil, codes.UnknownKind, finding.Error,
			"set apiVersion: trainer.kubeflow.org/v1alpha1"},
		{"trainers.kubeflow.org/v1alpha1", "trainjob", nil, codes.UnknownKind, finding.Error,
			"set apiVersion: trainer.kubeflow.org/v1alpha1 and kind: TrainJob"},
		{"jobset.k8s.io/v1alpha2", "JobSet", nil, codes.UnknownKind, finding.Error,
			"set apiVersion: jobset.x-k8s.io/v1alpha2"},
		{"jobset.x-k8s.com/v1alpha2", "Jobset", nil, codes.UnknownKind, finding.Error,
			"set apiVersion: jobset.x-k8s.io/v1alpha2 and kind: JobSet"},
		{"jobset.x-k8s.io/v1alpha2", "Jobset", nil, codes.UnknownKind, finding.Error,
			`did you mean "JobSet"?`},
		{"trainers.kubeflow.com/v1alpha1", "TrainJob", nil, codes.UnknownKind, finding.Warning,
			"set apiVersion: trainer.kubeflow.org/v1alpha1"},
		{"example.com/v1", "Trainjob", nil, codes.UnknownKind, finding.Warning,
			"set apiVersion: trainer.kubeflow.org/v1alpha1"},
		{"sagemaker.services.k8s.aws/v1alpha1", "TrainingJob", nil, "", 0, ""},
		{"kubeflow.org/v1", "PyTorchJob", nil, "", 0, ""},
		{"example.com/v1", "JobSet", nil, "", 0, ""},
		{"apps/v1", "Deployment", nil, "", 0, ""},
	} {
		t.Run(tc.apiVersion+" "+tc.kind, func(t *testing.T) {
			documents, findings := manifest.Decode(
				"in", []byte(
					fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: a, namespace: b}\n",
						tc.apiVersion, tc.kind)))
			if len(documents) != 1 {
				t.Fatalf("got %d documents, findings %v", len(documents), findings)
			}
			d := documents[0]
			if want := (fieldpath.Object{Kind: tc.kind, Namespace: "b", Name: "a"}); d.ID != want ||
				d.APIVersion != tc.apiVersion || d.File != "in" {
				t.Errorf("got %+v of %s in %s", d.ID, d.APIVersion, d.File)
			}
			if reflect.TypeOf(d.Object) != reflect.TypeOf(tc.want) {
				t.Errorf("got a %T, want a %T", d.Object, tc.want)
			}
			if d.Broken != (tc.severity == finding.Error) {
				t.Errorf("Broken is %t", d.Broken)
			}
			if job, ok := d.Object.(*trainer.TrainJob); ok &&
				job.APIVersion != "trainer.kubeflow.org/v1alpha1" {
				t.Errorf("the object says %s", job.APIVersion)
			}
			if tc.code == "" {
				if len(findings) > 0 {
					t.Errorf("got %v", findings)
				}
				return
			}
			if len(findings) != 1 || findings[0].Code != tc.code ||
				findings[0].Severity != tc.severity || findings[0].Remedy.Text != tc.help {
				t.Errorf("got %v, want one %s %s with help %q", findings, tc.severity, tc.code,
					tc.help)
			}
		})
	}
}

// TestLater holds that a field of a release after the known ones is no mistyped field of theirs.
func TestLater(t *testing.T) {
	const pod = "runtimePatches: [{manager: a.b/c, trainingRuntimeSpec: {template: {spec: " +
		"{replicatedJobs: [{name: node, template: {spec: {template: {spec: {%s}}}}}]}}}}]"
	for _, tc := range []struct{ spec, want string }{
		{"trainer: {resourceClaimsPerNode: []}",
			"TW101 spec.trainer.resourceClaimsPerNode is a field of Trainer 2.4; Trainer 2.3 has " +
				"no such field"},
		{fmt.Sprintf(pod, "resourceClaims: []"),
			"TW104 no patch may set resourceClaims; for patches it is a field of Trainer 2.4"},
		{fmt.Sprintf(pod, "containers: [{name: node, resources: {}}]"),
			"TW104 no patch may set resources; for patches it is a field of Trainer 2.4"},
		{fmt.Sprintf(pod, "initContainers: [{name: a, resources: {}}]"),
			"TW104 no patch may set resources; for patches it is a field of Trainer 2.4"},
		{fmt.Sprintf(pod, "containers: [{name: node, image: a}]"), "TW104 no patch may set image"},
		{"trainer: {resourcesPerNod: {}}", `TW101 unknown field "resourcesPerNod"`},
	} {
		_, found := manifest.Decode(
			"in", []byte(
				"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: "+
					"a}\nspec:\n  runtimeRef: {name: rt}\n  "+tc.spec+"\n"))
		if len(found) != 1 {
			t.Errorf("%s: got %v, want %s", tc.spec, found, tc.want)
			continue
		}
		got := fmt.Sprintf("%s %s", found[0].Code, found[0].Message)
		if _, later, ok := strings.Cut(found[0].Remedy.Text, "; for patches"); ok {
			got += "; for patches" + later
		}
		if got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.spec, got, tc.want)
		}
	}
}

func TestTolerate(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"an object without a kind", "apiVersion: v1\na: b\n", []string{"1:1 warning TW107"}},
		{"keys in the wrong case", "ApiVersion: v1\nKind: TrainJob\n",
			[]string{"1:1 warning TW107"}},
		{"the rest of an object", "metadata: {name: a}\nspec: {}\n", []string{"1:1 warning TW107"}},
		{"a manager's patch", "manager: a.io/b\n", []string{"1:1 warning TW107"}},
		{"values", "image: {tag: a}\n", nil},
		{"a workflow", "on: [push]\njobs: {}\n", nil},
		{"a workflow with a duplicate key", "on: [push]\non: [push]\n", nil},
		{"a list of words", "- a\n- b\n", nil},
		{"another mistake stays an error", "a: [\n", []string{"1:1 error TW100"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, findings := manifest.Decode("in.yaml", []byte(tc.in))
			before := brief(findings)
			tolerated := manifest.Tolerate(findings, codes.NotAnObject)
			if got := brief(tolerated); !slices.Equal(got, tc.want) {
				t.Errorf("Tolerate(%q) = %q, want %q", before, got, tc.want)
			}
			if len(before) == 0 || !slices.Equal(brief(findings), before) {
				t.Errorf("findings are %q, want those before Tolerate, %q", brief(findings), before)
			}
		})
	}
}

// TestDecodeFilesOfTools decodes files that belong to another tool by their name or content. They
// are not mistakes, even if a path names them.
func TestDecodeFilesOfTools(t *testing.T) {
	for _, file := range []string{
		"kustomization.yaml", "overlays/eu/kustomization.yml", "Kustomization", "chart/Chart.yaml",
		"values.yaml", "./values-eu.yaml",
		"values.schema.json", ".github/workflows/ci.yml", ".pre-commit-config.yaml",
	} {
		if documents, findings := manifest.Decode(
			file, []byte("apiVersion: v2\nresources: [a.yaml]\n")); len(documents) != 0 ||
			len(findings) != 0 {
			t.Errorf("Decode(%q) = %d documents, %q, want none", file, len(documents),
				brief(findings))
		}
	}
	for _, in := range []string{
		"- op: add\n  path: /spec/a\n  value: {kind: A}\n", `[{"op": "remove", "path": "/spec/a"}]`,
		"nameReference:\n- kind: TrainingRuntime\n", "- source: {kind: TrainJob}\n  targets: []\n",
	} {
		if documents, findings := manifest.Decode("job.yaml", []byte(in)); len(documents) != 0 ||
			len(findings) != 0 {
			t.Errorf("Decode(%q) = %d documents, %q, want none", in, len(documents),
				brief(findings))
		}
	}
	for _, file := range []string{"job.yaml", "my-values.yaml", "-", "charts/job.yaml",
		"./.cache/job.yaml"} {
		if _, findings := manifest.Decode(
			file, []byte("apiVersion: v2\nresources: [a.yaml]\n")); findings.Err() == nil {
			t.Errorf("Decode(%q) reports nothing, want TW107", file)
		}
	}
}

func TestDecode_Deterministic(t *testing.T) {
	in := []byte(
		job + "spec: {a: 1, b: 2, c: 3, trainer: {x: 1, y: 2}, suspend: 1}\nmetadata: {labels: " +
			"{y: 1, n: 2, on: 3}}\n")
	_, first := manifest.Decode("in", in)
	for range 50 {
		if _, again := manifest.Decode("in", in); !reflect.DeepEqual(first, again) {
			t.Fatalf("findings differ:\n%v\n%v", first, again)
		}
	}
}
