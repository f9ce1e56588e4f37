package merge_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// webPlan merges objects of a small definition.
func webPlan() plan[merge.Object] {
	return objectPlan(`{"type": "object", "properties": {"spec": {"type": "object", "properties": {
		"replicas": {"type": "integer"}, "paused": {"type": "boolean"}, "labels": {"type": "object", "additionalProperties": {"type": "string"}},
		"ports": {"type": "array", "nullable": true, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
			"items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}}}}},
		"status": {"type": "object", "properties": {"ready": {"type": "integer"}}}}}`)
}

// objectOf reads an object from YAML.
func objectOf(t *testing.T, text string) merge.Object {
	t.Helper()
	var object merge.Object
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

const liveWeb = `
apiVersion: example.com/v1
kind: Web
metadata:
  name: web
  managedFields:
  - {manager: team, operation: Apply, apiVersion: example.com/v1, time: "2026-01-02T00:00:00Z", fieldsType: FieldsV1, fieldsV1:
      {"f:spec": {"f:replicas": {}, "f:paused": {}, "f:labels": {"f:a": {}, "f:b": {}}, "f:ports": {'k:{"name":"web"}': {".": {}, "f:name": {}, "f:port": {}}}}}}
  - {manager: other, operation: Apply, apiVersion: example.com/v1, time: "2026-01-01T00:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:labels": {"f:b": {}}}}}
  - {manager: team, operation: Update, apiVersion: example.com/v1, time: "2026-01-03T00:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:paused": {}}}}
  - {manager: kubelet, operation: Update, apiVersion: example.com/v1, subresource: status, fieldsType: FieldsV1, fieldsV1: {"f:status": {".": {}, "f:ready": {}}}}
spec:
  replicas: 2
  paused: true
  labels: {a: x, b: x, c: x}
  ports: [{name: web, port: 80}]
status: {ready: 1}
`

func TestManaged(t *testing.T) {
	live, patch := objectOf(t, liveWeb), objectOf(t, "{spec: {replicas: 3, labels: {d: x}}}")
	result, err := webPlan().Apply(&live, []merge.Patch{{Manager: "team", Value: &patch}},
		merge.Live())
	if err != nil {
		t.Fatal(err)
	}
	// The label b has another owner, and paused an update's. The label c has no owner, because the
	// manager has not applied it.
	want := objectOf(t, `
apiVersion: example.com/v1
kind: Web
metadata:
  name: web
  managedFields:
  - {manager: other, operation: Apply, apiVersion: example.com/v1, time: "2026-01-01T00:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:labels": {"f:b": {}}}}}
  - {manager: team, operation: Apply, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}, "f:labels": {"f:d": {}}}}}
  - {manager: team, operation: Update, apiVersion: example.com/v1, time: "2026-01-03T00:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:paused": {}}}}
  - {manager: kubelet, operation: Update, apiVersion: example.com/v1, subresource: status, fieldsType: FieldsV1, fieldsV1: {"f:status": {".": {}, "f:ready": {}}}}
spec: {replicas: 3, paused: true, labels: {b: x, c: x, d: x}}
status: {ready: 1}
`)
	if w, g := asJSON(want), asJSON(result.Value); w != g {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	if found := conflict.Find(result.History); len(found) > 0 {
		t.Errorf("a manager disagrees with itself: %v", found)
	}
	for path, claims := range result.History.All() {
		if path.String() == ".spec.paused" && claims[0].At.String() != ".spec.paused" {
			t.Errorf("an owner's claim has the source %v", claims[0].At)
		}
	}
}

// TestManaged_Conflicts wants the conflicts of a server-side apply without force.
func TestManaged_Conflicts(t *testing.T) {
	for text, want := range map[string]string{
		"{spec: {replicas: 2}}": "[]",
		"{spec: {replicas: 4}}": "[.spec.replicas manager/team " +
			"manager/new]",
		"{spec: {paused: false}}": "[.spec.paused manager/team " +
			"manager/team (Update) manager/new]",
		"{status: {ready: 2}}": "[.status.ready manager/kubelet " +
			"(Update status) manager/new]",
		"{spec: {labels: {c: z}}}":                        "[]",
		"{spec: {ports: [{name: web}, {name: metrics}]}}": "[]",
	} {
		live, patch := objectOf(t, liveWeb), objectOf(t, text)
		result, err := webPlan().Apply(&live, []merge.Patch{{Manager: "new", Value: &patch}},
			merge.Live())
		if err != nil {
			t.Fatal(err)
		}
		found := []string{}
		for _, c := range conflict.Find(result.History) {
			found = append(found, c.Path.String())
			for _, claim := range c.Claims {
				found = append(found, string(claim.Owner))
			}
		}
		if got := fmt.Sprint(found); got != want {
			t.Errorf("%s: conflicts %s, want %s", text, got, want)
		}
	}
}

// TestManaged_Removed removes an item in which an update owns a field, without a conflict, and
// keeps an owner of a field that is not stored. An apply of that field has a conflict with the
// owner.
func TestManaged_Removed(t *testing.T) {
	const text = `
apiVersion: example.com/v1
kind: Web
metadata:
  managedFields:
  - {manager: carol, operation: Apply, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:labels": {}}}}
  - {manager: team, operation: Apply, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1:
      {"f:spec": {"f:ports": {'k:{"name":"web"}': {".": {}, "f:name": {}}}}}}
  - {manager: edit, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:ports": {'k:{"name":"web"}': {"f:port": {}}}}}}
spec: {replicas: 1, ports: [{name: web, port: 80}]}
`
	for patch, want := range map[string]string{
		"{spec: {replicas: 1}}":                 "[carol team] []",
		"{spec: {replicas: 1, labels: {a: b}}}": "[team] [.spec.labels manager/carol manager/team]",
	} {
		live, patch := objectOf(t, text), objectOf(t, patch)
		result, err := webPlan().Apply(&live, []merge.Patch{{Manager: "team", Value: &patch}},
			merge.Live())
		if err != nil {
			t.Fatal(err)
		}
		var names, found []string
		for _, entry := range result.Value["metadata"].(merge.Object)["managedFields"].([]any) {
			names = append(names, entry.(merge.Object)["manager"].(string))
		}
		for _, c := range conflict.Find(result.History) {
			found = append(found, c.Path.String())
			for _, claim := range c.Claims {
				found = append(found, string(claim.Owner))
			}
		}
		if got := fmt.Sprint(names, found); got != want {
			t.Errorf("owners and conflicts %s, want %s", got, want)
		}
	}
}

// TestManaged_Duplicates gives the presence of a duplicate item to who has duplicated it.
func TestManaged_Duplicates(t *testing.T) {
	live := objectOf(t, liveWeb)
	port := merge.Object{"name": "web", "port": int64(81)}
	result, err := webPlan().Apply(
		&live, []merge.Patch{
			{Manager: "a",
				Value: merge.JSONPatch{{Op: "add", Path: "/spec/ports/-", Value: port}}}},
		merge.Live())
	if err != nil {
		t.Fatal(err)
	}
	entries := result.Value["metadata"].(merge.Object)["managedFields"].([]any)
	const of = `{"f:spec":{"f:labels":{"f:a":{},"f:b":{}},"f:paused":{},"f:replicas":{}}}`
	if got := asJSON(entries[1].(merge.Object)["fieldsV1"]); got != of {
		t.Errorf("team owns %s, want %s", got, of)
	}
	if got, want := asJSON(entries[3]),
		`{"apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:ports":{"k:{\"name\":\"web\"}":{}}}},"manager":"a","operation":"Update"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestManaged_NoOwners(t *testing.T) {
	live, patch := objectOf(t, "{apiVersion: v1, spec: {replicas: 2, labels: {a: x}}}"),
		objectOf(t, "{spec: {replicas: 3}}")
	result, err := webPlan().Apply(&live, []merge.Patch{{Manager: "a", Value: &patch}},
		merge.Live())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"managedFields":[` +
		`{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},"manager":"a","operation":"Apply"},` +
		`{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"f:labels":{".":{},"f:a":{}}}},"manager":"before-first-apply","operation":"Update"}]}`
	if got := asJSON(result.Value["metadata"]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestManaged_Invalid(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"an operation": {"operation: Apply", "operation: Patch",
			`base: .metadata.managedFields[0].operation: must be Apply or Update, and is "Patch"`},
		"no version": {"apiVersion: example.com/v1, time", "time",
			`.metadata.managedFields[0].apiVersion: required`},
		"a fields type": {"fieldsType: FieldsV1", "fieldsType: V2",
			`.metadata.managedFields[0].fieldsType: must be FieldsV1, and is "V2"`},
		"fields": {`{"f:spec": {"f:paused": {}}}`, `3`,
			`.metadata.managedFields[2].fieldsV1: must be an object, and is a number`},
		"a key": {
			`"f:paused"`, `"paused"`, `.metadata.managedFields[0].fieldsV1: invalid key "paused"`},
		"a value": {`"f:paused": {}`, `"f:paused": 1`,
			`.metadata.managedFields[0].fieldsV1: the value of "f:paused" must be an object`},
		"an entry": {"- {manager: team, operation: Apply",
			"- 3\n  - {manager: team, operation: Apply",
			`.metadata.managedFields[0]: must be an object, and is a number`},
	} {
		live, patch := objectOf(t, strings.Replace(liveWeb, test.old, test.new, 1)), merge.Object{}
		_, err := webPlan().Apply(&live, []merge.Patch{{Manager: "a", Value: &patch}}, merge.Live())
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	cycle := merge.Object{}
	cycle["f:x"] = cycle
	live := merge.Object{"apiVersion": "v1", "metadata": merge.Object{"managedFields": []any{
		merge.Object{"manager": "a", "operation": "Apply", "apiVersion": "v1",
			"fieldsType": "FieldsV1", "fieldsV1": merge.Object{"f:spec": cycle}}}}}
	free := objectPlan(
		`{"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}`)
	if _, err := free.Apply(&live, nil, merge.Live()); err == nil ||
		!strings.Contains(err.Error(), "nests more than 10000 deep") {
		t.Errorf("managed fields that contain themselves: %v", err)
	}
	if _, err := webPlan().Apply(&merge.Object{}, nil, merge.Live()); err == nil ||
		!strings.Contains(err.Error(), ".apiVersion: required") {
		t.Errorf("without a version: %v", err)
	}
	live = objectOf(t, liveWeb)
	for _, patch := range []merge.Patch{
		{Manager: "a", Value: &live},
		{Manager: "a",
			Value: merge.JSONPatch{{Op: "add", Path: "/metadata/managedFields", Value: []any{}}}},
	} {
		_, err := webPlan().Apply(&live, []merge.Patch{patch}, merge.Live())
		if err == nil ||
			!strings.Contains(
				err.Error(), "patch of manager/a: .metadata.managedFields: must not be set") {
			t.Errorf("a patch with owners: %v", err)
		}
	}
	for name, err := range map[string]error{
		"without a schema": planForJSON().Check(options{Managed: true}),
		"with a policy":    webPlan().Check(options{Managed: true, Precedence: "first"}),
	} {
		var wrong *merge.OptionError
		if !errors.As(err, &wrong) || wrong.Option != "Live" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJSONPatch_Owners(t *testing.T) {
	base := objectOf(
		t, "{spec: {replicas: 2, labels: {a: x}, ports: [{name: web, port: 80}, {name: metrics}]}}")
	first, err := operationsOf(
		[]byte("- {op: test, path: /spec/ports/0/port, value: 80}\n- {op: remove, path: " +
			"/spec/ports/0}\n- {op: replace, path: /spec/replicas, value: 3}"))
	if err != nil {
		t.Fatal(err)
	}
	second := objectOf(t, "{spec: {replicas: 4, ports: [{name: metrics, port: 90}]}}")
	result, err := webPlan().Apply(
		&base, []merge.Patch{{Manager: "a", Value: first}, {Manager: "b", Value: &second}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := asJSON(result.Value),
		`{"spec":{"labels":{"a":"x"},"ports":[{"name":"metrics","port":90}],"replicas":4}}`; got !=
		want {
		t.Errorf("got %s, want %s", got, want)
	}
	var got []string
	for path, claims := range result.History.All() {
		line := path.String()
		for _, claim := range claims {
			line += fmt.Sprint(" ", claim.Owner, "=", claim.Value)
		}
		got = append(got, line)
	}
	want := []string{
		`.spec.labels["a"] base=x`, `.spec.ports[name="metrics"] base=present manager/b=present`,
		`.spec.ports[name="metrics"].name base=metrics manager/b=metrics`,
		`.spec.ports[name="metrics"].port manager/b=90`,
		`.spec.ports[name="web"] base=present manager/a=<nil>`,
		`.spec.ports[name="web"].name base=web manager/a=<nil>`,
		`.spec.ports[name="web"].port base=80 manager/a=<nil>`,
		`.spec.replicas base=2 manager/a=3 manager/b=4`,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if found := conflict.Find(result.History); len(found) != 1 ||
		found[0].Path.String() != ".spec.replicas" {
		t.Errorf("conflicts %v", found)
	}
}

func TestJSONPatch_Invalid(t *testing.T) {
	for patch, want := range map[string]string{
		`[{"op": "test", "path": "/spec/replicas", "value": 3}]`:                                            ".spec.replicas: operation 0 (test): the value differs",
		`[{"op": "add", "path": "/spec/paused", "value": true}, {"op": "remove", "path": "/spec/ports/1"}]`: ".spec.ports[1]: operation 1 (remove): the list has no index 1",
		`[{"op": "add", "path": "/spec/none/a", "value": 1}]`:                                               `.spec.none.a: operation 0 (add): there is no field "none"`,
		`[{"op": "add", "path": "spec", "value": 1}]`:                                                       `operation 0 (add): invalid path "spec": must be empty or start with /`,
		`[{"op": "move", "from": "/spec/ports/9", "path": "/spec/ports/-"}]`:                                `.spec.ports.-: operation 0 (move): from: the list has no index 9`,
		`[{"op": "test", "path": "/spec/none/a", "value": 1}]`:                                              `.spec.none.a: operation 0 (test): there is no field "none"`,
		`[{"op": "add", "path": "", "value": {"kind": "Web"}}]`:                                             "operation 0 (add): the whole object can only be replaced by an object",
		`[{"op": "merge", "path": "/spec"}]`:                                                                ".spec: operation 0 (merge): unknown operation",
		`[{"op": "remove", "path": ""}]`:                                                                    "operation 0 (remove): the whole object can only be replaced by an object",
		`[{"op": "add", "path": "/spec/unknown", "value": 1}]`:                                              ".spec.unknown: the definition has no such field",
		`[{"op": "replace", "path": "/spec/replicas", "value": "many"}]`:                                    ".spec.replicas: must be an integer, and is a string",
		`[{"op": "replace", "path": "/kind", "value": "Other"}]`:                                            `.kind: must be "Web", as in the base, and is "Other"`,
		`[` + strings.Repeat(`{"op": "copy", "from": "/spec", "path": "/spec/ports/-"},`, 60) +
			`{"op": "test", "path": "/kind"}]`: "copies more than 3145728 bytes",
		`[` + strings.Repeat(`{"op": "test", "path": "/none"},`, 10000) +
			`{"op": "test", "path": "/none"}]`: "must have at most 10000 operations, and has 10001",
	} {
		base := objectOf(t, "{kind: Web, spec: {replicas: 2, labels: {}, ports: [{name: web}]}}")
		operations, err := operationsOf([]byte(patch))
		if err != nil {
			t.Fatal(err)
		}
		_, err = webPlan().Apply(&base, []merge.Patch{{Manager: "a", Value: operations}})
		var at *merge.PatchError
		if !errors.As(err, &at) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, want %s", patch, err, want)
		}
	}
	for _, text := range []string{"", "null", "# none", "{}", "3", "[3]", "- op: [", `[{"op": 1}]`,
		"- &a {op: " + strings.Repeat("x", 1<<20) + "}\n- *a\n- *a\n- *a\n"} {
		if _, err := operationsOf([]byte(text)); err == nil {
			t.Errorf("ParseJSONPatch(%.80q) has no error", text)
		}
	}
	type spec struct{ Replicas int }
	plan := must(planFor[spec](schema.Rules{}))
	if _, err := plan.Apply(
		&spec{}, []merge.Patch{{Manager: "a", Value: merge.JSONPatch{}}}); err == nil ||
		!strings.Contains(err.Error(), "a JSON patch changes objects only") {
		t.Errorf("a Go value: %v", err)
	}
	if _, err := webPlan().Apply(nil, []merge.Patch{{Manager: "a", Value: merge.JSONPatch{}}},
		merge.Protect(fieldpath.Fields("spec", "replicas"))); err == nil ||
		!strings.Contains(err.Error(), "no option but KeepOrder") {
		t.Errorf("with a policy: %v", err)
	}
}

// TestJSONPatch_Limits applies patches that reach a limit of the API server, and one that exceeds
// it.
func TestJSONPatch_Limits(t *testing.T) {
	base := merge.Object{
		"spec": merge.Object{"replicas": int64(1),
			"labels": merge.Object{"a": strings.Repeat("x", 1<<20-len(`""`))}}}
	copies := make([]merge.Operation, 3)
	for i := range copies {
		copies[i] = merge.Operation{Op: "copy", From: "/spec/labels/a",
			Path: fmt.Sprint("/spec/labels/", i)}
	}
	for name, patch := range map[string][]merge.Operation{
		"3 MiB copied":     copies,
		"10000 operations": slices.Repeat([]merge.Operation{{Op: "test", Path: "/none"}}, 10000),
	} {
		if _, err := webPlan().Apply(
			&base, []merge.Patch{{Manager: "a", Value: patch}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	copies = append(copies, merge.Operation{Op: "copy", From: "/spec/replicas",
		Path: "/spec/replicas"})
	if _, err := webPlan().Apply(
		&base, []merge.Patch{{Manager: "a", Value: copies}}); err == nil ||
		!strings.Contains(err.Error(), "copies more than 3145728 bytes") {
		t.Errorf("one more byte copied: %v", err)
	}
}

func TestParseJSONPatch_Numbers(t *testing.T) {
	got := must(operationsOf(
		[]byte(`[{"op": "add", "path": "/spec/replicas", "value": 9007199254740993}, {"op": "add", "path": "", "value": {"a": [1, 2.5]}}]`)))
	want := merge.JSONPatch{
		{Op: "add", Path: "/spec/replicas", Value: int64(9007199254740993)},
		{Op: "add", Value: merge.Object{"a": []any{int64(1), 2.5}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("operations (-want +got):\n%s", d)
	}
}

// TestJSONPatch_Duplicates rejects duplicates in a patch after a JSON patch, which may leave some.
func TestJSONPatch_Duplicates(t *testing.T) {
	patch := objectOf(t, "{rows: [{z: [a, a]}]}")
	_, err := objectPlan(testCaseSchema).Apply(
		nil, []merge.Patch{{Manager: "a", Value: merge.JSONPatch{}}, {Manager: "a", Value: &patch}})
	if err == nil || !strings.Contains(err.Error(), "duplicate") {
		t.Errorf("duplicate elements after a JSON patch: %v", err)
	}
}

// TestNulls_Refused names the patch that leaves a null: by a value of its own, with and without
// owners, or since it was the last to set what an object holds.
func TestNulls_Refused(t *testing.T) {
	const live = `
apiVersion: example.com/v1
kind: Web
metadata:
  managedFields:
  - {manager: ann, operation: Apply, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:inner": {"f:on": {}}}}
  - {manager: bob, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:inner": {}}}
inner: {"on": true}
`
	for _, test := range []struct {
		base    string
		patches []string
		options options
		want    string
		index   int
	}{
		{"{}", []string{"{count: 1}", "{text: null}", "{note: x}"}, options{},
			"patch of manager/1: .text: must be a string, and is null", 1},
		{live, []string{"{count: 1}"}, options{Managed: true},
			"patch of manager/ann: .inner: must be an object, and is null", 0},
	} {
		base := objectOf(t, test.base)
		var patches []merge.Patch
		for i, text := range test.patches {
			patch, name := objectOf(t, text), fmt.Sprint(i)
			if test.options.Managed {
				name = "ann"
			}
			patches = append(patches, merge.Patch{Manager: name, Value: &patch})
		}
		_, err := objectPlan(nullsSchema).Apply(&base, patches, test.options.list()...)
		var rejected *merge.PatchError
		var wrong *merge.TypeError
		if !errors.As(err, &rejected) || !errors.As(err, &wrong) || err.Error() != test.want ||
			rejected.Index != test.index {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}
