package policy

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trainweld/trainweld/fieldpath"
)

// TestPatterns compares what the tree of patterns finds with the patterns that match one by one.
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
		list, p := make([]fieldpath.Path, random.IntN(12)), &patterns{}
		for i := range list {
			list[i] = draw()
			p.add(list[i])
		}
		path := draw()
		matches := slices.ContainsFunc(list, path.Matches)
		goesOn := slices.ContainsFunc(list, func(pattern fieldpath.Path) bool {
			return len(pattern) > len(path) && path.Matches(pattern[:len(path)])
		})
		if gotMatches, gotOn := p.find(path); gotMatches != matches || gotOn != goesOn {
			t.Fatalf("find(%s) = %t, %t of %v, want %t, %t", path, gotMatches, gotOn, list, matches,
				goesOn)
		}
		if matches {
			found++
		}
		if goesOn {
			within++
		}
	}
	if found < 500 || within < 500 {
		t.Errorf("%d patterns match, and %d go on: the paths are too rare", found, within)
	}
}
