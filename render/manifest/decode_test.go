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
	doc := func(name string) string { return job + "metadata: {name: " + name + "}\n" }
	json := func(name string) string {
		return `{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":"` + name + `"}}`
	}
	for _, tc := range []struct {
		name, in string
		want     []string
		findings []string
		reason   string
	}{
		{"empty", "", nil, nil, "an empty file holds no documents"},
		{"comments only", "# a\n---\n# b\n--- # c\n\n", nil, nil,
			"documents without content are skipped"},
		{"null", "null\n---\n~\n---\n", nil, nil, "an explicit null is an empty document too"},
		{"null behind a tab", doc("a") + "---\n# b\n\t\n# c\n\rnull\n", []string{"1:1 TrainJob a"},
			[]string{"6:1 error TW100"},
			"kubectl's library rejects the tab, and reads no object behind it"},
		{"comment behind a tab", doc("a") + "---\n# b\n\t\n# c\n\r", []string{"1:1 TrainJob a"},
			[]string{"6:1 error TW100"}, "without a value as well"},
		{"one", doc("a"), []string{"1:1 TrainJob a"}, nil, "no separator is needed"},
		{"no line break at the end", strings.TrimSuffix(doc("a"), "\n"), []string{"1:1 TrainJob a"},
			nil, "editors forget it"},
		{"two", doc("a") + "---\n" + doc("b"), []string{"1:1 TrainJob a", "5:1 TrainJob b"}, nil,
			"a stream"},
		{"separators with comments and spaces", "--- # first\n" + doc("a") + "---   \t\n" +
			doc("b"), []string{"2:1 TrainJob a", "6:1 TrainJob b"}, nil, "YAML allows both"},
		{"document ends", doc("a") + "...\n# c\n---\n" + doc("b") + "...\n...\n",
			[]string{"1:1 TrainJob a", "7:1 TrainJob b"}, nil, "... ends a document"},
		{"document ends and more", doc("a") + "...\n" + doc("b") + "---\n" + doc("c"),
			[]string{"9:1 TrainJob c"}, []string{"5:1 error TW100"},
			"kubectl reads the first one, and drops the second"},
		{"no document ends", "...\n" + doc("a"), nil, []string{"1:1 error TW100"},
			"kubectl requires one"},
		{"directives", "%YAML 1.2\n---\n" + doc("a") + "...\n%YAML 1.1 # x\n---\n" + doc("b"),
			[]string{"9:1 TrainJob b"}, []string{"1:1 error TW100", "7:1 error TW100"},
			"kubectl ends a document at each separator"},
		{"tag directive", "%TAG ! tag:example.com,2026:\n---\n" + doc("a"),
			[]string{"3:1 TrainJob a"}, []string{"1:1 error TW100"},
			"the separator belongs to the directive only in YAML"},
		{"unknown version", "%YAML 3.0\n---\n" + doc("a"), []string{"3:1 TrainJob a"},
			[]string{"1:1 error TW100"}, "no reader knows it"},
		{"content on the separator",
			"--- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n--- !!map\n" + doc("b"),
			[]string{"1:5 Pod a (not read)", "2:5 TrainJob b"},
			[]string{"1:1 error TW100", "2:1 error TW100"}, "YAML allows it, kubectl does not"},
		{"separator that is a key", "---a: b\n---------\n" + doc("a"), []string{"3:1 TrainJob a"},
			[]string{"1:1 error TW100", "2:1 error TW100"}, "kubectl looks at three dashes"},
		{"separator and comment", doc("a") + "---# b\n" + doc("b"),
			[]string{"1:1 TrainJob a", "5:1 TrainJob b"}, nil, "kubectl needs no space"},
		{"separator and comment at the start", "---# a\n" + doc("a"), nil,
			[]string{"2:1 error TW100"}, "kubectl passes it on to YAML, where it is a string"},
		{"separator within a block",
			job + "metadata:\n  name: a\n  annotations:\n    x: |\n      ---\n      a: b\n      " +
				"...\n", []string{"1:1 TrainJob a"}, nil, "it is indented, and so text"},
		{"CRLF", strings.ReplaceAll(doc("a")+"---\n"+doc("b"), "\n", "\r\n"),
			[]string{"1:1 TrainJob a", "5:1 TrainJob b"}, nil, "Windows"},
		{"CR", strings.ReplaceAll(doc("a")+"---\n"+doc("b"), "\n", "\r"), nil,
			[]string{"4:1 error TW100"}, "YAML ends lines there too, kubectl does not split there"},
		{"NEL and LS", doc("a") + "---\u0085" + doc("b") + "---\u2028" + doc("c"),
			[]string{"1:1 TrainJob a", "5:1 TrainJob b", "9:1 TrainJob c"},
			[]string{"4:1 error TW100", "8:1 error TW100"}, "kubectl misses them"},
		{"BOM", "\uFEFF" + doc("a") + "---\n\uFEFF" + doc("b"),
			[]string{"1:1 TrainJob a", "5:1 TrainJob b"}, nil,
			"files from Windows, written one behind the other"},
		{"BOM alone", "\uFEFF", nil, nil, "an empty file from Windows"},
		{"JSON", json("a"), []string{"1:1 TrainJob a"}, nil, "JSON is read as such"},
		{"JSON values", json("a") + "\n  " + json("b") + json("c") + "\n",
			[]string{"1:1 TrainJob a", "2:3 TrainJob b", "2:91 TrainJob c"}, nil,
			"kubectl takes them in a row"},
		{"JSON and YAML", json("a") + "\n---\n" + doc("b") + "---\n" + json("c"),
			[]string{"1:1 TrainJob a", "3:1 TrainJob b", "7:1 TrainJob c"}, nil,
			"each document on its own"},
		{"JSON values and YAML", json("a") + json("b") + "\n---\n" + doc("c"),
			[]string{"1:1 TrainJob a", "1:89 TrainJob b"}, []string{"2:1 error TW100"},
			"after two values, kubectl reads JSON only"},
		{"JSON and YAML without a separator", json("a") + " " + doc("b"),
			[]string{"1:1 TrainJob a", "1:90 TrainJob b"}, nil,
			"after one value, kubectl reads YAML"},
		{"YAML and JSON values", "# c\n" + json("a") + "\n" + json("b"), nil,
			[]string{"3:1 error TW100"}, "in YAML, kubectl reads the first value only"},
		{"surrogates in YAML", "---\n" + strings.Replace(json("a"), `"a"`, `"\ud83d\ude00"`, 1),
			nil, []string{"2:1 error TW100"}, "kubectl reads YAML after a separator"},
		{"JSON array", "[" + json("a") + ",\n" + json("b") + "]",
			[]string{"1:2 TrainJob a", "2:1 TrainJob b"}, []string{"1:1 error TW100"},
			"kubectl cannot decode a list"},
		{"YAML list of objects", "- " + json("a") + "\n", []string{"1:3 TrainJob a"},
			[]string{"1:1 error TW100"}, "kubectl cannot decode a list"},
		{"list of other kinds", "- {apiVersion: v1, kind: Pod}\n", []string{"1:3 Pod (not read)"},
			nil, "other kinds are not judged"},
		{"JSON array of nothing", "[]", nil, []string{"1:1 error TW107"}, "no objects"},
		{"JSON array of others", "[1, null, []]", nil,
			[]string{"1:2 error TW107", "1:5 error TW107", "1:11 error TW107"},
			"none of them is an object"},
		{"JSON with surrogates", strings.Replace(json("a"), `"a"`, `"\ud83d\ude00"`, 1),
			[]string{"1:1 TrainJob 😀"}, nil,
			"JSON spells such characters in two halves; YAML readers refuse that"},
		{"flow style", "{apiVersion: v1, kind: Pod, metadata: {name: a},}",
			[]string{"1:1 Pod a (not read)"}, nil, "YAML that looks like JSON"},
		{"flow style, twice", "{kind: Pod, apiVersion: v1,}\n{kind: Pod, apiVersion: v1,}\n", nil,
			[]string{"2:1 error TW100"}, "YAML readers leave the second unread, and say nothing"},
		{"indented, then not", "  kind: Pod\n  apiVersion: v1\nmetadata: {name: a}\n", nil,
			[]string{"3:1 error TW100"}, "YAML readers leave the rest unread, and say nothing"},
		{"YAML sequence", "- kind: Pod\n  apiVersion: v1\n- a\n", []string{"1:3 Pod (not read)"},
			[]string{"3:3 error TW107"}, "a list of objects, as in JSON"},
		{"List", "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: \"\"}\nitems:\n- " +
			strings.ReplaceAll(doc("a"), "\nk", "\n  k") + "",
			[]string{"5:3 TrainJob"},
			[]string{"7:1 error TW102 .metadata", "7:12 error TW101 .metadata.name"},
			"metadata slipped out of the item"},
		{"List of two",
			"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: " +
				"a}}\n-\n  apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainJob\n  " +
				"metadata:\n    name: b\n",
			[]string{"4:3 Pod a (not read)", "6:3 TrainJob b"}, nil,
			"items are documents with places of their own"},
		{"List in JSON", `{"kind": "List", "apiVersion": "v1", "items": [` + "\n" + json("a") +
			", " + json("b") + "]}", []string{"2:1 TrainJob a", "2:91 TrainJob b"}, nil,
			"as kubectl get -o json prints"},
		{"typed List",
			"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJobList\nmetadata: " +
				"{}\nitems:\n- metadata: {name: a}\n- kind: TrainingRuntime\n  apiVersion: " +
				"trainer.kubeflow.org/v1alpha1\n  metadata: {name: b}\n",
			[]string{"5:3 TrainJob a", "6:3 TrainingRuntime b"}, nil,
			"its items need not say what they are"},
		{"typed List of a kind that is not read",
			"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: OptimizationJobList\nitems:\n- " +
				"metadata: {name: a}\n", []string{"4:3 OptimizationJob a (broken)"},
			[]string{"4:3 error TW500 .spec"},
			"its items have a kind"},
		{"empty List",
			"apiVersion: v1\nkind: List\n---\napiVersion: v1\nkind: List\nitems: " +
				"[]\n---\napiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSetList\nitems: null\n",
			nil, nil, "no items, no objects"},
		{"misspelt List", "apiVersion: v1\nkind: List\nitem: []\n", nil,
			[]string{"3:1 error TW101 .item"}, "a List that loses its items"},
		{"List of other values", "apiVersion: v1\nkind: List\nitems: [a]\n", nil,
			[]string{"3:9 error TW107"}, "its items are objects"},
		{"List of a map", "apiVersion: v1\nkind: List\nitems: {a: {}}\n", nil,
			[]string{"3:8 error TW103 .items"}, "objects may hide in it"},
		{"List of another group", "apiVersion: example.com/v1\nkind: List\nitems: [a]\n",
			[]string{"1:1 List (not read)"}, nil, "not ours to judge"},
		{"a kind that ends in List",
			"apiVersion: example.com/v1\nkind: AllowList\nitems: [10.0.0.1]\nspec: {}\n",
			[]string{"1:1 AllowList (not read)"}, nil, "no List of objects"},
		{"Lists in Lists", strings.Repeat(`{"kind":"List","apiVersion":"v1","items":[`, 20) +
			strings.Repeat("]}", 20), nil, []string{"1:337 error TW100"},
			"nobody writes that; each level is read again"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			documents, findings := manifest.Decode("in", []byte(tc.in))
			if diff := cmp.Diff(tc.want, summary(documents)); diff != "" {
				t.Errorf("%s: documents (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.findings, brief(findings)); diff != "" {
				t.Errorf("%s: findings (-want +got):\n%s\n%v", tc.reason, diff, findings)
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
			"set apiVersion: trainer.kubeflow.org/v1alpha1, or ignore this warning"},
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
			"set apiVersion: trainer.kubeflow.org/v1alpha1, or ignore this warning"},
		{"example.com/v1", "Trainjob", nil, codes.UnknownKind, finding.Warning,
			"set apiVersion: trainer.kubeflow.org/v1alpha1, or ignore this warning"},
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
