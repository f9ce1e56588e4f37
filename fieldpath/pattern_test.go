package fieldpath_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
)

// TestPatterns compares the patterns that an index finds with the patterns that match one by one.
func TestPatterns(t *testing.T) {
	steps := []fieldpath.Step{
		fieldpath.Field("a"), fieldpath.Field("b"), fieldpath.Key("a"), fieldpath.Key(""),
		fieldpath.Any(), fieldpath.Any(), fieldpath.Any(),
		fieldpath.Item("name", "a"), fieldpath.Item("name", ""), fieldpath.Element("a"),
		fieldpath.Index(0),
		fieldpath.ItemBy(fieldpath.ItemKey{Name: "name", Value: "a"},
			fieldpath.ItemKey{Name: "port", Value: 1}),
	}
	random := rand.New(rand.NewPCG(1, 2))
	draw := func() fieldpath.Path {
		path := make(fieldpath.Path, random.IntN(4))
		for i := range path {
			path[i] = steps[random.IntN(len(steps))]
		}
		return path
	}
	found, within := 0, 0
	for range 2000 {
		list := make([]fieldpath.Path, random.IntN(30))
		for i := range list {
			list[i] = draw()
		}
		patterns, path := fieldpath.NewPatterns(list), draw()
		var want []int
		goesOn := false
		for i, pattern := range list {
			if path.Matches(pattern) {
				want = append(want, i)
			}
			goesOn = goesOn || len(pattern) > len(path) && path.Matches(pattern[:len(path)])
		}
		got := slices.Sorted(patterns.Matching(path))
		if !slices.Equal(got, want) {
			t.Fatalf("Matching(%s) = %v of %v, want %v", path, got, list, want)
		}
		if got := patterns.HasWithin(path); got != goesOn {
			t.Fatalf("HasWithin(%s) = %t of %v, want %t", path, got, list, goesOn)
		}
		if found += len(want); goesOn {
			within++
		}
	}
	if found < 500 || within < 500 {
		t.Errorf("%d patterns match, and %d go on: the paths are too rare", found, within)
	}
}
