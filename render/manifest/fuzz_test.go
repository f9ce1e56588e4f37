package manifest_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest"
)

// FuzzChange changes a field of any text. An edited text has the same objects, the field is as
// wanted, and no other object differs.
func FuzzChange(f *testing.F) {
	const text = "# head\napiVersion: v1\nkind: ConfigMap\nspec:\n  a: &a {b: 1} # c\n  l:\n  - " +
		"x\n  - {y: z}\n  m: |\n    text\n  n: *a\n---\nkind: A\nspec: {a: [1, 2]}\n"
	for _, path := range []string{"spec.a.b", "spec.l[0]", "spec.l[1].y", "spec.m", "spec.n",
		"spec.new.deep", "spec.l", "metadata.labels[\"a\"]", "kind", ""} {
		for do := range uint8(5) {
			f.Add([]byte(text), path, do, `"x: y"`)
			f.Add([]byte(`{"kind":"A","spec":{"a":{"b":1},"l":["x",{"y":"z"}],"m":null}}`), path,
				do, `{"a":["b",1,null]}`)
		}
	}
	f.Add([]byte("kind: A\r\nspec:\r\n- a\r\n-\r\n  b: c"), "spec[1]", uint8(1), "[]")
	f.Fuzz(func(t *testing.T, data []byte, at string, do uint8, text string) {
		path, err := fieldpath.ParsePath(at)
		var value any
		if err != nil || len(data) > 1<<13 || json.Unmarshal([]byte(text), &value) != nil {
			t.Skip("no path or no value")
		}
		if len(path) == 0 ||
			slices.Contains([]string{".kind", ".apiVersion", ".items"}, path[:1].String()) {
			t.Skip("an object may become none, or a list")
		}
		before, _ := manifest.Decode("f", data)
		if len(before) == 0 {
			return
		}
		kind := []manifest.ChangeKind{manifest.RemoveField, manifest.ReplaceField}[do%2]
		objects := []manifest.Rewriting{
			{Document: before[0],
				Changes: []manifest.Change{{Path: path, Do: kind, Value: value, Name: "renamed"}}}}
		edits := manifest.Rewrite(objects)
		if objects[0].Err != nil {
			return
		}
		for _, e := range edits {
			if e.Start < 0 || e.Start > e.End || e.End > len(data) {
				t.Fatalf("an edit of %d bytes at %+v", len(data), e)
			}
		}
		changed := manifest.ApplyEdits(data, edits)
		after, _ := manifest.Decode("f", changed)
		if len(after) != len(before) {
			t.Fatalf("%d objects become %d\n%s\nto\n%s", len(before), len(after), data, changed)
		}
		for i, d := range before[1:] {
			was, _ := d.Fields()
			if is, _ := after[i+1].Fields(); !reflect.DeepEqual(was, is) {
				t.Errorf("another object changes from %v to %v\n%s\nto\n%s", was, is, data, changed)
			}
		}
		switch kind {
		case manifest.RemoveField:
			if _, isItem := path[len(path)-1].Index(); !isItem && after[0].Has(path) {
				t.Errorf("%s is still set\n%s\nto\n%s", path, data, changed)
			}
		case manifest.ReplaceField:
			if renamed := path[:len(path)-1].Append(fieldpath.Field("renamed")); !after[0].Has(
				renamed) {
				t.Errorf("%s is not at %s\n%s\nto\n%s", path, renamed, data, changed)
			}
		}
	})
}
