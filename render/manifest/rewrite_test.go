package manifest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest"
)

// TestReplaceField replaces fields of an object in its text, and leaves the rest as it is.
func TestReplaceField(t *testing.T) {
	const head = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"
	value := map[string]any{"b": "x", "c": []any{"1", "two"}}
	tests := []struct {
		name, file, want, reason string
		isRemoved, isReversed    bool
		rejected                 string
	}{
		{
			name: "in place",
			file: head + "spec:\n  # of labels\n  labels:\n    b: 'x' # of b\n  suspend:   true\n",
			want: head +
				"spec:\n  # of labels\n  # of b\n  made:\n    b: x\n    c:\n    - \"1\"\n    - " +
				"two\n  suspend: true\n",
			reason: "comments of what was there stand above the new field",
		},
		{
			name: "the last of two",
			file: head + "spec:\n  annotations: {c: d}\n  labels:\n    b: y\n",
			want: head + "spec:\n  made:\n    b: x\n    c:\n    - \"1\"\n    - two\n",
			reason: "two fields go, and the new one takes the place of the second in the " +
				"caller's list",
		},
		{
			name: "the order of the caller", isReversed: true,
			file: head + "spec:\n  labels:\n    b: y\n\n  annotations:\n    c: d\n\n  suspend: " +
				"true\n",
			want: head +
				"spec:\n  made:\n    b: x\n    c:\n    - \"1\"\n    - two\n  suspend: true\n",
			reason: "the new field is where the last of the list was",
		},
		{
			name: "lost comments",
			file: head + "spec:\n  annotations:\n    # of c\n    c: d # too\n    # after c\n  " +
				"labels:\n    b: x\n",
			want: head +
				"spec:\n  # of c\n  # after c\n  # too\n  made:\n    b: x\n    c:\n    - \"1\"\n " +
				"   - two\n",
			reason: "what has no place any more stands before the new field",
		},
		{
			name: "nothing instead", file: head + "spec:\n  labels: {}\n  suspend: true\n",
			isRemoved: true,
			want:      head + "spec:\n  suspend: true\n", reason: "fields can go without another",
		},
		{
			name: "no line break at the end", file: head + "spec:\n  labels: {b: x}",
			want:   head + "spec:\n  made:\n    b: x\n    c:\n    - \"1\"\n    - two",
			reason: "nor in the new text",
		},
		{
			name: "CRLF",
			file: strings.ReplaceAll(head+"spec:\n  labels:\n    b: x\n", "\n", "\r\n"),
			want: strings.ReplaceAll(
				head+"spec:\n  made:\n    b: x\n    c:\n    - \"1\"\n    - two\n", "\n", "\r\n"),
			reason: "lines end as the file's do",
		},
		{
			name: "lists indented",
			file: head + "metadata:\n  finalizers:\n    - a.example/b\nspec:\n  labels:\n    b: x\n",
			want: head +
				"metadata:\n  finalizers:\n    - a.example/b\nspec:\n  made:\n    b: x\n    c:\n " +
				"     - \"1\"\n      - two\n",
			reason: "lists are indented as the document's are",
		},
		{
			name: "an item of a List", file: "apiVersion: v1\nkind: List\nitems:\n- " +
				strings.ReplaceAll(head, "\n", "\n  ") +
				"spec:\n    labels:\n      b: x\n    suspend: true\n",
			want: "apiVersion: v1\nkind: List\nitems:\n- " +
				strings.ReplaceAll(head, "\n", "\n  ") +
				"spec:\n    made:\n      b: x\n      c:\n      - \"1\"\n      - two\n    " +
				"suspend: true\n",
			reason: "an item also has lines of its own",
		},
		{
			name:   "JSON on one line",
			file:   `{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "spec": {"labels": {"b": "x"},  "suspend":true}}`,
			want:   `{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "spec": {"made": {"b": "x", "c": ["1", "two"]}, "suspend": true}}`,
			reason: "the object stays on one line",
		},
		{
			name: "JSON on several",
			file: "{\"apiVersion\": \"trainer.kubeflow.org/v1alpha1\", \"kind\": \"TrainJob\",\n " +
				"\"spec\": {\n   \"annotations\": {},\n   \"suspend\": true,\n   \"labels\": " +
				"{}\n }}",
			want: "{\n \"apiVersion\": \"trainer.kubeflow.org/v1alpha1\",\n \"kind\": " +
				"\"TrainJob\",\n \"spec\": {\n  \"suspend\": true,\n  \"made\": {\n   \"b\": " +
				"\"x\",\n   \"c\": [\n    \"1\",\n    \"two\"\n   ]\n  }\n }\n}",
			reason: "it is indented as its neighbours are",
		},
		{name: "braces", file: head + "spec: {labels: {b: x}}\n",
			want:   head + "spec: {made: {b: x, c: [\"1\", two]}}\n",
			reason: "the new field also stands in braces"},
		{
			name: "lost comments in braces",
			file: head + "spec: {\n  # of labels\n  labels: {\n    # of c\n    c: d},\n  " +
				"suspend: true}\n",
			want: head +
				"spec: {\n  # of labels\n  # of c\n  made: {b: x, c: [\"1\", two]}, suspend: " +
				"true}\n",
			reason: "what has no place any more stands before the new field",
		},
		{
			name:   "comments without a line",
			file:   head + "spec: {suspend: true, labels: {\n    # of c\n    c: d}}\n",
			want:   head + "spec: {suspend: true,\n  # of c\n  made: {b: x, c: [\"1\", two]}}\n",
			reason: "a comment gets a line",
		},
		{name: "an alias",
			file: head + "metadata:\n  annotations: &a\n    c: d\nspec:\n  labels: *a\n",
			want: head + "metadata:\n  annotations: &a\n    c: d\nspec:\n  made:\n    b: x\n    c:\n    - " +
				"\"1\"\n    - two\n", reason: "what it refers to stays where it is"},
		{name: "an anchor",
			file:     head + "spec:\n  labels: &a\n    c: d\nmetadata:\n  annotations: *a\n",
			rejected: ".spec.labels: it has an anchor in use", reason: "they would lose it"},
		{name: "a merge key",
			file:     head + "metadata:\n  annotations: &a {labels: {b: x}}\nspec:\n  <<: *a\n",
			rejected: ".spec.labels: it comes from a merge key",
			reason:   "the text of another field says it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			documents, _ := manifest.Decode("f", []byte(tt.file))
			if len(documents) == 0 {
				t.Fatal("nothing is read")
			}
			var changes []manifest.Change
			for _, name := range []string{"annotations", "labels"} {
				if path := fieldpath.Fields("spec", name); documents[0].Has(path) {
					changes = append(changes, manifest.Change{Path: path, Do: manifest.RemoveField})
				}
			}
			if tt.isReversed {
				slices.Reverse(changes)
			}
			if last := &changes[len(changes)-1]; !tt.isRemoved {
				last.Do, last.Name, last.Value = manifest.ReplaceField, "made", value
			}
			objects := []manifest.Rewriting{{Document: documents[0], Changes: changes}}
			edits, err := manifest.Rewrite(objects), objects[0].Err
			switch {
			case tt.rejected != "":
				if err == nil || !strings.HasPrefix(err.Error(), tt.rejected) {
					t.Errorf("%s: %v, want %s", tt.reason, err, tt.rejected)
				}
				return
			case err != nil:
				t.Fatal(err)
			}
			if got := string(manifest.ApplyEdits([]byte(tt.file), edits)); got != tt.want {
				t.Errorf("%s: got\n%s\nwant\n%s", tt.reason, got, tt.want)
			}
		})
	}
}

// TestReplace puts a text in place of one document of a file.
func TestReplace(t *testing.T) {
	const other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"
	tests := []struct {
		name, file, want, reason string
		rejected                 bool
	}{
		{name: "alone", file: other, want: "NEW\n", reason: "the document is the file"},
		{
			name: "comments around", file: "# before\n\n" + other + "\n# after\n",
			want:   "# before\n\nNEW\n\n# after\n",
			reason: "comments before the object and after it are not its own",
		},
		{
			name: "a separator", file: "---\n" + other + "---\n# next\n" + other,
			want:   "---\nNEW\n---\n# next\n" + other,
			reason: "the separators of the stream stay",
		},
		{
			name: "CRLF", file: "# c\r\nkind: ConfigMap\r\napiVersion: v1\r\n",
			want: "# c\r\nNEW\n", reason: "lines may end otherwise",
		},
		{
			name:   "JSON values",
			file:   `{"apiVersion": "v1", "kind": "ConfigMap"} {"apiVersion": "v1", "kind": "ConfigMap", "data": {}}`,
			want:   "NEW\n {\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"data\": {}}",
			reason: "the value itself, and nothing around it",
		},
		{name: "an item of a List",
			file:     "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap}\n",
			rejected: true, reason: "an item has no room for two"},
		{name: "a JSON array",
			file: `[{"apiVersion": "v1", "kind": "Secret"}, {"apiVersion": "v1", "kind": "Secret"}]`, rejected: true, reason: "an element neither"},
		{name: "an item of a JSON List",
			file: `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap"}]}`, rejected: true, reason: "nor an item of JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			documents, findings := manifest.Decode("f", []byte(tt.file))
			if err := findings.Err(); err != nil || len(documents) == 0 {
				t.Fatal(err)
			}
			edit, err := documents[0].Replace([]byte("NEW\n"))
			if (err != nil) != tt.rejected {
				t.Fatalf("%s: %v", tt.reason, err)
			}
			if err != nil {
				return
			}
			if got := string(
				manifest.ApplyEdits([]byte(tt.file), []manifest.Edit{edit})); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.reason, got, tt.want)
			}
		})
	}
}
