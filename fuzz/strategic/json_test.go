package strategic

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	kjson "sigs.k8s.io/json"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/origins"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// jsonMerging is a base without a schema and the patches of three managers at most.
type jsonMerging struct {
	base    merge.Object
	patches []merge.Object
}

// newJSON draws a case of few keys, so that patches meet.
func newJSON(rng *rand.Rand) jsonMerging {
	m := jsonMerging{base: jsonObject(rng, 3, 0)}
	for range 1 + rng.IntN(3) {
		m.patches = append(m.patches, jsonObject(rng, 3, 0.25))
	}
	return m
}

func jsonObject(rng *rand.Rand, deep int, null float64) merge.Object {
	o := merge.Object{}
	for range rng.IntN(4) {
		o[string(rune('a'+rng.IntN(3)))] = jsonValue(rng, deep-1, null)
	}
	return o
}

func jsonValue(rng *rand.Rand, deep int, null float64) any {
	switch n := rng.IntN(6); {
	case rng.Float64() < null:
		return nil
	case n < 3 && deep > 0:
		return jsonObject(rng, deep, null)
	case n < 4:
		list := make([]any, rng.IntN(3))
		for i := range list {
			list[i] = jsonValue(rng, deep-1, null)
		}
		return list
	default:
		return []any{"x", int64(1), true, 1.5, ""}[rng.IntN(5)]
	}
}

func (m *jsonMerging) apply(order []int) (*merge.Result[merge.Object], error) {
	layered := make([]merge.Patch, len(order))
	for i, patch := range order {
		layered[i] = merge.Patch{Manager: fmt.Sprint("manager-", patch), Value: m.patches[patch]}
	}
	return merge.StrategicObject(nil, m.base, layered)
}

// rfc7386 is MergePatch of the RFC, line by line.
func rfc7386(target, patch any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	merged, _ := target.(map[string]any)
	merged = maps.Clone(merged)
	if merged == nil {
		merged = map[string]any{}
	}
	for name, value := range fields {
		if value == nil {
			delete(merged, name)
		} else {
			merged[name] = rfc7386(merged[name], value)
		}
	}
	return merged
}

// hasNullInList reports whether a list holds an object with a null. The library drops most of
// these, and the RFC says nothing of them.
func hasNullInList(patches []merge.Object) bool {
	var within func(v any, inList bool) bool
	within = func(v any, inList bool) bool {
		switch v := v.(type) {
		case map[string]any:
			for _, field := range v {
				if field == nil && inList || within(field, inList) {
					return true
				}
			}
		case []any:
			return slices.ContainsFunc(v, func(item any) bool { return within(item, true) })
		}
		return false
	}
	return slices.ContainsFunc(patches, func(p merge.Object) bool { return within(p, false) })
}

// TestJSONMerge compares with the algorithm of the RFC and with the library of the API server. It
// also checks the law of overlaps.
func TestJSONMerge(t *testing.T) {
	overlaps := 0
	for seed := range uint64(20_000) {
		m := newJSON(rand.New(rand.NewPCG(seed, 3)))
		before, _ := json.Marshal([]any{m.base, m.patches})
		order := make([]int, len(m.patches))
		for i := range order {
			order[i] = i
		}
		result, err := m.apply(order)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want := any(m.base)
		for _, patch := range m.patches {
			want = rfc7386(want, patch)
		}
		if !reflect.DeepEqual(any(result.Value), want) {
			t.Fatalf("seed %d: %s\nmerged to %v, want %v", seed, before, result.Value, want)
		}
		if want := upstreamJSON(t, m); !hasNullInList(m.patches) &&
			!reflect.DeepEqual(result.Value, want) {
			t.Fatalf("seed %d: %s\nmerged to %v, and the library to %v", seed, before, result.Value,
				want)
		}
		if after, _ := json.Marshal([]any{m.base, m.patches}); string(after) != string(before) {
			t.Fatalf("seed %d: the inputs changed from\n%s\nto\n%s", seed, before, after)
		}
		found := conflict.Find(result.History)
		differs := false
		fuzz.Permute(order, func(order []int) bool {
			other, err := m.apply(order)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			differs = differs || !reflect.DeepEqual(other.Value, result.Value)
			return true
		})
		if differs != (len(found) > 0) {
			t.Fatalf("seed %d: %s\nthe order decides: %v, and the overlaps are %v", seed, before,
				differs, found)
		}
		if differs {
			overlaps++
		}
		patches := map[merge.Owner]any{}
		for i, patch := range m.patches {
			patches[merge.Manager(fmt.Sprint("manager-", i))] = patch
		}
		if wrong := origins.Wrong(schema.Open(), m.base, result.Value, result.History,
			patches); wrong != nil {
			t.Fatalf("seed %d: %s\n%s", seed, before, wrong)
		}
		for path, claims := range result.History.All() {
			if len(claims) == 0 || claims[len(claims)-1].Value == nil {
				continue
			}
			if got, ok := jsonAt(result.Value, path); !ok {
				t.Fatalf("seed %d: %s\n%s has claims %v and is not there", seed, before, path,
					claims)
			} else if _, isPresence := claims[len(claims)-1].Value.(merge.Presence); !isPresence &&
				!reflect.DeepEqual(got, claims[len(claims)-1].Value) {
				t.Fatalf("seed %d: %s\n%s is %v, and the last claim is %v", seed, before, path, got,
					claims)
			}
		}
	}
	if overlaps < 2_000 {
		t.Errorf("%d of 20,000 cases have overlaps: too few", overlaps)
	}
}

func upstreamJSON(t *testing.T, m jsonMerging) merge.Object {
	text, err := json.Marshal(m.base)
	if err != nil {
		t.Fatal(err)
	}
	for _, patch := range m.patches {
		data, err := json.Marshal(patch)
		if err != nil {
			t.Fatal(err)
		}
		if text, err = jsonpatch.MergePatch(text, data); err != nil {
			t.Fatal(err)
		}
	}
	var merged merge.Object
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &merged); err != nil {
		t.Fatal(err)
	}
	return merged
}

// jsonAt is the value at a path of keys.
func jsonAt(v any, path fieldpath.Path) (any, bool) {
	for _, step := range path {
		key, _ := step.Key()
		fields, _ := v.(map[string]any)
		in, ok := fields[key]
		if !ok {
			return nil, false
		}
		v = in
	}
	return v, true
}
