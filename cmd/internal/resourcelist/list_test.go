package resourcelist_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/cmd/internal/resourcelist"
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
	list.Results = append(list.Results, resourcelist.Result{Message: "a fine widget", Severity: resourcelist.Info, File: &file})
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
		{"null items", "an empty list may be null", head + "items: null\n", head + "items: []\n", ""},
		{"null configuration", "it is none", head + "functionConfig: null\nitems: []\n", head + "functionConfig: null\nitems: []\n", ""},
		{"earlier results", "they are another function's", head + "items: []\nresults: [{message: old}]\n", head + "items: []\n", ""},
		{"unknown fields", "an orchestrator may add some", head + "items: []\nmore: {a: 1}\n", head + "items: []\nmore: {a: 1}\n", ""},
		{"scalars", "each reader takes them as they were written", head + "items:\n  - {a: yes, b: 010, c: '1', d: 1e3, e: ~, f: !!str 1}\n", head + "items:\n  - {a: yes, b: 010, c: '1', d: 1e3, e: ~, f: !!str 1}\n", ""},
		{"anchor inside", "an item is its own", head + "items:\n  - a: &x {b: 1}\n    c: *x\n", head + "items:\n  - a: &x {b: 1}\n    c: *x\n", ""},
		{"anchor elsewhere", "the other item may go", head + "items:\n  - a: &x {b: 1}\n  - c: *x\n", head + "items:\n  - a: &x {b: 1}\n  - c: {b: 1}\n", ""},
		{"an item that is an alias", "each item is one of its own", head + "items:\n  - &x {b: 1}\n  - *x\n", head + "items:\n  - &x {b: 1}\n  - {b: 1}\n", ""},
		{"list", "kustomize has a List's items, too", head + "items:\n  - {kind: List, apiVersion: v1, items: [{a: 1}, {b: 2}]}\n", head + "items:\n  - {a: 1}\n  - {b: 2}\n", ""},
		{"other kind", "it is no ResourceList", "apiVersion: v1\nkind: List\nitems: []\n", "", `apiVersion "v1" and kind "List" are no ResourceList`},
		{"a sequence", "it is no ResourceList", "- a\n", "", "are no ResourceList"},
		{"two documents", "there is one list", head + "---\n" + head, "", "second document"},
		{"items of no list", "they are a list", head + "items: {}\n", "", "items is no list"},
		{"configuration of no object", "it is an object", head + "functionConfig: [1]\n", "", "functionConfig is no object"},
		{"an alias of an item around itself", "it has no end", head + "items:\n  - &x {a: 1}\n  - b: &y {c: [*y]}\n  - d: *y\n", "", "aliases stand for too much"},
	} {
		t.Run(test.name, func(t *testing.T) {
			list, err := resourcelist.Read([]byte(test.input))
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
