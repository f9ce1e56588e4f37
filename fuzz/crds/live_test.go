package crds_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/merge"
)

// step is an apply or an update of a live object by a manager.
type step struct {
	manager string
	update  bool
	object  merge.Object
}

// layered is the step as a patch.
func (s step) layered() merge.Patch {
	l := merge.Patch{Manager: s.manager}
	if s.update {
		l.Value = merge.JSONPatch{{Op: "replace", Value: s.object}}
	} else {
		l.Value = s.object
	}
	return l
}

// owners are the sets of an object's managed fields.
func owners(t testing.TB, object merge.Object) map[string]*fieldpath.Set {
	t.Helper()
	u := unstructured.Unstructured{Object: deepCopy(object)}
	sets := map[string]*fieldpath.Set{}
	for _, entry := range u.GetManagedFields() {
		name := fmt.Sprint(entry.Manager, " ", entry.Operation, " ", entry.APIVersion, " ",
			entry.FieldsType)
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
			return fmt.Sprintf("%s owns upstream, and not with us:\n%s\nand with us alone:\n%s",
				name, ws[name].Difference(gs[name]), gs[name].Difference(ws[name]))
		}
	}
	for name := range gs {
		if ws[name] == nil {
			return fmt.Sprintf("upstream lacks the owner %s of\n%s", name, gs[name])
		}
	}
	return ""
}

// causes are the conflicts of an apply without force: each manager that loses, and the one that
// wins, with the field.
func causes(err error, winner string) map[string]bool {
	found := map[string]bool{}
	var status *apierrors.StatusError
	if !errors.As(err, &status) || !apierrors.IsConflict(err) {
		return found
	}
	for _, cause := range status.ErrStatus.Details.Causes {
		text := strings.TrimPrefix(cause.Message, "conflict with ")
		name, rest, _ := strings.Cut(strings.TrimPrefix(text, `"`), `"`)
		if strings.Contains(rest, " using ") {
			name += " (Update)"
		}
		found[name+" "+cause.Field], found[winner+" "+cause.Field] = true, true
	}
	return found
}

// entry is the step to an entry of a map, which upstream writes as a field.
var entry = regexp.MustCompile(`\["(?:[^"\\]|\\.)*"\]`)

// overlaps are the conflicts that a merge reports, in the form of causes.
func overlaps(result *merge.Result[merge.Object]) map[string]bool {
	found := map[string]bool{}
	for _, c := range conflict.Find(result.History) {
		if c.Kind != conflict.Overlap {
			continue
		}
		for _, claim := range c.Claims {
			name, isManager := claim.Owner.Manager()
			if !isManager {
				name = "before-first-apply (Update)"
			}
			found[name+" "+entry.ReplaceAllStringFunc(c.Path.String(), func(key string) string {
				text, _ := strconv.Unquote(key[1 : len(key)-1])
				return "." + text
			})] = true
		}
	}
	return found
}

// tally counts the conflicts that upstream and we report.
type tally struct{ steps, both, missed, spurious atomic.Int64 }

func (c *tally) compare(want, got map[string]bool) bool {
	c.steps.Add(1)
	equal := true
	for name := range want {
		if got[name] {
			c.both.Add(1)
		} else {
			c.missed.Add(1)
			equal = false
		}
	}
	for name := range got {
		if !want[name] {
			c.spurious.Add(1)
			equal = false
		}
	}
	return equal
}

func logSteps(t testing.TB, all []step) {
	t.Helper()
	for i, s := range all {
		t.Logf("step %d: %s, update %t: %s", i, s.manager, s.update, canonical(s.object))
	}
}

// stored is a value without empty objects and lists, which Go types omit. An item stays.
func stored(v any) any {
	switch v := v.(type) {
	case merge.Object:
		out := merge.Object{}
		for name, value := range v {
			if name != "managedFields" {
				value = stored(value)
			}
			if !isVoid(value) {
				out[name] = value
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = stored(v[i])
		}
		return out
	}
	return v
}

func isVoid(v any) bool {
	switch v := v.(type) {
	case merge.Object:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil
}

// unowned is an object without its managed fields.
func unowned(object merge.Object) merge.Object {
	object = deepCopy(object)
	if metadata, ok := object["metadata"].(merge.Object); ok {
		delete(metadata, "managedFields")
	}
	return object
}

// sequence compares the owners of a live object with upstream's after each of several steps. It
// also compares the owners of all applies at once.
func (d *definition) sequence(t testing.TB, g *generator, count *tally) (steps int) {
	m := managedfieldstest.NewFakeFieldManager(d.converter, d.kind)
	g.seed, g.wild = g.Uint64(), 0
	live := merge.Object{"apiVersion": d.kind.GroupVersion().String(), "kind": d.kind.Kind}
	start := deepCopy(live)
	server := &unstructured.Unstructured{Object: deepCopy(live)}
	var all []step
	unownedOnce, isStored := false, false
	total := map[string]bool{}
	for range 3 + g.IntN(6) {
		s := step{manager: pick(g, "a", "b", "c"), update: g.chance(0.3), object: g.object()}
		switch {
		case g.chance(0.3) && len(all) > 0:
			s.object = thinned(g, all[g.IntN(len(all))].object).(merge.Object)
		case s.update && g.chance(0.7):
			s.object = thinned(g, unowned(live)).(merge.Object)
		}
		if _, err := merge.Apply(d.nullable, nil,
			[]merge.Patch{{Manager: "a", Value: s.object}}); err != nil {
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
		result, err := d.merge(t, live, []merge.Patch{s.layered()}, merge.Live())
		if now := canonical([]any{live, s.object}); now != before {
			t.Fatalf("of %s: the inputs changed:\n%s\n%s", d.name, before, now)
		}
		var upstream error
		var after runtime.Object
		want := map[string]bool{}
		if object := (&unstructured.Unstructured{Object: deepCopy(s.object)}); s.update {
			after, upstream = m.Update(server, object, s.manager)
		} else {
			_, unforced := m.Apply(server, object, s.manager, false)
			want = causes(unforced, s.manager)
			after, upstream = m.Apply(server, object, s.manager, true)
		}
		if (err == nil) != (upstream == nil) {
			t.Fatalf("of %s: upstream %v, we %v:\n%s", d.name, upstream, err, canonical(s.object))
		}
		if err != nil {
			return steps
		}
		all = append(all, s)
		server = after.(*unstructured.Unstructured)
		if difference := differ(t, server.Object, result.Value); difference != "" {
			logSteps(t, all)
			t.Errorf("of %s, seed %d, before %s\n%s", d.name, g.seed, canonical(live), difference)
			return steps
		}
		got := overlaps(result)
		maps.Copy(total, want)
		if winner := merge.Manager(s.manager); slices.ContainsFunc(conflict.Find(result.History),
			func(c conflict.Conflict) bool {
				return c.Kind == conflict.Overlap && c.Claims[len(c.Claims)-1].Owner != winner
			}) {
			t.Errorf("of %s, seed %d: another manager wins than %s", d.name, g.seed, s.manager)
		}
		if !count.compare(want, got) {
			logSteps(t, all)
			t.Errorf("of %s, seed %d, before %s\nupstream's conflicts %v\nours %v\nafter %s",
				d.name, g.seed, canonical(live), sorted(want), sorted(got),
				canonical(unowned(result.Value)))
		}
		live = result.Value
		steps++
		unownedOnce = unownedOnce || len(owners(t, live)) == 0
		if g.chance(0.1) { // as the API server stores an object of its own kinds
			live, isStored = stored(live).(merge.Object), true
			server = &unstructured.Unstructured{Object: deepCopy(live)}
		}
	}
	if unownedOnce || isStored {
		return steps // the next apply finds another object than one in the same merge
	}
	var layers []merge.Patch
	for _, s := range all {
		layers = append(layers, s.layered())
	}
	result, err := merge.Apply(d.nullable, start, layers, merge.Live())
	if err != nil {
		t.Fatalf("of %s: %v", d.name, err)
	}
	if difference := differ(t, live, result.Value); difference != "" {
		logSteps(t, all)
		t.Errorf("of %s, seed %d, in one merge:\n%s", d.name, g.seed, difference)
	}
	if got := overlaps(result); !count.compare(total, got) {
		logSteps(t, all)
		t.Errorf("of %s, seed %d, in one merge:\nupstream's conflicts %v\nours %v", d.name, g.seed,
			sorted(total), sorted(got))
	}
	return steps
}

// TestManaged compares sequences of applies and updates with an API server's field manager: the
// object, and its managed fields.
func TestManaged(t *testing.T) {
	seed := testenv.NumberOr(t, "TRAINWELD_SEED", 1)
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
	sequences := int(testenv.NumberOr(t, "TRAINWELD_SEQUENCES", 200))/len(kinds) + 1
	count := &tally{}
	t.Cleanup(func() {
		t.Logf("seed %d: %d merges, %d conflicts alike, %d missed, %d that upstream does not report",
			seed, count.steps.Load(), count.both.Load(), count.missed.Load(), count.spurious.Load())
		if !t.Failed() && count.both.Load() < count.steps.Load()/2 {
			t.Errorf("too few conflicts")
		}
	})
	for _, d := range kinds {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(len(d.name)))), root: d.typ}
			steps := 0
			for range sequences {
				steps += d.sequence(t, g, count)
			}
			if steps < 3*sequences {
				t.Errorf("%d steps in %d sequences", steps, sequences)
			}
		})
	}
}
