package fieldpath_test

import (
	"slices"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
)

// FuzzParsePath reads any text as a path. A path that it reads is written in one form, which reads as the same path.
func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{
		"", ".", "spec.replicatedJobs[name=\"node\"].template", ".a[0][1]", "a[node]", "a[name=node]", "[\"a.b/c\"]", "a[=1.5]", "a[={\"x\":[1]}]",
		"a[k=\"x\",p=80]", "a[k=\"]\"]", "a[\"\\u0000\\\"\"]", "a[k=null]", "a[99999999999]", "a[-1]", "a[", "a[\"", "a..b", "a b", "é[ü=\"ß\"]", "\xff[\xfe]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := fieldpath.ParsePath(text)
		if err != nil {
			if path != nil {
				t.Errorf("ParsePath(%q) = %s with the error %v", text, path, err)
			}
			return
		}
		written := path.String()
		again, err := fieldpath.ParsePath(written)
		if err != nil {
			t.Fatalf("ParsePath(%q) = %s, which cannot be read: %v", text, written, err)
		}
		if again.String() != written || !slices.Equal(again, path) && again.String() != path.String() {
			t.Errorf("ParsePath(%q) = %s, which reads as %s", text, written, again)
		}
		if !path.HasPrefix(again[:len(again)/2]) {
			t.Errorf("%s does not begin with its own half %s", path, again[:len(again)/2])
		}
	})
}
