package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/cmd/internal/command/check"
	"github.com/trainweld/trainweld/cmd/internal/command/diff"
	"github.com/trainweld/trainweld/cmd/internal/command/explain"
	"github.com/trainweld/trainweld/cmd/internal/command/version"
	"github.com/trainweld/trainweld/cmd/internal/exit"
	"github.com/trainweld/trainweld/cmd/internal/host"
	"github.com/trainweld/trainweld/cmd/internal/report"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/jsonschema"
)

// TestSchemas compares the JSON Schemas in docs with the types of the commands' reports.
func TestSchemas(t *testing.T) {
	for file, of := range map[string]struct {
		command string
		report  reflect.Type
	}{
		"version":             {"The report of trainweld version", reflect.TypeFor[version.Report]()},
		"flavors":             {"The report of trainweld check --flavors", reflect.TypeFor[check.FlavorReport]()},
		"observed":            {"The report of trainweld diff --observed", reflect.TypeFor[diff.ObservedReport]()},
		"explain-field":       {"A report of trainweld explain", reflect.TypeFor[explain.FieldReport]()},
		"explain-code":        {"A report of trainweld explain", reflect.TypeFor[explain.CodeReport]()},
		"explain-definitions": {"A report of trainweld explain", reflect.TypeFor[explain.DefinitionsReport]()},
	} {
		jsonschema.Golden(t, "../../../docs/json/"+file+".schema.json", jsonschema.Report(of.command+" -o json", of.report, report.SchemaVersion, nil), *update)
	}
}

// TestReports_Schemas holds each report of -o json against its schema in docs, and that each schema has a report.
func TestReports_Schemas(t *testing.T) {
	const folder, quickstart = "../../../docs/json", "../../../internal/testdata/quickstart"
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
	commands := outputCommands(t)
	explain := commands["explain"]
	seen := map[string]bool{}
	for schema, lines := range map[string][][]string{
		"findings": slices.Concat(reports("check", commands["check"]), reports("conflicts", commands["conflicts"])), "diff": reports("diff", commands["diff"]),
		"blame": reports("blame", commands["blame"]), "owners": {{"blame", "-f", managed}, {"blame", "-f", managed, "data.a"}}, "version": {{"version"}},
		"flavors":      {append([]string{"check", "--flavors", flavors}, commands["render"][0]...)},
		"observed":     {{"diff", filepath.Join(quickstart, "job.yaml"), "-r", filepath.Join(quickstart, "runtime.yaml"), "--observed", filepath.Join(quickstart, "../live/dump.yaml")}},
		"podsets":      {append([]string{"render", "--to=podsets"}, commands["render"][0]...)},
		"explain-code": reports("explain", explain[:1]), "explain-definitions": reports("explain", explain[1:2]), "explain-field": reports("explain", explain[2:]),
	} {
		file := schema + ".schema.json"
		seen[file] = true
		for _, line := range lines {
			t.Run(strings.Join(line, " "), func(t *testing.T) {
				var stdout bytes.Buffer
				p := host.Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: io.Discard, Files: host.Files{}}
				if status := runLine(&p, append(line, "-o", "json")); status == exit.Failed {
					t.Fatalf("status %d", status)
				}
				jsonschema.Check(t, filepath.Join(folder, file), stdout.Bytes())
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

// reports returns the lines of a command with its name.
func reports(command string, lines [][]string) [][]string {
	var all [][]string
	for _, line := range lines {
		all = append(all, append([]string{command}, line...))
	}
	return all
}
