package manifest_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest"
)

// largeItems returns TrainJobs that take more than 3 MiB in one List.
func largeItems() []string {
	items := make([]string, 200)
	for i := range items {
		items[i] = fmt.Sprintf(
			"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n  name: "+
				"job-%d\n  annotations:\n    note: |\n      - items:\n\n      # %s\n    two: "+
				"\"a\n      - b\"\n# a comment\nspec:\n  suspend: true\n  runtimeRef: {name: rt}\n",
			i, strings.Repeat("x", 18<<10))
	}
	return items
}

// TestDecode_LargeList reads a List that is larger than a document may be. Its objects and their
// positions are the same as in documents.
func TestDecode_LargeList(t *testing.T) {
	items := largeItems()
	for _, indent := range []string{"", "  "} {
		for name, around := range map[string][2]string{
			"kubectl": {
				"apiVersion: v1\nitems:\n", "kind: List\nmetadata:\n  resourceVersion: \"\"\n"},
			"items at last": {"# a dump\napiVersion: v1\nkind: List\nmetadata: {}\nitems:\n", ""},
			"a typed List": {
				"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJobList\nitems:\n", ""},
		} {
			t.Run(name+indent, func(t *testing.T) {
				var b strings.Builder
				b.WriteString(around[0])
				for _, item := range items {
					for i, line := range strings.Split(strings.TrimSuffix(item, "\n"), "\n") {
						switch {
						case i == 0:
							b.WriteString(indent + "- ")
						case line != "":
							b.WriteString(indent + "  ")
						}
						b.WriteString(line + "\n")
					}
				}
				b.WriteString(around[1])
				text := b.String()
				documents, findings := manifest.Decode("dump.yaml", []byte(text))
				if findings != nil || len(documents) != len(items) {
					t.Fatalf("%d documents, want %d: %.500v", len(documents), len(items), findings)
				}
				lines := strings.Split(text, "\n")
				for i, d := range documents {
					if i%50 > 1 {
						continue // each parses its text again
					}
					alone, _ := manifest.Decode("dump.yaml", []byte(items[i]))
					if !reflect.DeepEqual(d.Object, alone[0].Object) {
						t.Errorf("document %d differs from a document of its own", i)
					}
					at := d.Position(fieldpath.Fields("metadata", "name"))
					if got, want := lines[at.Line-1],
						fmt.Sprintf("%s    name: job-%d", indent, i); got != want ||
						at.Column != len(indent)+5 {
						t.Errorf("the name of %d is at %s: %q, want %q", i, at, got, want)
					}
					if first := d.Position(nil); !strings.Contains(lines[first.Line-1],
						"- apiVersion") {
						t.Errorf("document %d is at %s: %q", i, first, lines[first.Line-1])
					}
				}
				objects := []manifest.Rewriting{
					{Document: documents[3], Fields: []string{"suspend"}}}
				if edits := manifest.Rewrite(objects); edits != nil || objects[0].Err == nil {
					t.Error("Rewrite edits a part of a List")
				}
				if _, err := documents[3].Replace([]byte("a: b")); err == nil {
					t.Error("Replace replaces a part of a List")
				}
				documents[3].Release()
			})
		}
	}
}

// TestDecode_LargeListRejected holds that other large documents stay rejected.
func TestDecode_LargeListRejected(t *testing.T) {
	items := "- " + strings.ReplaceAll(strings.Join(largeItems(), "- "), "\n", "\n  ")
	items = strings.ReplaceAll(items, "\n  - apiVersion", "\n- apiVersion")
	for name, text := range map[string]string{
		"another kind": "apiVersion: v1\nkind: ConfigMap\nitems:\n" + items,
		"an alias": "apiVersion: v1\nkind: List\nmetadata: {labels: &a {b: c}, annotations: " +
			"*a}\nitems:\n" + items,
		"no items": "apiVersion: v1\nkind: List\nx: |\n  " +
			strings.ReplaceAll(items, "\n", "\n  "),
		"a large head": "apiVersion: v1\nkind: List\nitems:\n- a: b\nmetadata:\n  name: " +
			strings.Repeat("x", 4<<20),
		"one TrainJob": "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: " +
			"{name: " + strings.Repeat("x", 4<<20) + "}",
		"a flow List": "{apiVersion: v1, kind: List, items: [" +
			strings.Repeat("{a: b},\n", 500_000) + "]}",
		"a large item": "apiVersion: v1\nkind: List\nitems:\n- a: " + strings.Repeat("x", 4<<20) +
			"\n",
		"empty items": "apiVersion: v1\nkind: List\nitems:\nmetadata: {name: " +
			strings.Repeat("x", 4<<20) + "}",
		"items, no end": "apiVersion: v1\nkind: List\nmetadata: {name: " +
			strings.Repeat("x", 4<<20) + "}\nitems:",
	} {
		documents, findings := manifest.Decode("dump.yaml", []byte(text))
		if len(findings) != 1 || !strings.Contains(findings[0].Message, "must have at most 3 MiB") {
			t.Errorf("%s: %d documents, %.500v", name, len(documents), findings)
		}
	}
	if text := "apiVersion: v1\nkind: List\nitems:\n" + items; len(text) < 3<<20 {
		t.Error("the List is too small for this test")
	} else if documents, findings := manifest.Decode("dump.yaml", []byte(text)); len(
		findings) != 0 || len(documents) != 200 {
		t.Errorf("%d documents, %.500v", len(documents), findings)
	} else if _, ok := documents[0].Object.(*trainer.TrainJob); !ok {
		t.Errorf("the first object is a %T", documents[0].Object)
	}
}
