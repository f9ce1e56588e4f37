package manifest_test

import (
	"strings"
	"testing"

	"github.com/trainweld/trainweld/manifest"
)

// TestQuotes marks each line of a file with what may be repeated of it: nothing, all, or its beginning.
func TestQuotes(t *testing.T) {
	const object = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"
	for _, tc := range []struct{ name, in, want, reason string }{
		{"object", object + "spec:\n  suspend: true # x\n", object + "spec:\n  suspend: true # x\n", "all of it"},
		{"no object", "user: me\npassword: S\n", "-\n-\n", "it may be anything"},
		{"half an object", "kind: TrainJob\npassword: S\n", "-\n-\n", "it may be anything"},
		{"a bare value", "-----BEGIN KEY-----\nS\n", "-\n-\n", "a key"},
		{"two documents", "password: S\n---\n" + object + "---\nS\n", "-\n-\n" + object + "-\n-\n", "each counts for itself"},
		{"a patch", "manager: a.io/b\ntrainingRuntimeSpec: {}\n", "manager: a.io/b\ntrainingRuntimeSpec: {}\n", "has no kind"},
		{"patches", "- manager: a.io/b\n  trainingRuntimeSpec: {}\n", "- manager: a.io/b\n  trainingRuntimeSpec: {}\n", "a list of them"},
		{"no patches", "- manager: a.io/b\n  password: S\n- S\n", "-\n-\n-\n", "a list of something"},
		{"env", object + "spec:\n  env:\n  - name: A\n    value: S\n  image: x\n", object + "spec:\n  env:\n-\n-\n  image: x\n", "a list"},
		{"env as a map", object + "env:\n  A: S\nimage: x\n", object + "env:\n-\nimage: x\n", "whatever its form"},
		{"env in flow style", object + "spec: {env: [{name: A, value: S}], image: x}\n", object + "spec: {env: ***\n", "on one line"},
		{"env in flow style over lines", object + "spec: {env: [{name: A,\n  value: S}], image: x,\n  name: y}\n", object + "spec: {env: ***\n-\n  name: y}\n", "on several"},
		{"misspelled", object + "Env:\n- Value: S\nevn:\n- valeu: S\nenvs: S\n", object + "Env:\n-\nevn:\n-\nenvs: ***\n", "a typo is what reports are about"},
		{"annotation without a blank", object + "metadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration:S\n  name: y\n", object + "metadata:\n  annotations:\n-\n  name: y\n", "text, not a key"},
		{"envFrom", object + "envFrom:\n- secretRef: {name: S}\n", object + "envFrom:\n-\n", "beside env"},
		{"value", object + "header:\n- name: a\n  value: S\n- \"value\": S\n- {name: a, value: S}\n", object + "header:\n- name: a\n  value: ***\n- \"value\": ***\n- {name: a, value: ***\n", "rather once too often"},
		{"values", object + "values: [a]\nevalue: x\nthe value: x\n", object + "values: [a]\nevalue: x\nthe value: x\n", "other keys"},
		{"block scalar", object + "value: |\n  S\n   a: b\n  S\nkind2: x\n", object + "value: ***\n-\n-\n-\nkind2: x\n", "to its end"},
		{"quoted over lines", object + "value: \"S\n  S\"\nx: y\n", object + "value: ***\n-\nx: y\n", "to its end"},
		{"nothing", object + "value:\nx: y\n", object + "value:\nx: y\n", "null is no secret"},
		{"key of its own line", object + "? value\n: S\n", object + "? value\n-\n", "a long form"},
		{"alias", object + "a: &S hunter2\nvalue: *S\n", object + "-\nvalue: ***\n", "the value stands elsewhere"},
		{"alias in env", object + "a: &S\n  b: S\n  c:\n  - S\nenv: [*S]\nd: x\n", object + "-\n-\n-\n-\nenv: ***\nd: x\n", "all of it"},
		{"merge key", object + "a: &S\n  b: S\nenv:\n- <<: *S\n  name: x\n", object + "-\n-\nenv:\n-\n-\n", "it is an alias"},
		{"Secret", "apiVersion: v1\nkind: Secret\nstringData: {a: S}\ndata:\n  b: S\ntype: x\n", "apiVersion: v1\nkind: Secret\nstringData: ***\ndata:\n-\ntype: x\n", "its keys are not known"},
		{"last applied", object + "metadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n      S\n    a: b\n",
			object + "metadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: ***\n-\n    a: b\n", "has the whole object"},
		{"a value whose key is lost", object + "metadata:\n  labels: {a: b}\n        S\n", object + "metadata:\n  labels: {a: b}\n-\n", "and that cannot be parsed"},
		{"JSON", `{"apiVersion":"a/v1","kind":"K","env":[{"name":"A","value":"S"}]}`, `{"apiVersion":"a/v1","kind":"K","env": ***`, "on one line"},
		{"JSON over lines", "{\"apiVersion\":\"a/v1\",\n\"kind\":\"K\",\n\"env\":[\n{\"value\":\n\"S\"}],\n\"x\":1}\n", "{\"apiVersion\":\"a/v1\",\n\"kind\":\"K\",\n\"env\": ***\n-\n-\n\"x\":1}\n", "without indentation"},
		{"List", "apiVersion: v1\nkind: List\nitems:\n- S\n- kind: x\n", "apiVersion: v1\nkind: List\nitems:\n-\n- kind: x\n", "an item that is no object"},
		{"broken", object + "spec:\n  env:\n  - name: A\n    value: \"S\n  image: x\n  a: b: c\n", object + "spec:\n  env:\n-\n-\n  image: x\n  a: b: c\n", "no parser tells"},
		{"broken at the key", object + "spec: {a: b, env: [S\n", object + "spec: {a: b, env: ***\n", "no parser tells"},
		{"broken, with a tab", object + "env:\n\t- S\n- S\nS\nimage: x\n", object + "env:\n-\n-\n-\nimage: x\n", "no indentation that counts"},
		{"broken and no object", "user: me\npassword: \"S\n", "-\n-\n", "it may be anything"},
		{"broken and a Secret", "apiVersion: v1\nkind: Secret\npassword: \"S\n", "-\n-\n-\n", "it is full of them"},
		{"broken JSON", "{\"apiVersion\": \"a/v1\",\n\"kind\": \"TrainJob\",\n\"password\": S\n", "-\n-\n-\n", "nothing can be told"},
		{"NUL", object + "a: \x00\n", "-\n-\n-\n", "no text"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			quote := manifest.Quotes([]byte(tc.in))
			var got, all strings.Builder
			for n := range strings.Count(strings.TrimSuffix(tc.in, "\n"), "\n") + 1 {
				text, ok := quote(n+1, false)
				if !ok {
					text = "-"
				}
				got.WriteString(text + "\n")
				if text, ok := quote(n+1, true); ok {
					all.WriteString(text + "\n")
				}
			}
			if want := strings.TrimSuffix(tc.want, "\n") + "\n"; got.String() != want {
				t.Errorf("got\n%swant\n%s%s", got.String(), want, tc.reason)
			}
			if strings.Contains(tc.want, "***") && all.String() != strings.TrimSuffix(tc.in, "\n")+"\n" {
				t.Errorf("with values, got\n%s", all.String())
			}
		})
	}
}
