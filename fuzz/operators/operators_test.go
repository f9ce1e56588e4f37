// Package operators_test runs other programs' tests of their merges through the engine. The cases are data: see testdata.
package operators_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/schema"
)

var update = flag.Bool("update", false, "rewrite the table of docs/library.md")

// program is one file of testdata/programs.
type program struct {
	Program, Repository, Revision, License string
	Tables                                 []table
}

// table holds the cases of one test of a program. Wants are the policies of the program's merge.
type table struct {
	File, Test, Type string
	// Values states that a patch of the program is a Go value. Its JSON also holds empty fields without omitempty.
	Values bool
	Wants  map[string]string
	Cases  []testCase
}

// testCase is one row of a program's test. The program returns Result, reports Conflicts or Fails.
type testCase struct {
	Name         string
	Base, Result json.RawMessage
	Patches      []json.RawMessage
	Conflicts    []string
	Fails        bool
	// Differs names the reason for another result of the engine, an entry of testdata/reasons.yaml.
	Differs string
}

// reason is an entry of a closed list. The engine lacks a policy, the program has a bug, or the difference is intended.
type reason struct{ Kind, Says, Thread string }

// types are the types of the merged values. JSON has no type.
var types = map[string]reflect.Type{
	"JSON": nil, "Container": reflect.TypeFor[corev1.Container](), "Deployment": reflect.TypeFor[appsv1.Deployment](), "PodSpec": reflect.TypeFor[corev1.PodSpec](),
	"PodTemplateSpec": reflect.TypeFor[corev1.PodTemplateSpec](), "ServiceSpec": reflect.TypeFor[corev1.ServiceSpec](),
}

// policies are the policies that a program may want, with their values. Those of protected are fields.
var policies = map[string][]string{
	"unions": {"last", "error"}, "empty": {"skip"}, "order": {"base"}, "defaults": {"pod"}, "protected": {}, "precedence": {"first", "base", "error"},
}

func TestOperators(t *testing.T) {
	var reasons map[string]reason
	read(t, "testdata/reasons.yaml", &reasons)
	files, _ := filepath.Glob("testdata/programs/*.yaml")
	size, all, rows := 0, map[string]int{}, ""
	for _, file := range files {
		var p program
		size += read(t, file, &p)
		if p.License != "Apache-2.0" || p.Program+".yaml" != filepath.Base(file) || len(p.Revision) != 40 {
			t.Errorf("%s: invalid program %q, revision %q or license %q", file, p.Program, p.Revision, p.License)
		}
		counts := map[string]int{"": 0}
		for _, tb := range p.Tables {
			for _, c := range tb.Cases {
				counts[c.Differs]++
				t.Run(strings.Join([]string{p.Program, tb.Test, c.Name}, "/"), func(t *testing.T) { check(t, tb, c, reasons) })
			}
		}
		line, _ := row(fmt.Sprintf("[%s](%s/tree/%s)", p.Program, p.Repository, p.Revision), counts)
		rows += line
		for name, n := range counts {
			all[name] += n
		}
	}
	last, cases := row("all", all)
	if cases < 140 || len(files) < 7 || size > 400<<10 {
		t.Errorf("%d programs with %d cases in %d bytes: a file is missing or too large", len(files), cases, size)
	}
	table := "| program | cases | equal | different |\n|---|---|---|---|\n" + rows + last + "\n"
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		r := reasons[name]
		if all[name] == 0 || r.Says == "" || (r.Kind == "policy") != (policies[name] != nil) || (r.Kind == "bug") != strings.HasPrefix(r.Thread, "https://") {
			t.Errorf("reason %s has no case, or is invalid: %+v", name, r)
		}
		table += strings.TrimSpace(fmt.Sprintf("- *%s*: %s %s", name, r.Says, r.Thread)) + "\n"
	}
	compareTable(t, table)
}

// row returns a line of the table. Counts are the cases by reason, "" for equal ones.
func row(name string, counts map[string]int) (line string, cases int) {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		cases += counts[reason]
		parts = append(parts, fmt.Sprintf("%d %s", counts[reason], reason))
	}
	return fmt.Sprintf("| %s | %d | %d | %s |\n", name, cases, counts[""], strings.Join(parts[1:], ", ")), cases
}

// compareTable compares the table of the document with the one of the cases, or writes it.
func compareTable(t *testing.T, table string) {
	const file, begin, end = "../../docs/library.md", "<!-- operators -->\n", "<!-- end of operators -->\n"
	data, err := os.ReadFile(file)
	before, rest, _ := strings.Cut(string(data), begin)
	_, after, found := strings.Cut(rest, end)
	if want := before + begin + table + end + after; *update && found {
		err = os.WriteFile(file, []byte(want), 0o644)
	} else if string(data) != want {
		t.Errorf("the table of %s is missing or outdated: run go test -update, and read the difference", file)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string, into any) (size int) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(data, into)
	}
	if err != nil {
		t.Fatalf("%s: %s", file, err)
	}
	return len(data)
}

// check compares the engine with the program, and with the strategic merge that most of the programs call.
func check(t *testing.T, tb table, c testCase, reasons map[string]reason) {
	for name, value := range tb.Wants {
		if known := policies[name]; !slices.Contains(known, value) && !(name == "protected" && value != "") {
			t.Errorf("unknown policy %s: %s", name, value)
		}
	}
	if r, known := reasons[c.Differs]; c.Differs != "" && !known || r.Kind == "policy" && tb.Wants[c.Differs] == "" {
		t.Errorf("no reason %q, or a policy that the program does not want", c.Differs)
	}
	typ, known := types[tb.Type]
	if !known {
		t.Fatalf("unknown type %q", tb.Type)
	}
	got, conflicts, err := merge(t, typ, tb, c)
	if err == nil && typ != nil {
		if upstream := strategic(t, typ, tb, c); !equality.Semantic.DeepEqual(got, upstream) {
			t.Errorf("differs from a strategic merge\n got %s\nwant %s", text(got), text(upstream))
		}
	}
	isEqual := (err != nil) == c.Fails && slices.Equal(conflicts, c.Conflicts) &&
		(c.Result == nil || equality.Semantic.DeepEqual(got, decode(t, typ, c.Result)))
	if isEqual != (c.Differs == "") {
		t.Errorf("is equal = %v, want %v\n got %s, conflicts %q, error %v\nwant %s", isEqual, c.Differs == "", text(got), conflicts, err, text(c))
	}
}

// merge merges a case with the engine. If two writers are an error, the base is one of them.
func merge(t *testing.T, typ reflect.Type, tb table, c testCase) (any, []string, error) {
	base, patches := decode(t, typ, c.Base), []any{}
	if tb.Wants["precedence"] == "error" {
		base, patches = decode(t, typ, nil), append(patches, decode(t, nil, c.Base))
	}
	patchType := map[bool]reflect.Type{true: typ}[tb.Values]
	for _, patch := range c.Patches {
		patches = append(patches, decode(t, patchType, patch))
	}
	if typ == nil {
		return apply(engine.ForJSON(), base, patches)
	}
	plan, err := engine.ForAny(typ, schema.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	value, conflicts, err := apply(plan, base, patches)
	if tb.Wants["precedence"] != "error" {
		conflicts = nil
	}
	return value, conflicts, err
}

func apply[T any](plan *engine.Plan[T, T], base any, patches []any) (value any, conflicts []string, err error) {
	var layers []engine.Layered[T]
	for i, patch := range patches {
		p, _ := patch.(T)
		layers = append(layers, engine.Layered[T]{Layer: engine.Manager(fmt.Sprint(i)), Patch: &p})
	}
	b := base.(T)
	r, err := plan.Apply(&b, layers, engine.Options{Owners: true})
	if err != nil {
		return nil, nil, err
	}
	for _, found := range conflict.Find(r.Owners) {
		conflicts = append(conflicts, found.Path.String())
	}
	return r.Value, conflicts, nil
}

// strategic merges the patches one after another with the API machinery.
func strategic(t *testing.T, typ reflect.Type, tb table, c testCase) any {
	merged := []byte(text(decode(t, typ, c.Base)))
	for _, patch := range c.Patches {
		if tb.Values {
			patch = []byte(text(decode(t, typ, patch)))
		}
		var err error
		if merged, err = strategicpatch.StrategicMergePatch(merged, patch, reflect.New(typ).Interface()); err != nil {
			t.Fatalf("the engine merges what a strategic merge rejects: %s", err)
		}
	}
	value := reflect.New(typ).Interface()
	if err := json.Unmarshal(merged, value); err != nil {
		t.Fatal(err)
	}
	return value
}

// decode reads a value of a type, or JSON.
func decode(t *testing.T, typ reflect.Type, data []byte) (value any) {
	if data == nil {
		data = []byte("{}")
	}
	var err error
	if typ == nil {
		err = utiljson.Unmarshal(data, &value)
	} else {
		value = reflect.New(typ).Interface()
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(value)
	}
	if err != nil {
		t.Fatalf("%s: %s", data, err)
	}
	return value
}

func text(value any) string {
	data, err := json.Marshal(value)
	return string(data) + strings.TrimPrefix(fmt.Sprint(err), "<nil>")
}
