package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/internal/testenv"
)

// TestReports_Schemas holds each report of -o json against its schema in docs, and that each schema
// has a report.
func TestReports_Schemas(t *testing.T) {
	const folder, quickstart = "../../../docs/json", "../../../testdata/quickstart"
	managed := filepath.Join(t.TempDir(), "managed.yaml")
	testenv.WriteIn(t, filepath.Dir(managed), "managed.yaml", `apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  managedFields:
  - {manager: kubectl, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:a": {}}}}
data: {a: b}
`)
	flavors := filepath.Join(filepath.Dir(managed), "flavors.yaml")
	testenv.WriteIn(t, filepath.Dir(managed), "flavors.yaml", `apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: spot}
spec: {nodeTaints: [{key: spot, effect: NoSchedule}]}
`)
	observed := observedChange(t)
	commands := outputCommands(t)
	explain := commands["explain"]
	seen := map[string]bool{}
	for schema, lines := range map[string][][]string{
		"findings": slices.Concat(reports("check", commands["check"]),
			reports("conflicts", commands["conflicts"])),
		"diff":    append(reports("diff", commands["diff"]), observed),
		"blame":   reports("blame", commands["blame"]),
		"owners":  {{"blame", "-f", managed}, {"blame", "-f", managed, "data.a"}},
		"version": {{"version"}},
		"flavors": {
			append([]string{"check", "--flavors", flavors}, commands["render"][0]...)},
		"podsets": {
			append([]string{"render", "--to=podsets"}, commands["render"][0]...)},
		"explain-code":        reports("explain", explain[:1]),
		"explain-definitions": reports("explain", explain[1:2]),
		"explain-field":       reports("explain", explain[2:]),
	} {
		file := schema + ".schema.json"
		seen[file] = true
		for _, line := range lines {
			t.Run(strings.Join(line, " "), func(t *testing.T) {
				status, stdout, stderr := ran("", append(line, "-o", "json")...)
				if status == exit.Failed {
					t.Fatalf("status %d: %s", status, stderr)
				}
				validate(t, filepath.Join(folder, file), []byte(stdout))
			})
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".json") && !seen[f.Name()] {
			t.Errorf("no report is held against %s", f.Name())
		}
	}
}

// observedChange returns a comparison of a cluster's objects with files that change the runtime and
// the TrainJob: the job keeps a part, and its objects change.
func observedChange(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	const text = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: plain, namespace: a}
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: "example.com/image:NUMBER"}]}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: a, uid: u1}
spec:
  suspend: true
  runtimeRef: {name: plain, kind: TrainingRuntime}
  runtimePatches:
  - manager: example.com/pool
    trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {nodeSelector: {pool: "NUMBER"}}}}}}]}}}
`
	const jobSet = `---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: llm, namespace: a, uid: u2}
spec:
  suspend: true
  replicatedJobs:
  - name: node
    template: {spec: {template: {spec: {containers: [{name: node, image: "example.com/image:1"}]}}}}
`
	testenv.WriteIn(t, dir, "old.yaml", strings.ReplaceAll(text, "NUMBER", "1")+jobSet)
	testenv.WriteIn(t, dir, "new.yaml", strings.ReplaceAll(text, "NUMBER", "2"))
	return []string{"diff", "--old", filepath.Join(dir, "old.yaml"), filepath.Join(dir, "new.yaml")}
}

// reports returns the lines of a command with its name.
func reports(command string, lines [][]string) [][]string {
	var all [][]string
	for _, line := range lines {
		all = append(all, append([]string{command}, line...))
	}
	return all
}

// validate holds a report against a JSON Schema of a file.
func validate(t *testing.T, file string, report []byte) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(report))
	if err != nil {
		t.Fatalf("%v in %.300s", err, report)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%v in %.300s", err, report)
	}
}
