package strategic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/internal/casefile"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// newManagers is a case of two to five managers, with patches of all kinds.
func newManagers(from rand.Source) *Case {
	m, g := newBase(from)
	for range 2 + g.rng.IntN(4) {
		switch g.rng.IntN(10) {
		case 0, 1, 2:
			m.Patches = append(m.Patches, g.make(m.Type))
		case 3, 4, 5:
			m.Patches = append(m.Patches, g.object(m.Type, oddities{}))
		case 6, 7, 8:
			m.Patches = append(m.Patches, g.object(m.Type, oddities{directives: true}))
		default:
			m.Patches = append(m.Patches, g.object(m.Type, oddities{directives: true, wild: true}))
		}
	}
	return m
}

// TestOverlapIsOrder checks that an overlap is reported if and only if two orders of the patches
// give another value, or one cannot be merged. The order inside list-maps and sets does not count.
// Patches with directives are counted apart.
func TestOverlapIsOrder(t *testing.T) {
	var plain, directed tally
	ForCases(t, 10_000, newManagers, func(m *Case) string {
		result, err := apply(m)
		if err != nil {
			return ""
		}
		count := &plain
		if Directs(m) {
			count = &directed
		}
		return count.overlapIsOrder(m, result.History)
	})
	t.Logf("plain patches: %v; with directives: %v", &plain, &directed)
}

// tally counts sets of patches of which overlaps are missed, or reported without a reason.
type tally struct{ sets, overlaps, missed, false atomic.Int64 }

func (c *tally) String() string {
	return fmt.Sprintf("%d sets, %d with overlaps, %d missed, %d false", c.sets.Load(),
		c.overlaps.Load(), c.missed.Load(), c.false.Load())
}

func (c *tally) overlapIsOrder(m *Case, history *merge.History) string {
	c.sets.Add(1)
	found := slices.DeleteFunc(conflict.Find(history), func(c conflict.Conflict) bool {
		return c.Kind != conflict.Overlap
	})
	one, other := "", ""
	fuzz.Permute(slices.Clone(m.Patches), func(order []any) bool {
		outcome := "it cannot be merged"
		if again, err := apply(&Case{Type: m.Type, Base: m.Base, Patches: order}); err == nil {
			outcome = unordered(m.Type, again.Value)
		}
		if one == "" {
			one = outcome
		} else if outcome != one {
			other = outcome
		}
		return other == ""
	})
	switch {
	case len(found) == 0 && other != "":
		c.missed.Add(1)
		return fmt.Sprintf("no overlap is reported, and the order decides:\n  %s\n  %s", one, other)
	case len(found) > 0 && other == "":
		c.false.Add(1)
		return fmt.Sprintf("every order gives the same value, and overlaps are reported: %v", found)
	case len(found) > 0:
		c.overlaps.Add(1)
	}
	return ""
}

func overlapIsOrder(m *Case) string {
	result, err := apply(m)
	if err != nil {
		return ""
	}
	return new(tally).overlapIsOrder(m, result.History)
}

// TestIdenticalPatches: managers with the same patch do not conflict.
func TestIdenticalPatches(t *testing.T) {
	ForCases(t, 3_000, func(from rand.Source) *Case {
		m, g := newBase(from)
		patch := any(g.object(m.Type, oddities{directives: true, wild: g.chance(0.5)}))
		if g.chance(0.2) {
			patch = g.make(m.Type)
		}
		m.Patches = append(m.Patches, patch, JSON(patch))
		if g.chance(0.3) {
			m.Patches = append(m.Patches, patch)
		}
		return m
	}, func(m *Case) string {
		for _, patch := range m.Patches {
			if !reflect.DeepEqual(JSON(patch), JSON(m.Patches[0])) {
				return "" // made smaller, they differ
			}
		}
		result, err := apply(m)
		if err != nil {
			return ""
		}
		if found := conflict.Find(result.History); len(found) > 0 {
			return fmt.Sprintf("identical patches overlap: %v", found)
		}
		return ""
	})
}

// unordered is a value's JSON, its list-maps and sets sorted.
func unordered(t reflect.Type, value any) string {
	var v any = JSON(value)
	sortLists(types()[t], v)
	return string(Encode(v))
}

func sortLists(t *schema.Type, v any) {
	if t == nil {
		return
	}
	switch v := v.(type) {
	case object:
		for name, value := range v {
			if t.Kind == schema.Map {
				sortLists(t.Elem, value)
			} else if f := t.Field(name); f != nil {
				sortLists(f.Type, value)
			}
		}
	case []any:
		for _, item := range v {
			sortLists(t.Elem, item)
		}
		if t.Kind == schema.ListMap || t.Kind == schema.Set {
			slices.SortStableFunc(v, func(a, b any) int {
				if t.Kind == schema.ListMap {
					a, b = a.(object)[t.Key], b.(object)[t.Key]
				}
				return cmp.Compare(string(Encode(a)), string(Encode(b)))
			})
		}
	}
}

// TestOverlapIsOrder_Cases shows one by one what random cases have found.
func TestOverlapIsOrder_Cases(t *testing.T) {
	for _, c := range casefile.Table[struct {
		Reason, Type string
		Base         json.RawMessage
		Patches      []json.RawMessage
		Overlap      bool
	}](t, "testdata/overlaps.yaml") {
		t.Run(c.Reason, func(t *testing.T) {
			all := kinds()
			m := &Case{Type: all[slices.IndexFunc(all, func(t reflect.Type) bool {
				return strings.HasSuffix(t.PkgPath()+"."+t.Name(), "/"+c.Type)
			})]}
			var err error
			if m.Base, err = Decode(m.Type, []byte(cmp.Or(string(c.Base), "{}"))); err != nil {
				t.Fatal(err)
			}
			for _, patch := range c.Patches {
				m.Patches = append(m.Patches, JSON(patch))
			}
			for i := range 2 {
				result, err := apply(m)
				if err != nil {
					t.Fatal(err)
				}
				if found := conflict.Find(result.History); i == 0 && len(found) > 0 != c.Overlap {
					t.Errorf("Find = %v, want overlap %t", found, c.Overlap)
				}
				if broken := overlapIsOrder(m); broken != "" {
					t.Error(broken)
				}
				slices.Reverse(m.Patches)
			}
		})
	}
}

// FuzzEngine compares what any bytes make with upstream, and holds the other laws.
func FuzzEngine(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, []byte{})
	}
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		for _, law := range []func(*Case) string{
			func(m *Case) string { differs, _ := compare(m); return differs },
			overlapIsOrder, pure,
		} {
			m := NewCase(&fuzz.Choices{Data: data, Rest: rand.NewPCG(seed, 0)})
			if len(m.Patches) > 3 {
				m.Patches = m.Patches[:3]
			}
			if broken := law(m); broken != "" {
				t.Errorf("%s\n%s", broken, m)
			}
		}
	})
}
