// Package operators_test runs other programs' tests of their merges through merge. The cases are
// data: see testdata.
package operators_test

import (
	"bytes"
	"encoding/json"
	"errors"
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
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

var update = flag.Bool("update", false, "rewrite the table of testdata/README.md")

// program is one file of testdata/programs.
type program struct {
	Program, Repository, Revision, License string
	Tables                                 []table
}

// table holds the cases of one test of a program. Wants are the policies of the program's merge.
type table struct {
	File, Test, Type string
	// Values states that a patch of the program is a Go value. Its JSON also holds empty fields
	// without omitempty.
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
	// Differs names the reason for another result of merge, an entry of testdata/reasons.yaml.
	Differs string
}

// reason is an entry of a closed list. The engine lacks a policy, the program has a bug, or the
// difference is intended.
type reason struct{ Kind, Says, Thread string }

// types are the types of the merged values. A value of another type is JSON.
var types = map[string]any{
	"Container": corev1.Container{}, "DaemonSet": appsv1.DaemonSet{},
	"Deployment":              appsv1.Deployment{},
	"HorizontalPodAutoscaler": autoscalingv2.HorizontalPodAutoscaler{},
	"Job":                     batchv1.Job{}, "PodDisruptionBudget": policyv1.PodDisruptionBudget{},
	"PodSpec": corev1.PodSpec{}, "PodTemplateSpec": corev1.PodTemplateSpec{},
	"Service": corev1.Service{}, "ServiceSpec": corev1.ServiceSpec{},
	"StatefulSet": appsv1.StatefulSet{},
}

// policies are the policies that a program may want, with their values. The value of protected is a
// list of fields.
var policies = map[string][]string{
	"unions": {"last", "error"}, "empty": {"skip"}, "order": {"base"}, "defaults": {"rules"},
	"protected": {}, "protectedError": {"true"}, "precedence": {"first", "base", "error"},
}

func TestOperators(t *testing.T) {
	var reasons map[string]reason
	read(t, "testdata/reasons.yaml", &reasons)
	files, _ := filepath.Glob("testdata/programs/*.yaml")
	all, document := map[string]int{}, strings.Builder{}
	document.WriteString("| program | cases | equal | different |\n|---|---|---|---|\n")
	for _, file := range files {
		var p program
		read(t, file, &p)
		if p.License != "Apache-2.0" || len(p.Revision) != 40 {
			t.Errorf("%s: invalid license %q or revision %q", file, p.License, p.Revision)
		}
		counts := map[string]int{"": 0}
		for _, tb := range p.Tables {
			for _, c := range tb.Cases {
				counts[c.Differs]++
				t.Run(strings.Join([]string{p.Program, tb.Test, c.Name}, "/"), func(t *testing.T) {
					check(t, tb, c, reasons)
				})
			}
		}
		row(&document, fmt.Sprintf("[%s](%s/tree/%s)", p.Program, p.Repository, p.Revision), counts)
		for name, n := range counts {
			all[name] += n
		}
	}
	if cases := row(&document, "all", all); cases < 250 || len(files) < 10 {
		t.Errorf("%d programs with %d cases, want at least 10 with 250", len(files), cases)
	}
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		r := reasons[name]
		if all[name] == 0 || r.Says == "" || r.Kind != "bug" && r.Kind != "intended" ||
			(r.Kind == "bug") != strings.HasPrefix(r.Thread, "https://") {
			t.Errorf("reason %s has no case, or is invalid: %+v", name, r)
		}
		document.WriteString(
			strings.TrimSuffix(fmt.Sprintf("\n- *%s* (%s): %s %s", name, r.Kind, r.Says, r.Thread),
				" "))
	}
	compareTable(t, document.String()+"\n")
}

// row writes a line of the table and returns the number of cases. Counts are the cases by reason,
// "" for equal ones.
func row(to *strings.Builder, name string, counts map[string]int) (cases int) {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		cases += counts[reason]
		parts = append(parts, fmt.Sprintf("%d %s", counts[reason], reason))
	}
	fmt.Fprintf(to, "| %s | %d | %d | %s |\n", name, cases, counts[""],
		strings.Join(parts[1:], ", "))
	return cases
}

// compareTable compares the table of the document with the one of the cases, or writes it.
func compareTable(t *testing.T, table string) {
	const file, begin, end = "testdata/README.md", "<!-- operators -->\n",
		"<!-- end of operators -->\n"
	data, err := os.ReadFile(file)
	before, rest, _ := strings.Cut(string(data), begin)
	_, after, found := strings.Cut(rest, end)
	if want := before + begin + table + end + after; *update && found {
		err = os.WriteFile(file, []byte(want), 0o644)
	} else if string(data) != want {
		err = fmt.Errorf(
			"the table of %s is missing or outdated: run go test -update, and read the difference",
			file)
	}
	if err != nil {
		t.Error(err)
	}
}

func read(t *testing.T, file string, into any) {
	data, err := os.ReadFile(file)
	if err = errors.Join(err, yaml.UnmarshalStrict(data, into)); err != nil {
		t.Fatalf("%s: %s", file, err)
	}
}

// check compares merge with the program, and with the strategic merge that most of the programs
// call.
func check(t *testing.T, tb table, c testCase, reasons map[string]reason) {
	for name, value := range tb.Wants {
		if !slices.Contains(policies[name], value) && (name != "protected" || value == "") {
			t.Errorf("unknown policy %s: %s", name, value)
		}
	}
	_, known := reasons[c.Differs]
	typ := reflect.TypeOf(types[tb.Type])
	if c.Differs != "" && !known || typ == nil && tb.Type != "JSON" {
		t.Fatalf("unknown reason %q or type %q", c.Differs, tb.Type)
	}
	got, conflicts, err := mergeCase(t, typ, tb, c, optionsOf(t, tb.Wants)...)
	if tb.Wants["precedence"] != "error" {
		conflicts = nil
	}
	if typ != nil {
		got, _, err := mergeCase(t, typ, tb, c)
		if want, failed := strategic(t, typ, tb, c); (err == nil) != (failed == nil) ||
			err == nil && !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("differs from a strategic merge\n got %s, error %v\nwant %s, error %v",
				text(got), err, text(want), failed)
		}
	}
	want := decode(t, typ, c.Result)
	// the result stands for the object that the API server makes of it
	if tb.Wants["defaults"] != "" {
		schema.PodRules(typ).Defaults.Fill(want)
	}
	isEqual := (err != nil) == c.Fails && slices.Equal(conflicts, c.Conflicts) &&
		(c.Result == nil || equality.Semantic.DeepEqual(got, want))
	if isEqual != (c.Differs == "") {
		t.Errorf("is equal = %v, want %v\n got %s, conflicts %q, error %v\nwant %s", isEqual,
			c.Differs == "", text(got), conflicts, err, text(c))
	}
}

// optionsOf returns the options that a program wants.
func optionsOf(t *testing.T, wants map[string]string) (o []merge.Option) {
	for option, of := range map[string]merge.Option{
		"order base": merge.KeepOrder(), "unions last": merge.Unions(merge.Last),
		"unions error": merge.Unions(merge.Error),
		"empty skip":   merge.SkipEmpty(), "defaults rules": merge.Defaults(),
		"precedence first": merge.First(), "precedence base": merge.BaseWins(),
	} {
		if name, value, _ := strings.Cut(option, " "); wants[name] == value {
			o = append(o, of)
		}
	}
	for text := range strings.SplitSeq(wants["protected"], ", ") {
		if path, err := fieldpath.ParsePath(text); text != "" {
			o = append(o, merge.Protect(path))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if wants["protectedError"] != "" {
		o = append(o, merge.ProtectError())
	}
	return o
}

// mergeCase merges a case. If two writers are an error, the base is one of them.
func mergeCase(t *testing.T, typ reflect.Type, tb table, c testCase,
	o ...merge.Option) (value any, conflicts []string, err error) {
	base, patches := decode(t, typ, c.Base), []any{}
	if tb.Wants["precedence"] == "error" {
		base, patches = decode(t, typ, nil), []any{decode(t, nil, c.Base)}
	}
	for _, patch := range c.Patches {
		patches = append(patches, decode(t, map[bool]reflect.Type{true: typ}[tb.Values], patch))
	}
	layers := make([]merge.Patch, len(patches))
	for i, patch := range patches {
		layers[i] = merge.Patch{Manager: fmt.Sprint(i), Value: patch}
	}
	var history *merge.History
	if typ == nil {
		object, _ := base.(merge.Object)
		result, failed := merge.StrategicObject(nil, object, layers, o...)
		if err = failed; err == nil {
			value, history = result.Value, result.History
		}
	} else if result, failed := merge.Strategic(&base, layers, o...); failed == nil {
		value, history = result.Value, result.History
	} else {
		err = failed
	}
	if err != nil {
		return nil, nil, err
	}
	for _, found := range conflict.Find(history) {
		conflicts = append(conflicts, found.Path.String())
	}
	return value, conflicts, nil
}

// strategic merges the patches one after another with the API machinery.
func strategic(t *testing.T, typ reflect.Type, tb table, c testCase) (value any, err error) {
	merged := []byte(text(decode(t, typ, c.Base)))
	for _, patch := range c.Patches {
		if tb.Values {
			patch = []byte(text(decode(t, typ, patch)))
		}
		if merged, err = strategicpatch.StrategicMergePatch(merged, patch,
			reflect.New(typ).Interface()); err != nil {
			return nil, err
		}
	}
	value = reflect.New(typ).Interface()
	return value, json.Unmarshal(merged, value)
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
	data, _ := json.Marshal(value)
	return string(data)
}
