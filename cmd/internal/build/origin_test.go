package build

import (
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest"
)

// TestSource_JSONPatch holds that an operation of a JSON patch is the source of a field within its
// value.
func TestSource_JSONPatch(t *testing.T) {
	documents, _ := manifest.Decode("made.yaml", []byte(`apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: a, labels: {a/b: c}}
spec:
  trainer: {numNodes: 2, command: [run, fast]}
  runtimePatches:
  - manager: a.example.com/a
    trainingRuntimeSpec: {metadata: {labels: {pool: spot}}}
  - manager: b.example.com/b
    trainingRuntimeSpec: {metadata: {labels: {pool: spot, tier: gold}}}
`))
	patch := func(manager string) fieldpath.Path {
		return fieldpath.Fields("spec", "runtimePatches").Append(fieldpath.Item("manager", manager))
	}
	label := func(manager, key string) fieldpath.Path {
		return patch(manager).Append(
			fieldpath.Fields("trainingRuntimeSpec", "metadata", "labels")...).Append(
			fieldpath.Key(key))
	}
	const appended = "- op: add\n  path: /spec/runtimePatches/-\n  value:\n    manager: " +
		"b.example.com/b\n    trainingRuntimeSpec:\n      metadata:\n        labels:\n          " +
		"pool: spot\n"
	for name, test := range map[string]struct {
		patch string
		path  fieldpath.Path
		want  string // empty if the patch sets no such field
	}{
		"within an appended item": {appended, label("b.example.com/b", "pool"), "p.yaml:8:11"},
		"the appended item":       {appended, patch("b.example.com/b"), "p.yaml:2:9"},
		"another item":            {appended, label("a.example.com/a", "pool"), ""},
		"a field it lacks":        {appended, label("b.example.com/b", "tier"), ""},
		"a whole list": {
			"- op: add\n  path: /spec/runtimePatches\n  value:\n  - manager: a.example.com/a\n  " +
				"- manager: b.example.com/b\n    trainingRuntimeSpec: {metadata: {labels: {pool: " +
				"spot}}}\n", label("b.example.com/b", "pool"), "p.yaml:6:47"},
		"within an item by index": {
			"- {op: add, path: /spec/runtimePatches/0/trainingRuntimeSpec/metadata/labels/pool, " +
				"value: spot}\n", label("b.example.com/b", "pool"), "p.yaml:1:19"},
		"a value that is replaced": {
			"- {op: add, path: /spec/runtimePatches/0/trainingRuntimeSpec/metadata/labels/pool, " +
				"value: a100}\n", label("b.example.com/b", "pool"), ""},
		"the last of two": {
			"- {op: add, path: /spec/trainer/numNodes, value: 2}\n- {op: replace, path: " +
				"/spec/trainer/numNodes, value: 2}\n",
			fieldpath.Fields("spec", "trainer", "numNodes"), "p.yaml:2:23"},
		"a map that holds it": {
			"- op: add\n  path: /spec/trainer\n  value:\n    numNodes: 2\n",
			fieldpath.Fields("spec", "trainer", "numNodes"), "p.yaml:4:5"},
		"a word by its index": {
			"- op: add\n  path: /spec/trainer/command\n  value:\n  - run\n  - fast\n",
			fieldpath.Fields("spec", "trainer", "command").Append(fieldpath.Index(1)),
			"p.yaml:5:5"},
		"an escaped key": {"- {op: add, path: /metadata/labels/a~1b, value: c}\n",
			fieldpath.Fields("metadata", "labels").Append(fieldpath.Key("a/b")), "p.yaml:1:19"},
		"a copy": {"- {op: copy, from: /spec/a, path: /spec/trainer/numNodes}\n",
			fieldpath.Fields("spec", "trainer", "numNodes"), "p.yaml:1:35"},
		"a test": {"- {op: test, path: /spec/trainer/numNodes, value: 2}\n",
			fieldpath.Fields("spec", "trainer", "numNodes"), ""},
		"a removed item": {"- {op: remove, path: /spec/runtimePatches/1}\n",
			patch("b.example.com/b"), ""},
		"a field within": {"- {op: add, path: /spec/trainer/numNodes, value: 2}\n",
			fieldpath.Fields("spec", "trainer"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			made := madeField{kind: documents[0].ID.Kind, path: test.path}
			made.text, made.isScalar = documents[0].Text(test.path)
			if at, ok := newSource("p.yaml", []byte(test.patch)).sets(made); ok {
				got = at.String()
			}
			if got != test.want {
				t.Errorf("sets(%s) = %q, want %q", test.path, got, test.want)
			}
		})
	}
}
