package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/finding"
	"github.com/trainweld/trainweld/render/manifest"
)

func TestProblems(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
		reason   string
	}{
		{"no kind", "apiVersion: v1\na: b\n", []string{"1:1 error TW107"}, "half an object"},
		{"no apiVersion", "# values\nkind: TrainJob\n", []string{"2:1 error TW107"},
			"half an object"},
		{"values file", "image: {tag: a}\n", []string{"1:1 error TW107"}, "no object"},
		{"text", "hello\n", []string{"1:1 error TW107"}, "no object"},
		{"kind is a word", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: yes\n",
			[]string{"2:1 error TW110 .kind"}, "true is not a kind"},
		{"unread and odd",
			"apiVersion: v1\nkind: Pod\na: 1\na: 2\nmetadata: []\nmanager: 5\nitems: {}\n", nil,
			"other kinds are not judged"},
		{"template", "a: {{ .Values.a }}\n", []string{"1:4 error TW100"},
			"a Helm template is not YAML"},
		{"template of a part", job + "spec:\n  trainer:\n    image: {{ .a }}:{{ .b }}\n",
			[]string{"5:12 error TW100"}, "its braces are meant"},
		{"template of a line", job + "spec:\n{{- if .a }}\n  suspend: true\n{{- end }}\n",
			[]string{"4:1 error TW100"}, "its braces are meant"},
		{"comment in a key", "apiVersion #: v1\nkind: TrainJob\n", []string{"2:1 error TW100"},
			"one library reads a bare value, the other nothing"},
		{"template of a document", "{{ if .a }}\n" + job + "{{ end }}\n",
			[]string{"1:1 error TW100"}, "its braces are meant"},
		{"template behind a comment",
			"# {{ x }}\n" + job + "metadata: {name: \"{{ y }}\"}\nspec: {{ z }}\n",
			[]string{"5:7 error TW100"}, "braces in comments and quotes are text"},
		{"no template", job + "metadata: {name: \"{{ y }}\"}\nspec: {a: b: c}\n",
			[]string{"4:1 error TW100"}, "quoted braces are not to blame"},
		{"tab", job + "spec:\n\tsuspend: true\n", []string{"4:1 error TW100"}, "the tab"},
		{"tab behind blanks", job + "spec:\n  \tsuspend: true\n", []string{"4:3 error TW100"},
			"the tab"},
		{"no token", job + "spec:\n  trainer: {image: @a}\n", []string{"4:20 error TW100"},
			"the character that begins nothing"},
		{"colon", job + "metadata:\n  name: a: b\n", []string{"4:10 error TW100"},
			"the second colon"},
		{"indentation", job + "metadata:\n    name: a\n  namespace: b\n",
			[]string{"5:3 error TW100"}, "the misplaced line"},
		{"open bracket", job + "spec: {suspend: true\n---\n" + job, []string{"3:1 error TW100"},
			"the end of the document, not of the file"},
		{"brace too many", job + "spec: {trainer: {image: a}}}\n", []string{"3:28 error TW100"},
			"the last one"},
		{"open quote", job + "spec:\n  trainer:\n    image: \"a\n", []string{"5:12 error TW100"},
			"where the quote begins"},
		{"escape", job + "spec:\n  trainer:\n    image: \"a\\tb\\qc\"\n",
			[]string{"5:17 error TW100"}, "the escape that YAML does not have"},
		{"unknown alias", job + "spec: *a\n", []string{"3:7 error TW100"}, "an anchor is missing"},
		{"unknown alias in a flow", job + "spec: {trainer: {command: [ab, *ab, c]}}\n",
			[]string{"3:32 error TW100"}, "an anchor is missing"},
		{"alias to itself", job + "metadata: {name: a}\nspec: &a {trainer: *a}\n",
			[]string{"4:20 error TW100"}, "where it comes round"},
		{"NUL", job + "spec:\n  suspend: é\x00\n", []string{"4:13 error TW100"},
			"columns count characters"},
		{"invalid UTF-8", job + "spec:\n  suspend: é\xff\n", []string{"4:13 error TW100"},
			"columns count characters"},
		{"control character", job + "spec:\n  suspend: é\x01\n", []string{"4:13 error TW100"},
			"columns count characters"},
		{"template of a number", job + "spec:\n  trainer:\n    numNodes: \"{{ .n }}\"\n",
			[]string{"5:15 error TW103 .spec.trainer.numNodes"}, "quoted braces are a string"},
		{"second document", job + "---\n" + job + "spec: *a\n", []string{"6:7 error TW100"},
			"lines of the file"},
		{"duplicate in JSON",
			`{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","spec":{"suspend":true,"suspend":false}}`,
			[]string{"1:88 error TW102 .spec.suspend"}, "the second is reported"},
		{"case", job + "spec:\n  Suspend: true\n", []string{"4:3 error TW101 .spec.Suspend"},
			"Kubernetes tells case apart"},
		{"booleans by word", job + "spec:\n  suspend: yes\n", nil,
			"YAML 1.1 reads a boolean, and one is wanted"},
		{"words as strings", job + "spec:\n  trainer:\n    command: [y, \"y\", yes please]\n",
			[]string{"5:15 error TW105 .spec.trainer.command[0]"}, "only the bare word is one"},
		{"words as keys", job + "metadata:\n  labels: {y: a, \"n\": b, on: c}\n",
			[]string{"4:12 warning TW105 .metadata.labels[\"true\"]",
				"4:26 error TW102 .metadata.labels[\"true\"]"}, "two words are one key"},
		{"numbers as keys",
			"apiVersion: v1\nkind: ConfigMap\ndata:\n  1: a\n  1.10: b\n  \"1\": c\n",
			[]string{"5:3 warning TW105 .data[\"1.1\"]", "6:3 error TW102 .data[\"1\"]"},
			"the conversion keeps one of two values at random"},
		{"null as a key", job + "metadata:\n  labels:\n    ~: a\n",
			[]string{"5:5 error TW103 .metadata.labels"}, "JSON has no such key"},
		{"list as a key", job + "metadata:\n  labels:\n    ? [a]\n    : a\n",
			[]string{"5:7 error TW103 .metadata.labels"}, "JSON has no such key"},
		{"infinity", job + "spec:\n  activeDeadlineSeconds: .inf\n",
			[]string{"4:26 error TW103 .spec.activeDeadlineSeconds"}, "JSON has no such number"},
		{"merge key",
			job + "metadata: &m {name: a, labels: {a: b}}\nspec:\n  runtimePatches:\n  - " +
				"manager: a.io/b\n    trainingRuntimeSpec:\n      template:\n        metadata:\n " +
				"         <<: *m\n          name: c\n", nil,
			"a key may replace a key from an earlier merge key, though the conversion calls it a " +
				"duplicate"},
		{"merge key behind",
			job + "metadata: &m {name: a}\nspec:\n  runtimePatches:\n  - trainingRuntimeSpec:\n  " +
				"    template:\n        metadata:\n          name: c\n          <<: *m\n",
			[]string{"10:11 error TW102 " +
				".spec.runtimePatches[0].trainingRuntimeSpec.template.metadata.name"},
			"YAML keeps the key, Kubernetes the merged value"},
		{"merge key twice", job + "metadata: {labels: &a {x: a}, annotations: {<<: *a, <<: *a}}\n",
			[]string{"3:53 error TW102 .metadata.annotations[\"<<\"]"}, "one key twice"},
		{"merge of a word", job + "metadata: {labels: {<<: a}}\n",
			[]string{"3:21 error TW103 .metadata.labels"}, "there is nothing to merge"},
		{"merged and broken",
			job + "metadata: &m {name: 1}\nspec:\n  runtimePatches:\n  - trainingRuntimeSpec:\n  " +
				"    template:\n        metadata: {<<: *m}\n",
			[]string{"3:21 error TW103 .metadata.name",
				"3:21 error TW103 " +
					".spec.runtimePatches[0].trainingRuntimeSpec.template.metadata.name"},
			"where it is written, for each place it is used"},
		{"aliases", job + "metadata: {labels: &l {a: b}, annotations: *l}\n", nil,
			"the value stands in both places"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			documents, findings := manifest.Decode("in", []byte(tc.in))
			if diff := cmp.Diff(tc.want, brief(findings)); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%v", tc.reason, diff, findings)
			}
			for _, f := range findings {
				if f.Severity == finding.Error && f.Remedy.Text == "" {
					t.Errorf("%v: no help", f)
				}
			}
			for _, d := range documents {
				if d.Broken && (d.Object != nil || findings.Err() == nil) ||
					!d.Broken && d.Object == nil && d.APIVersion != "v1" {
					t.Errorf("%s: Broken is %t, Object %T", d.ID, d.Broken, d.Object)
				}
			}
		})
	}
}

func TestEmptyListsSurvive(t *testing.T) {
	for _, in := range []string{
		job + "spec: {trainer: {command: [], args: null}}\n",
		`{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","spec":{"trainer":{"command":[]}}}`,
		job + "spec: {trainer: {command: []}}\nmetadata: {labels: {y: a}}\n", // by way of the nodes
	} {
		documents, _ := manifest.Decode("in", []byte(in))
		tr := documents[0].Object.(*trainer.TrainJob).Spec.Trainer
		if tr.Command == nil || len(tr.Command) != 0 || tr.Args != nil {
			t.Errorf("%s: got command %#v, args %#v; an empty command clears the runtime's, none "+
				"keeps it", in, tr.Command, tr.Args)
		}
	}
}

// TestProblems_NothingQuoted holds that a message repeats no value of a file that may hold a
// password.
func TestProblems_NothingQuoted(t *testing.T) {
	for _, in := range []string{
		"password: *hunter2\n",
		"password: !!float hunter2\n",
		"password: \"hunter2\n",
		"? {hunter2: hunter2}\n: hunter2\n",
		"apiVersion: v1\nkind: Secret\n? {hunter2: hunter2}\n: hunter2\n",
		"apiVersion: v1\nkind: Secret\nstringData: {password: !!int hunter2}\n",
		"{\"password\": hunter2\n",
		"{\"password\": \"hunter2\"} hunter2\n",
		"hunter2\n",
		"- hunter2\n- token: hunter2\n",
		"token: |\n hunter2\n  hunter2\nhunter2\n",
		job + "spec: {trainer: {env: {TOKEN: hunter2}}}\n",
		job + "spec: {trainer: {env: [TOKEN=hunter2, !!int hunter2, *hunter2]}}\n",
		job + "spec: {trainer: {env: [{name: A, value: {a: hunter2}}, {name: B, value: !!float " +
			"hunter2}]}}\n",
	} {
		_, findings := manifest.Decode("in", []byte(in))
		_, patches := manifest.DecodePatches("in", []byte(in))
		all := append(findings, patches...)
		if len(all) == 0 && !strings.Contains(in, "Secret") {
			t.Errorf("Decode(%q) finds nothing", in)
		}
		for _, f := range all {
			if strings.Contains(f.Error(), "hunter2") {
				t.Errorf("Decode(%q) = %v, which repeats a value", in, f)
			}
		}
	}
}
