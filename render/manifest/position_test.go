package manifest_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest"
)

func path(t *testing.T, text string) fieldpath.Path {
	t.Helper()
	p, err := fieldpath.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPositions(t *testing.T) {
	block := `# A comment.
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: llm # behind
  labels:
    "app": x
    'é日😀': z
  finalizers:
  - a.io/x
  - "a.io/y"
spec:
  runtimePatches:
  - manager: a.io/b
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
            - name: node
              template: {spec: {template: {spec: {containers: [{name: é, env: [{name: A, value: "1"}]}, {name: b}]}}}}
  - trainingRuntimeSpec: {}
    manager: "c.io/d"
  trainer:
    command:
    - python

    - |
      text
      more
    - train.py
    numNodes: 2
`
	containers := `.spec.runtimePatches[manager="a.io/b"].trainingRuntimeSpec.template.spec.replicatedJobs[name="node"].template.spec.template.spec.containers`
	places := []struct{ path, want, reason string }{
		{``, "2:1", "the object begins at its first key"},
		{`.kind`, "3:1", "a field stands where its key does"},
		{`.metadata.name`, "5:3", "also in front of a comment"},
		{`.metadata.labels["app"]`, "7:5", "a quoted key begins with the quote"},
		{`.metadata.labels["é日😀"]`, "8:5", "a key that is not ASCII"},
		{`.metadata.finalizers[="a.io/x"]`, "10:5", "an element is its text"},
		{`.metadata.finalizers[="a.io/y"]`, "11:5", "whatever the quotes"},
		{`.spec.runtimePatches[manager="a.io/b"]`, "14:5", "an item begins behind its dash"},
		{`.spec.runtimePatches[manager="c.io/d"]`, "21:5", "the merge key need not come first"},
		{`.spec.runtimePatches[manager="c.io/d"].manager`, "22:5", "a field of an item"},
		{containers, "20:51", "flow style"},
		{containers + `[name="é"]`, "20:64", "an item in flow style"},
		{containers + `[name="é"].env[name="A"].value`, "20:90",
			"columns count characters, not bytes"},
		{containers + `[name="b"]`, "20:105", "behind them, too"},
		{`.spec.trainer.command[0]`, "25:7", "a position in a list"},
		{`.spec.trainer.command[1]`, "27:7", "a block scalar begins at its indicator"},
		{`.spec.trainer.command[2]`, "30:7", "and ends before the next item"},
		{`.spec.trainer.numNodes`, "31:5", "behind a block scalar"},
		{`.spec.suspend`, "12:1", "an absent field is at its parent"},
		{`.spec.trainer.env[name="A"].value`, "23:3", "at the nearest that exists"},
		{`.spec.runtimePatches[manager="x"].time`, "13:3", "an absent item is at its list"},
		{`.spec.runtimePatches[7]`, "13:3", "so is one past the end"},
		{`.metadata.name.first`, "5:3", "a scalar has no fields"},
		{`.metadata.labels[0]`, "6:3", "nor a map positions"},
	}
	for _, form := range []struct {
		name, text   string
		line, column int // added to the places: lines to all, columns to the first line
	}{
		{"LF", block, 0, 0},
		{"CRLF", strings.ReplaceAll(block, "\n", "\r\n"), 0, 0},
		{"BOM", "\uFEFF" + block, 0, 0},
		{"second document", "a: b\nkind: Pod\napiVersion: v1\n---\n" + block, 4, 0},
		{"separators", "# a\n--- # b\n" + block, 2, 0},
	} {
		t.Run(form.name, func(t *testing.T) {
			documents, findings := manifest.Decode("in", []byte(form.text))
			if len(findings) > 0 {
				t.Fatal(findings)
			}
			d := documents[len(documents)-1]
			for _, tc := range places {
				var want fieldpath.Position
				if _, err := fmt.Sscanf(tc.want, "%d:%d", &want.Line, &want.Column); err != nil {
					t.Fatal(err)
				}
				want.File, want.Line = "in", want.Line+form.line
				if got := d.Position(path(t, tc.path)); got != want {
					t.Errorf("%s is at %s, want %s: %s", tc.path, got, want, tc.reason)
				}
			}
		})
	}
}

func TestPositionsInJSON(t *testing.T) {
	in := `{"kind": "Pod", "apiVersion": "v1"}
	{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
	 "metadata": {"name": "é😀\u00e9\ud83d\ude00", "labels": {"a\/b": "x"}},
	 "spec": {"trainer": {"env": [{"name": "A", "value": "1"},
	   {"value": "2", "name": "B"}]}}}`
	documents, findings := manifest.Decode("in.json", []byte(in))
	if len(findings) > 0 || len(documents) != 2 {
		t.Fatal(findings)
	}
	d := documents[1]
	for _, tc := range []struct{ path, want, reason string }{
		{``, "2:2", "the second value; a tab is one character"},
		{`.kind`, "2:50", "a key begins with its quote"},
		{`.metadata.name`, "3:16", "a field"},
		{`.metadata.labels`, "3:48", "behind characters and escapes"},
		{`.metadata.labels["a/b"]`, "3:59", "a key with an escape"},
		{`.spec.trainer.env[name="B"]`, "5:5", "an item"},
		{`.spec.trainer.env[name="B"].value`, "5:6", "a field of it"},
		{`.spec.suspend`, "4:3", "an absent field"},
	} {
		if got := strings.TrimPrefix(d.Position(path(t, tc.path)).String(),
			"in.json:"); got != tc.want {
			t.Errorf("%s is at %s, want %s: %s", tc.path, got, tc.want, tc.reason)
		}
	}
}

func TestPositionsOfAliases(t *testing.T) {
	documents, findings := manifest.Decode("in", []byte(`apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: a
  labels: &labels
    app: x
  annotations: *labels
spec:
  trainer:
    env:
    - &first {name: A, value: "1"}
    - <<: *first
      name: B
    - *first
`))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	for _, tc := range []struct{ path, want, reason string }{
		{`.metadata.annotations`, "7:3", "the key of the alias"},
		{`.metadata.annotations["app"]`, "6:5", "within, where it is written"},
		{`.spec.trainer.env[name="A"].value`, "11:24", "the first of the two"},
		{`.spec.trainer.env[2]`, "14:7", "the alias is the item"},
		{`.spec.trainer.env[name="B"].name`, "13:7", "the key that overrides"},
		{`.spec.trainer.env[name="B"].value`, "11:24", "a value from the merge key"},
	} {
		if got := strings.TrimPrefix(documents[0].Position(path(t, tc.path)).String(),
			"in:"); got != tc.want {
			t.Errorf("%s is at %s, want %s: %s", tc.path, got, tc.want, tc.reason)
		}
	}
}

func TestPositionsInList(t *testing.T) {
	documents, findings := manifest.Decode("in", []byte(`kind: List
apiVersion: v1
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: b
`))
	if len(findings) > 0 || len(documents) != 2 {
		t.Fatal(findings)
	}
	for _, tc := range []struct {
		document   int
		path, want string
		reason     string
	}{
		{0, ``, "4:3", "the item, not the List"},
		{0, `.metadata.name`, "6:14", "a field of the first"},
		{1, `.metadata.name`, "10:5", "the same field of the second"},
		{1, `.data`, "7:3", "an absent field is at the item"},
	} {
		if got := strings.TrimPrefix(documents[tc.document].Position(path(t, tc.path)).String(),
			"in:"); got != tc.want {
			t.Errorf("%s of document %d is at %s, want %s: %s", tc.path, tc.document, got, tc.want,
				tc.reason)
		}
	}
}

func TestLines(t *testing.T) {
	lines := manifest.Lines([]byte("\uFEFFkind: Pod\r\napiVersion: v1\n\nlast: é"))
	var got []string
	for line := range 7 {
		got = append(got, lines(line))
	}
	if want := []string{"", "kind: Pod", "apiVersion: v1", "", "last: é", "",
		""}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPositionsFromManyGoroutines(t *testing.T) {
	documents, _ := manifest.Decode(
		"in", []byte("kind: Pod\napiVersion: v1\nmetadata: {name: a}\n"))
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if got := documents[0].Position(
				fieldpath.Fields("metadata", "name")).String(); got != "in:3:12" {
				t.Errorf("got %s", got)
			}
		})
	}
	wait.Wait()
}
