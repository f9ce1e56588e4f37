package resourcelist_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trainweld/trainweld/cmd/internal/resourcelist"
	"github.com/trainweld/trainweld/schema"
)

// Example passes a list on with a result.
func Example() {
	list, err := resourcelist.Read([]byte(`
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
  - kind: Widget # stays
    apiVersion: example.com/v1
    metadata:
      name: w
      annotations:
        internal.config.kubernetes.io/path: widgets.yaml
        internal.config.kubernetes.io/index: "1"
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	file, _ := list.Items[0].File()
	list.Results = append(list.Results,
		resourcelist.Result{Message: "a fine widget", Severity: "info", File: &file})
	if err := list.Write(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// apiVersion: config.kubernetes.io/v1
	// kind: ResourceList
	// items:
	//   - kind: Widget # stays
	//     apiVersion: example.com/v1
	//     metadata:
	//       name: w
	//       annotations:
	//         internal.config.kubernetes.io/path: widgets.yaml
	//         internal.config.kubernetes.io/index: "1"
	// results:
	//   - message: a fine widget
	//     severity: info
	//     file:
	//       path: widgets.yaml
	//       index: 1
}

const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"

func TestRead(t *testing.T) {
	for _, test := range []struct {
		name, reason string
		input        string
		want         string // what is written; "" for an error
		err          string
	}{
		{"no items", "a generator may be given nothing", head, head + "items: []\n", ""},
		{"null items", "an empty list may be null", head + "items: null\n",
			head + "items: []\n", ""},
		{"null configuration", "it is none", head + "functionConfig: null\nitems: []\n",
			head + "functionConfig: null\nitems: []\n", ""},
		{"earlier results", "they are another function's",
			head + "items: []\nresults: [{message: old}]\n", head + "items: []\n", ""},
		{"unknown fields", "an orchestrator may add some", head + "items: []\nmore: {a: 1}\n",
			head + "items: []\nmore: {a: 1}\n", ""},
		{"scalars", "each reader takes them as they were written",
			head + "items:\n  - {a: yes, b: 010, c: '1', d: 1e3, e: ~, f: !!str 1}\n",
			head + "items:\n  - {a: yes, b: 010, c: '1', d: 1e3, e: ~, f: !!str 1}\n", ""},
		{"anchor inside", "an item is its own", head + "items:\n  - a: &x {b: 1}\n    c: *x\n",
			head + "items:\n  - a: &x {b: 1}\n    c: *x\n", ""},
		{"anchor elsewhere", "the other item may go",
			head + "items:\n  - a: &x {b: 1}\n  - c: *x\n",
			head + "items:\n  - a: &x {b: 1}\n  - c: {b: 1}\n", ""},
		{"an item that is an alias", "each item is one of its own",
			head + "items:\n  - &x {b: 1}\n  - *x\n",
			head + "items:\n  - &x {b: 1}\n  - {b: 1}\n", ""},
		{"list", "kustomize also has a List's items",
			head + "items:\n  - {kind: List, apiVersion: v1, items: [{a: 1}, {b: 2}]}\n",
			head + "items:\n  - {a: 1}\n  - {b: 2}\n", ""},
		{"other kind", "it is no ResourceList", "apiVersion: v1\nkind: List\nitems: []\n", "",
			`apiVersion "v1" and kind "List" are no ResourceList`},
		{"a sequence", "it is no ResourceList", "- a\n", "", "are no ResourceList"},
		{"two documents", "there is one list", head + "---\n" + head, "", "second document"},
		{"items of no list", "they are a list", head + "items: {}\n", "", "items must be a list"},
		{"configuration of no object", "it is an object", head + "functionConfig: [1]\n", "",
			"functionConfig must be an object"},
		{"the items as an item of their own", "it has no end", head + "items: &x [*x]\n", "",
			"aliases expand too far"},
		{"a long text, a hundred times", "it is as long as its copies",
			head + "items:\n  - &x {a: " + strings.Repeat("a", 1<<16) + "}\n" +
				strings.Repeat("  - *x\n", 100), "", "aliases expand too far"},
		{"an alias of an item around itself", "it has no end",
			head + "items:\n  - &x {a: 1}\n  - b: &y {c: [*y]}\n  - d: *y\n", "",
			"aliases expand too far"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			list, err := resourcelist.Read([]byte(test.input))
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
				t.Errorf("takes %d MiB", took>>20)
			}
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("%v, want %q: %s", err, test.err, test.reason)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %s", err, test.reason)
			}
			var b bytes.Buffer
			if err := list.Write(&b); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, b.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestItem_Change holds that a change rewrites what differs, and nothing else.
func TestItem_Change(t *testing.T) {
	list, err := schema.ParseOpenAPI([]byte(`{"openapi": "3.0.0", "components": {"schemas": {"List": {
		"type": "object",
		"x-kubernetes-group-version-kind": [{"group": "a.example", "version": "v1", "kind": "List"}],
		"properties": {"l": {
			"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
			"items": {"type": "object", "properties": {"name": {"type": "string"}}}}}}}}}`),
		runtimeschema.FromAPIVersionAndKind("a.example/v1", "List"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, reason, item, from, to, want string
	}{
		{"equal", "nothing differs", "a: yes # c\nb: {c: 010}\n", `{"a":true,"b":{"c":8}}`,
			`{"a":true,"b":{"c":8}}`, "a: yes # c\nb: {c: 010}\n"},
		{"a field", "others keep their text and comments", "# of a\na: 1 # one\nb: 010\n",
			`{"a":1,"b":8}`, `{"a":2,"b":8}`, "# of a\na: 2 # one\nb: 010\n"},
		{"fields", "new ones follow by name", "b: 1\nc: 1\n", `{"b":1,"c":1}`,
			`{"b":1,"z":"yes","a":[]}`, "b: 1\na: []\nz: \"yes\"\n"},
		{"null", "it sets nothing", "a: null\nb: ~\nc: 1\n", `{"c":1}`, `{"c":2,"b":3}`,
			"a: null\nc: 2\nb: 3\n"},
		{"map-list", "items keep their text by key", "l:\n- name: a # a\n- name: b # b\n  c: 1\n",
			`{"l":[{"name":"a"},{"name":"b","c":1}]}`, `{"l":[{"name":"n"},{"name":"b","c":2}]}`,
			"l:\n  - name: \"n\"\n  - name: b # b\n    c: 2\n"},
		{"atomic list", "items keep their text if they are equal", "s: [a, 0x1, a]\n",
			`{"s":["a",1,"a"]}`, `{"s":[1,"a","b"]}`, "s: [0x1, a, b]\n"},
		{"another kind of value", "it is replaced", "a: {b: 1}\n", `{"a":{"b":1}}`, `{"a":[1]}`,
			"a:\n  - 1\n"},
		{"merge key", "one key stands for several fields", "a: {<<: {b: 1, c: 1}, d: 1}\n",
			`{"a":{"b":1,"c":1,"d":1}}`, `{"a":{"b":1,"d":1}}`, "a:\n  b: 1\n  d: 1\n"},
		{"aliases", "the other place stays as it is", "a: &x {b: 1}\nc: *x\n",
			`{"a":{"b":1},"c":{"b":1}}`, `{"a":{"b":2},"c":{"b":1}}`, "a: {b: 2}\nc: {b: 1}\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			item, err := resourcelist.NewItem([]byte(test.item))
			if err != nil {
				t.Fatal(err)
			}
			var from, to map[string]any
			for text, into := range map[string]*map[string]any{test.from: &from, test.to: &to} {
				if err := json.Unmarshal([]byte(text), into); err != nil {
					t.Fatal(err)
				}
				if test.from == test.to {
					to = from
				}
			}
			changed, err := item.Change(list, from, to)
			if err != nil {
				t.Fatal(err)
			}
			for what, of := range map[string]*resourcelist.Item{
				test.want: changed, test.item: item} {
				text, err := of.YAML()
				if err != nil {
					t.Fatal(err)
				}
				if what != test.want {
					original, _ := resourcelist.NewItem([]byte(what))
					data, _ := original.YAML()
					what = string(data)
				}
				if diff := cmp.Diff(what, string(text)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", test.reason, diff)
				}
			}
		})
	}
}

// TestItem_Change_Bomb holds that a change does not expand aliases without a limit.
func TestItem_Change_Bomb(t *testing.T) {
	text := "a0: &a0 [x]\n"
	for i := range 30 {
		text += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	item, err := resourcelist.NewItem([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := item.Change(nil, map[string]any{}, map[string]any{"b": 1}); err == nil ||
		!strings.Contains(err.Error(), "aliases expand too far") {
		t.Errorf("Change of an item that expands to 2^30 = %v", err)
	}
}
