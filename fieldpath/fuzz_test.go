package fieldpath_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
)

// FuzzParsePath reads any text as a path. A path that it reads is written in one form, which reads
// as the same path.
func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{
		"", ".", "spec.replicatedJobs[name=\"node\"].template", ".a[0][1]", "a[node]",
		"a[name=node]", "[\"a.b/c\"]", "a[=1.5]", "a[={\"x\":[1]}]",
		"a[k=\"x\",p=80]", "a[k=\"]\"]", "a[\"\\u0000\\\"\"]", "a[k=null]", "a[99999999999]",
		"a[-1]", "a[", "a[\"", "a..b", "a b", "é[ü=\"ß\"]", "\xff[\xfe]", "a[*].b", "a[\"*\"]",
		"a[*=\"x\"]", "a[\"k=\"=1,\"\"=2]", "a[=-0]", "a[k=a,b=c]",
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
		if again.String() != written || !slices.Equal(again, path) {
			t.Errorf("ParsePath(%q) = %s, which reads as %s", text, written, again)
		}
		if !path.HasPrefix(again[:len(again)/2]) {
			t.Errorf("%s does not begin with its own half %s", path, again[:len(again)/2])
		}
	})
}

// TestPathString: whatever a path holds, what it prints reads as the same path.
func TestPathString(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	words := []string{"", "a", "name", "a.b/c", "*", "0", "-1", "null", "1.5", "true", "x y", `"`,
		`'`, `\`, "=", ",", ",k=", "[", "]", "[*]", "ü\n", "\u2028"}
	word := func() (text string) {
		for range 1 + random.IntN(3) {
			text += words[random.IntN(len(words))]
		}
		return text
	}
	scalar := func() any {
		return []any{word(), int64(random.IntN(9) - 4), random.NormFloat64(), 1e21,
			math.Copysign(0, -1), math.MaxInt64, true, nil}[random.IntN(8)]
	}
	for range 50_000 {
		var path fieldpath.Path
		for range random.IntN(4) {
			var keys []fieldpath.ItemKey
			for range 1 + random.IntN(3) {
				keys = append(keys, fieldpath.ItemKey{Name: word(), Value: scalar()})
			}
			path = append(path, []fieldpath.Step{
				fieldpath.Field(word()), fieldpath.Item(word(), word()), fieldpath.ItemBy(keys...),
				fieldpath.Key(word()), fieldpath.Element(word()),
				fieldpath.ElementOf(scalar()), fieldpath.Index(random.IntN(1 << 31)),
				fieldpath.Any(),
			}[random.IntN(8)])
		}
		if again, err := fieldpath.ParsePath(path.String()); err != nil ||
			!slices.Equal(again, path) {
			t.Fatalf("%#v prints %s, which reads as %#v, %v", path, path, again, err)
		}
	}
}
