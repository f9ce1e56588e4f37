package crds_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/fuzz"
	"github.com/trainweld/trainweld/fuzz/origins"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// compare compares the outcomes of a pair, and reports whether both sides merge it.
func (d *definition) compare(t testing.TB, p pair) bool {
	t.Helper()
	want := d.upstream(p)
	if want.rejected < 0 && !p.updated &&
		strings.Contains(fmt.Sprint(want.err), "duplicate entries") {
		p.updated = true // nobody can apply such a base, and a live object may be one
		want = d.upstream(p)
	}
	got, result := d.ours(t, p)
	if want.err == nil &&
		strings.Contains(fmt.Sprint(got.err), "must be a scalar, as a merge key") {
		return false // docs/differences.md, "Managed fields"
	}
	inputs := append([]merge.Object{p.base}, p.patches...)
	if wrong := (*merge.TypeError)(nil); (want.err == nil || want.rejected > got.rejected) &&
		errors.As(got.err, &wrong) && d.refusesBy(inputs[got.rejected+1], true) {
		d.refused++
		return false // the field manager takes some types that validation refuses afterwards
	}
	if want.err == nil && got.err == nil {
		if i := slices.IndexFunc(inputs, d.refuses); i >= 0 {
			t.Fatalf("of %s: validation refuses a type in %s, and we do not: %s", d.name,
				canonical(inputs[i]), d.reason)
		}
	}
	if difference := compare(want, got, p.updated); difference != "" {
		t.Fatalf("of %s:\nbase %s\npatches %s\n%s", d.name, canonical(p.base), canonical(p.patches),
			difference)
	}
	if result != nil {
		d.laws(t, p, result)
	}
	return want.err == nil
}

// laws checks the laws of every merge. The result shares no memory with the inputs, and is the same
// again. A conflict is reported if and only if the order of two patches matters.
func (d *definition) laws(t testing.TB, p pair, result *merge.Result[merge.Object]) {
	t.Helper()
	base := d.whole(p.base)
	var layers []merge.Patch
	for i := range p.patches {
		layers = append(layers, merge.Patch{Manager: manager(i), Value: &p.patches[i]})
	}
	inputs := canonical([]any{base, p.patches})
	again, err := merge.Apply(d.nullable, base, layers)
	if err != nil || canonical(again.Value) != canonical(result.Value) {
		t.Fatalf("of %s: another merge: %v\n%s\nbefore\n%s", d.name, err, canonical(again),
			canonical(result.Value))
	}
	patches := map[merge.Owner]any{}
	for i, patch := range p.patches {
		patches[merge.Manager(manager(i))] = patch
	}
	if wrong := origins.Wrong(d.typ, base, result.Value, result.History, patches); wrong != nil {
		t.Fatalf("of %s:\nbase %s\npatches %s\n%s", d.name, canonical(base), canonical(p.patches),
			strings.Join(wrong, "\n"))
	}
	fuzz.Scribble(again.Value)
	if now := canonical([]any{base, p.patches}); now != inputs {
		t.Fatalf("of %s: the result shares memory with\n%s", d.name, inputs)
	}
	if len(layers) < 2 {
		return
	}
	layers = layers[:2]
	one, err := merge.Apply(d.nullable, base, layers)
	if err != nil {
		t.Fatal(err)
	}
	layers[0], layers[1] = layers[1], layers[0]
	other, err := merge.Apply(d.nullable, base, layers)
	if err != nil {
		t.Fatal(err)
	}
	differs := canonical(unordered(d.typ, one.Value)) != canonical(unordered(d.typ, other.Value))
	if found := conflict.Find(one.History); (len(found) > 0) != differs {
		t.Fatalf("of %s: conflicts %v, and the order matters is %t:\nbase %s\npatches %s\n%s\n%s",
			d.name, found, differs, canonical(base), canonical(p.patches[:2]), canonical(one.Value),
			canonical(other.Value))
	}
}

// whole is a base of the definition's kind.
func (d *definition) whole(base merge.Object) merge.Object {
	base = deepCopy(base)
	base["apiVersion"], base["kind"] = d.kind.GroupVersion().String(), d.kind.Kind
	return base
}

// unordered is a value whose list-maps and sets are sorted.
func unordered(t *schema.Type, v any) any {
	for t.Kind == schema.Untyped {
		switch v.(type) {
		case map[string]any:
			t = t.Object
		case []any:
			t = t.List
		default:
			return v
		}
	}
	switch v := v.(type) {
	case map[string]any:
		if t.Kind == schema.Atomic {
			return v
		}
		out := map[string]any{}
		for name, value := range v {
			of := t.Elem
			if f := t.Field(name); f != nil {
				of = f.Type
			}
			out[name] = unordered(of, value)
		}
		return out
	case []any:
		if t.Kind == schema.Atomic {
			return v
		}
		texts := make([]string, len(v))
		for i, item := range v {
			texts[i] = canonical(unordered(t.Elem, item))
		}
		slices.Sort(texts)
		return texts
	}
	return v
}

// TestServerSideApplyOfRandomSchemas is TestServerSideApply for schemas that nobody has written
// yet.
func TestServerSideApplyOfRandomSchemas(t *testing.T) {
	seed := testenv.NumberOr(t, "TRAINWELD_SEED", 1)
	s := &schemas{Rand: rand.New(rand.NewPCG(seed, 1))}
	for i := range testenv.NumberOr(t, "TRAINWELD_SCHEMAS", 2000) / 100 {
		data := wrapped(s.root())
		if isRefused(data) {
			continue // the default of a key is not of its type
		}
		d, err := compile(string(data), data)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		g := &generator{Rand: rand.New(rand.NewPCG(seed, i)), root: d.typ}
		for range 30 {
			d.compare(t, g.pair())
		}
	}
}

// TestServerSideApply compares forced applies: the object, the fields of each manager, and the
// rejected patches.
func TestServerSideApply(t *testing.T) {
	seed := testenv.NumberOr(t, "TRAINWELD_SEED", 1)
	all := files(t)
	cases := int(testenv.NumberOr(t, "TRAINWELD_OBJECTS", 1500)) / len(all)
	for name, data := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := compile(name, data)
			if err != nil {
				t.Fatal(err)
			}
			g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(len(data)))), root: d.typ}
			rejected, merged := 0, 0
			for range cases {
				if d.compare(t, g.pair()) {
					merged++
				} else {
					rejected++
				}
			}
			t.Logf("%d merged, %d refused, %d of them for the types alone", merged, rejected,
				d.refused)
		})
	}
}
