package manifest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/render/manifest"
)

// TestRewriting replaces fields of an object in its text, and leaves the rest as it is.
func TestRewriting(t *testing.T) {
	value := map[string]any{"b": "x", "c": []any{"1", "two"}}
	for _, tt := range casefile.Table[struct {
		Name, File, Want, Reason string
		IsRemoved, IsReversed    bool
		Rejected                 string
	}](t, "testdata/replaced.yaml") {
		t.Run(tt.Name, func(t *testing.T) {
			documents, _ := manifest.Decode("f", []byte(tt.File))
			if len(documents) == 0 {
				t.Fatal("nothing is read")
			}
			r := manifest.Rewriting{Document: documents[0], Name: "made", Value: value}
			for _, name := range []string{"annotations", "labels"} {
				if documents[0].Has(fieldpath.Fields("spec", name)) {
					r.Fields = append(r.Fields, name)
				}
			}
			if tt.IsReversed {
				slices.Reverse(r.Fields)
			}
			if tt.IsRemoved {
				r.Name = ""
			}
			objects := []manifest.Rewriting{r}
			edits, err := manifest.Rewrite(objects), objects[0].Err
			switch {
			case tt.Rejected != "":
				if err == nil || !strings.HasPrefix(err.Error(), tt.Rejected) {
					t.Errorf("%s: %v, want %s", tt.Reason, err, tt.Rejected)
				}
				return
			case err != nil:
				t.Fatal(err)
			}
			if got := string(manifest.ApplyEdits([]byte(tt.File), edits)); got != tt.Want {
				t.Errorf("%s: got\n%s\nwant\n%s", tt.Reason, got, tt.Want)
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
