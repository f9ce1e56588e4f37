package crds_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trainweld/trainweld/merge"
)

// step is an apply or an update of a live object by a manager.
type step struct {
	manager string
	update  bool
	object  merge.Object
}

// layered is the step as a patch.
func (s step) layered() merge.Layered[merge.Object] {
	l := merge.Layered[merge.Object]{Layer: merge.Manager(s.manager)}
	if s.update {
		l.JSON = []merge.Operation{{Op: "replace", Value: s.object}}
	} else {
		l.Patch = &s.object
	}
	return l
}

// owners are the sets of an object's managed fields.
func owners(t testing.TB, object merge.Object) map[string]*fieldpath.Set {
	t.Helper()
	u := unstructured.Unstructured{Object: deepCopy(object)}
	sets := map[string]*fieldpath.Set{}
	for _, entry := range u.GetManagedFields() {
		name := fmt.Sprint(entry.Manager, " ", entry.Operation, " ", entry.APIVersion, " ", entry.FieldsType)
		if sets[name] != nil {
			t.Fatalf("two entries of %s", name)
		}
		sets[name] = &fieldpath.Set{}
		if err := sets[name].FromJSON(bytes.NewReader(entry.FieldsV1.Raw)); err != nil {
			t.Fatal(err)
		}
	}
	return sets
}

// differ says how a live object differs from upstream's, "" for not at all.
func differ(t testing.TB, want, got merge.Object) string {
	ws, gs := owners(t, want), owners(t, got)
	if w, g := canonical(unowned(want)), canonical(unowned(got)); w != g {
		return fmt.Sprintf("upstream's object\n%s\nours\n%s", w, g)
	}
	for _, name := range slices.Sorted(maps.Keys(ws)) {
		if gs[name] == nil {
			return fmt.Sprintf("we lack the owner %s of\n%s", name, ws[name])
		}
		if !ws[name].Equals(gs[name]) {
			return fmt.Sprintf("%s owns upstream, and not with us:\n%s\nand with us alone:\n%s", name, ws[name].Difference(gs[name]), gs[name].Difference(ws[name]))
		}
	}
	for name := range gs {
		if ws[name] == nil {
			return fmt.Sprintf("upstream lacks the owner %s of\n%s", name, gs[name])
		}
	}
	return ""
}

// ownsMissing reports whether upstream lets a manager own a field or item that the object lacks. The manager has applied an empty
// object or item, and all of it is removed. See docs/differences.md, "Managed fields".
func ownsMissing(t testing.TB, object merge.Object) (is bool) {
	for _, set := range owners(t, object) {
		set.Iterate(func(path fieldpath.Path) { is = is || lacks(object, path) })
	}
	return is
}

// lacks reports whether an object has nothing at a path of names and keys.
func lacks(v any, path fieldpath.Path) bool {
	if len(path) == 0 {
		return false
	}
	if name := path[0].FieldName; name != nil {
		object, _ := v.(merge.Object)
		within, has := object[*name]
		return !has || lacks(within, path[1:])
	}
	list, _ := v.([]any)
	return path[0].Key != nil && !slices.ContainsFunc(list, func(item any) bool {
		object, _ := item.(merge.Object)
		for _, key := range *path[0].Key {
			if is, has := object[key.Name]; has && is != key.Value.Unstructured() {
				return false
			}
		}
		return !lacks(item, path[1:])
	})
}

// unowned is an object without its managed fields.
func unowned(object merge.Object) merge.Object {
	object = deepCopy(object)
	if metadata, ok := object["metadata"].(merge.Object); ok {
		delete(metadata, "managedFields")
	}
	return object
}

// sequence compares the owners of a live object with upstream's after each of several steps. It also compares the owners of all
// applies at once.
func (d *definition) sequence(t testing.TB, g *generator) (steps int) {
	m := managedfieldstest.NewTestFieldManager(d.converter, d.kind)
	g.seed, g.wild = g.Uint64(), 0
	live := merge.Object{"apiVersion": d.kind.GroupVersion().String(), "kind": d.kind.Kind}
	start := deepCopy(live)
	var all []step
	unownedOnce := false
	for range 3 + g.IntN(6) {
		s := step{manager: pick(g, "a", "b", "c"), update: g.chance(0.3), object: g.object()}
		switch {
		case g.chance(0.3) && len(all) > 0:
			s.object = thinned(g, all[g.IntN(len(all))].object).(merge.Object)
		case s.update && g.chance(0.7):
			s.object = thinned(g, unowned(live)).(merge.Object)
		}
		if _, err := d.plan.Apply(nil, []merge.Layered[merge.Object]{{Patch: &s.object}}, merge.Options{}); err != nil {
			s.object = g.object() // two items lack their keys
		}
		if s.update && g.chance(0.2) {
			twice(g, s.object)
		}
		s.object["apiVersion"], s.object["kind"] = start["apiVersion"], start["kind"]
		meta, _ := s.object["metadata"].(merge.Object)
		if meta == nil {
			meta = merge.Object{}
		}
		delete(meta, "uid") // the server tracks no update of an object that has one and no owners
		meta["name"] = "it"
		s.object["metadata"] = meta
		before := canonical([]any{live, s.object})
		result, err := d.plan.Apply(&live, []merge.Layered[merge.Object]{s.layered()}, merge.Options{Managed: true})
		if now := canonical([]any{live, s.object}); now != before {
			t.Fatalf("of %s: the inputs changed:\n%s\n%s", d.name, before, now)
		}
		var upstream error
		if object := (&unstructured.Unstructured{Object: deepCopy(s.object)}); s.update {
			upstream = m.Update(object, s.manager)
		} else {
			upstream = m.Apply(object, s.manager, true)
		}
		if (err == nil) != (upstream == nil) {
			t.Fatalf("of %s: upstream %v, we %v:\n%s", d.name, upstream, err, canonical(s.object))
		}
		if err != nil {
			return steps
		}
		all = append(all, s)
		if ownsMissing(t, m.Live().(*unstructured.Unstructured).Object) {
			return steps
		}
		if difference := differ(t, m.Live().(*unstructured.Unstructured).Object, result.Value); difference != "" {
			for i, s := range all {
				t.Logf("step %d: %s, update %t: %s", i, s.manager, s.update, canonical(s.object))
			}
			t.Fatalf("of %s, before %s\n%s", d.name, canonical(live), difference)
		}
		live = result.Value
		steps++
		unownedOnce = unownedOnce || len(owners(t, live)) == 0
	}
	if unownedOnce {
		return steps // the next apply finds an object without owners, unlike one in the same merge
	}
	var layers []merge.Layered[merge.Object]
	for _, s := range all {
		layers = append(layers, s.layered())
	}
	result, err := d.plan.Apply(&start, layers, merge.Options{Managed: true})
	if err != nil {
		t.Fatalf("of %s: %v", d.name, err)
	}
	if difference := differ(t, live, result.Value); difference != "" {
		for i, s := range all {
			t.Logf("step %d: %s, update %t: %s", i, s.manager, s.update, canonical(s.object))
		}
		t.Fatalf("of %s, in one merge:\n%s", d.name, difference)
	}
	return steps
}

// TestManaged compares sequences of applies and updates with an API server's field manager: the object, and its managed fields.
func TestManaged(t *testing.T) {
	seed := number(t, "TRAINWELD_SEED", 1)
	var kinds []*definition
	for of, data := range documents(t) {
		kinds = append(kinds, builtIn(t, of, data)...)
	}
	for name, data := range files(t) {
		d, err := compile(name, data)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, d)
	}
	sequences := int(number(t, "TRAINWELD_SEQUENCES", 200))/len(kinds) + 1
	for _, d := range kinds {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(len(d.name)))), root: d.typ}
			steps := 0
			for range sequences {
				steps += d.sequence(t, g)
			}
			if steps < 3*sequences {
				t.Errorf("%d steps in %d sequences", steps, sequences)
			}
		})
	}
}
