package manifest_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/render/manifest"
)

// FuzzChange changes a field of any text. An edited text has the same objects, the field is as
// wanted, and no other object differs.
func FuzzChange(f *testing.F) {
	const text = "# head\napiVersion: v1\nkind: ConfigMap\nspec:\n  a: &a {b: 1} # c\n  l:\n  - " +
		"x\n  - {y: z}\n  m: |\n    text\n  n: *a\n---\nkind: A\nspec: {a: [1, 2]}\n"
	for _, name := range []string{"a", "l", "m", "n", "new", ""} {
		for _, made := range []string{"", "renamed"} {
			f.Add([]byte(text), name, made, `"x: y"`)
			f.Add([]byte(`{"kind":"A","spec":{"a":{"b":1},"l":["x",{"y":"z"}],"m":null}}`), name,
				made, `{"a":["b",1,null]}`)
		}
	}
	f.Add([]byte("kind: A\r\nspec:\r\n  a:\r\n  - a\r\n  -\r\n    b: c"), "a", "renamed", "[]")
	f.Fuzz(func(t *testing.T, data []byte, name, made, text string) {
		var value any
		if len(data) > 1<<13 || json.Unmarshal([]byte(text), &value) != nil {
			t.Skip("no value")
		}
		before, _ := manifest.Decode("f", data)
		if len(before) == 0 {
			return
		}
		objects := []manifest.Rewriting{
			{Document: before[0], Fields: []string{name}, Name: made, Value: value}}
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
		if made != name && after[0].Has(fieldpath.Fields("spec", name)) {
			t.Errorf("%s is still set\n%s\nto\n%s", name, data, changed)
		}
		if made != "" && !after[0].Has(fieldpath.Fields("spec", made)) {
			t.Errorf("%s is not set\n%s\nto\n%s", made, data, changed)
		}
	})
}
