package manifest_test

import (
	"testing"

	"github.com/trainweld/trainweld/manifest"
)

// TestReplace puts a text in place of one document of a file.
func TestReplace(t *testing.T) {
	const other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"
	tests := []struct {
		name, file, want, reason string
		refused                  bool
	}{
		{name: "alone", file: other, want: "NEW\n", reason: "the document is the file"},
		{
			name: "comments around", file: "# before\n\n" + other + "\n# after\n", want: "# before\n\nNEW\n\n# after\n",
			reason: "comments before the object and after it are not its own",
		},
		{
			name: "a separator", file: "---\n" + other + "---\n# next\n" + other, want: "---\nNEW\n---\n# next\n" + other,
			reason: "the separators of the stream stay",
		},
		{
			name: "CRLF", file: "# c\r\nkind: ConfigMap\r\napiVersion: v1\r\n", want: "# c\r\nNEW\n", reason: "lines may end otherwise",
		},
		{
			name: "JSON values", file: `{"apiVersion": "v1", "kind": "ConfigMap"} {"apiVersion": "v1", "kind": "ConfigMap", "data": {}}`,
			want: "NEW\n {\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"data\": {}}", reason: "the value itself, and nothing around it",
		},
		{name: "an item of a List", file: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap}\n", refused: true, reason: "an item has no room for two"},
		{name: "a JSON array", file: `[{"apiVersion": "v1", "kind": "ConfigMap"}, {"apiVersion": "v1", "kind": "ConfigMap"}]`, refused: true, reason: "an element neither"},
		{name: "an item of a JSON List", file: `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap"}]}`, refused: true, reason: "nor an item of JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			documents, findings := manifest.Decode("f", []byte(tt.file))
			if err := findings.Err(); err != nil || len(documents) == 0 {
				t.Fatal(err)
			}
			edit, err := documents[0].Replace([]byte("NEW\n"))
			if (err != nil) != tt.refused {
				t.Fatalf("%s: %v", tt.reason, err)
			}
			if err != nil {
				return
			}
			if got := string(manifest.ApplyEdits([]byte(tt.file), []manifest.Edit{edit})); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.reason, got, tt.want)
			}
		})
	}
}
