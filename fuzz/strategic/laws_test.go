package strategic_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/engine"
	"github.com/trainweld/trainweld/schema"
)

// newManagers is a case of two or three patches, typed or objects, with directives or without.
func newManagers(directives bool) func(rand.Source) *merging {
	return func(from rand.Source) *merging {
		m, g := newBase(from)
		for range 2 + g.rng.IntN(2) {
			if g.chance(0.5) && !directives {
				m.patches = append(m.patches, g.make(m.typ))
			} else {
				m.patches = append(m.patches, g.object(m.typ, directives, false))
			}
		}
		return m
	}
}

// TestOverlapIsOrder: no overlap is reported if and only if every order of the patches gives the same value, up to the order
// inside list-maps and sets.
func TestOverlapIsOrder(t *testing.T) {
	t.Run("plain", func(t *testing.T) { forCases(t, 3_000, newManagers(false), overlapIsOrder) })
	t.Run("directives", func(t *testing.T) { forCases(t, 3_000, newManagers(true), overlapIsOrder) })
}

func overlapIsOrder(m *merging) string {
	if stricter(m) {
		return "" // two items of one key are an order of their own
	}
	result, err := apply(m, engine.Options{Owners: true})
	if err != nil {
		return ""
	}
	found := conflict.Find(result.Owners)
	one, other := "", ""
	allTake := permute(m.patches, func(order []any) bool {
		again, err := apply(&merging{typ: m.typ, base: m.base, patches: order}, engine.Options{})
		if err != nil {
			return false
		}
		outcome := unordered(m.typ, again.Value)
		if one == "" {
			one = outcome
		} else if outcome != one {
			other = outcome
		}
		return true
	})
	switch {
	case !allTake:
	case len(found) == 0 && other != "":
		return fmt.Sprintf("no overlap is reported, and the order decides:\n  %s\n  %s", one, other)
	case len(found) > 0 && other == "" && !slices.ContainsFunc(found, isOfValues):
		// One sets what its type encodes empty in any case, and another empties it.
	case len(found) > 0 && other == "":
		return fmt.Sprintf("every order gives the same value, and overlaps are reported: %v", found)
	}
	return ""
}

// isOfValues reports whether a claim of a conflict sets more than the empty value of its type.
func isOfValues(c conflict.Conflict) bool {
	return slices.ContainsFunc(c.Claims, func(claim engine.Claim) bool {
		v := reflect.ValueOf(claim.Value)
		return v.IsValid() && !v.IsZero() && !(v.Kind() == reflect.Slice && v.Len() == 0)
	})
}

// permute tries every order of the patches until one is refused.
func permute(patches []any, try func([]any) bool) bool {
	var place func(order []any, left []any) bool
	place = func(order, left []any) bool {
		if len(left) == 0 {
			return try(order)
		}
		for i := range left {
			if !place(append(slices.Clone(order), left[i]), slices.Delete(slices.Clone(left), i, i+1)) {
				return false
			}
		}
		return true
	}
	return place(nil, patches)
}

// unordered is a value's JSON, its list-maps and sets sorted.
func unordered(t reflect.Type, value any) string {
	var v any = jsonOf(value)
	sortLists(plans()[t].Type(), v)
	return string(encode(v))
}

func sortLists(t *schema.Type, v any) {
	if t == nil {
		return
	}
	switch v := v.(type) {
	case object:
		for name, value := range v {
			if list, ok := value.([]any); value == nil || ok && len(list) == 0 {
				delete(v, name) // where no omitempty tells a list without items from none
			}
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
				return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
			})
		}
	}
}

// TestPure: a merge changes none of its inputs, and its result shares no memory with them.
func TestPure(t *testing.T) { forCases(t, 2_000, newMerging, pure) }

func pure(m *merging) string {
	inputs := func() []byte { return append(encode(m.base), encode(m.patches)...) }
	before := inputs()
	merged, err := apply(m, engine.Options{Owners: true})
	if !bytes.Equal(inputs(), before) {
		return "the merge changed its inputs"
	}
	if err != nil {
		return ""
	}
	value, owners := encode(merged.Value), ownersText(merged.Owners)
	again, err := apply(m, engine.Options{})
	if err != nil {
		return fmt.Sprintf("the same merge without owners fails: %v", err)
	}
	scribble(reflect.ValueOf(again.Value))
	if !bytes.Equal(inputs(), before) {
		return "a change of the result changed the inputs"
	}
	kept := &merging{typ: m.typ, base: copyOf(m.typ, m.base)}
	for _, patch := range m.patches {
		if _, isObject := patch.(object); isObject {
			kept.patches = append(kept.patches, jsonOf(patch))
		} else {
			kept.patches = append(kept.patches, copyOf(m.typ, patch))
		}
	}
	scribble(reflect.ValueOf(m.base))
	for _, patch := range m.patches {
		scribble(reflect.ValueOf(patch))
	}
	*m = *kept // for the report
	if !bytes.Equal(encode(merged.Value), value) {
		return "a change of the inputs changed the result"
	}
	if now := ownersText(merged.Owners); now != owners {
		return fmt.Sprintf("a change of the inputs changed the claims from\n%s\nto\n%s", owners, now)
	}
	return ""
}

func copyOf(t reflect.Type, v any) any {
	copied, err := decode(t, encode(v))
	if err != nil {
		panic(err)
	}
	return copied
}

func ownersText(o *engine.Ownership) string {
	var s bytes.Buffer
	for path, claims := range o.All() {
		fmt.Fprintf(&s, "%s", path)
		for _, c := range claims {
			text, err := json.Marshal(c.Value)
			fmt.Fprintf(&s, " %s=%s%v", c.Layer, text, err)
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// scribble changes whatever can be reached from a value, but for what its type hides.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			scribble(v.MapIndex(key))
			v.SetMapIndex(key, reflect.Value{})
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanInterface() {
				scribble(v.Field(i))
			}
		}
	}
	if v.CanSet() && v.Kind() != reflect.Struct {
		v.SetZero()
	}
}

// FuzzEngine compares what any bytes make with upstream, and holds the other laws.
func FuzzEngine(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, []byte{})
	}
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		for _, law := range []func(*merging) string{
			func(m *merging) string { differs, _ := compare(m); return differs },
			overlapIsOrder, pure,
		} {
			m := newMerging(&choices{data, rand.NewPCG(seed, 0)})
			if len(m.patches) > 3 {
				m.patches = m.patches[:3]
			}
			if broken := law(m); broken != "" {
				t.Errorf("%s\n%s", broken, m)
			}
		}
	})
}

// choices makes the choices that its bytes say, and random ones when they are used up.
type choices struct {
	data []byte
	rest *rand.PCG
}

func (c *choices) Uint64() uint64 {
	if len(c.data) < 2 {
		return c.rest.Uint64()
	}
	choice := uint64(binary.LittleEndian.Uint16(c.data)) << 48 // the generator looks at the high bits
	c.data = c.data[2:]
	return choice | c.rest.Uint64()>>16
}
