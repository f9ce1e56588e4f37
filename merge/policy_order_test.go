package merge_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestOrder: an order permutes items and changes no value.
func TestOrder(t *testing.T) {
	plan := podPlan(t)
	forPods(t, true, func(c podCase) string {
		upstream, err := plan.Apply(&c.base, c.patches)
		based, other := plan.Apply(&c.base, c.patches, options{Order: "base"}.list()...)
		if (err == nil) != (other == nil) {
			return fmt.Sprintf("errors %v and %v", err, other)
		}
		if err != nil {
			return ""
		}
		return gocmp.Diff(unordered(plan.Type(), treeOf(upstream.Value)),
			unordered(plan.Type(), treeOf(based.Value)))
	})
}

// TestOrder_Base: the items of the base come first, in their order. New ones follow in the order in
// which the patches name them.
func TestOrder_Base(t *testing.T) {
	plan := podPlan(t)
	forPods(t, false, func(c podCase) string {
		layers, nulls := []any{treeOf(c.base)}, false
		for _, p := range c.patches {
			layers, nulls = append(layers, treeOf(p.Value)), nulls ||
				strings.Contains(inJSON(p.Value), "null")
		}
		for _, o := range []options{{}, {Precedence: "first"}, {Managers: []string{"m1"}}} {
			o.Order = "base"
			result, err := plan.Apply(&c.base, c.patches, o.list()...)
			if err != nil || nulls && o.Precedence+string(strings.Join(o.Managers, "")) != "" {
				return ""
			}
			if broken := firstNamed(plan.Type(), treeOf(result.Value), layers); broken != "" {
				return fmt.Sprintf("%+v: %s", o, broken)
			}
		}
		return ""
	})
}

// firstNamed reports items of a list-map that are not in the order in which the layers name them
// first. A null forgets the earlier layers.
func firstNamed(t *schema.Type, got any, layers []any) string {
	switch got := got.(type) {
	case map[string]any:
		for name, value := range got {
			f := t.Field(name)
			if f == nil {
				continue
			}
			var within []any
			for _, layer := range layers {
				if layer == nil {
					within = nil
					continue
				}
				if of, isThere := layer.(map[string]any)[name]; isThere {
					within = append(within, of)
				}
			}
			if broken := firstNamed(f.Type, value, within); broken != "" {
				return broken
			}
		}
	case []any:
		if t.Kind != schema.ListMap {
			return ""
		}
		rank, items := map[string]int{}, map[string][]any{}
		for _, layer := range layers {
			if layer == nil {
				rank, items = map[string]int{}, map[string][]any{}
				continue
			}
			for _, item := range layer.([]any) {
				key := keyIn(t, item)
				if _, isNamed := rank[key]; !isNamed {
					rank[key] = len(rank)
				}
				items[key] = append(items[key], item)
			}
		}
		last := -1
		for _, item := range got {
			key := keyIn(t, item)
			if rank[key] < last {
				return fmt.Sprintf("%s: item %s is not at its place in %s", t, key, inJSON(got))
			}
			last = rank[key]
			if broken := firstNamed(t.Elem, item, items[key]); broken != "" {
				return broken
			}
		}
	}
	return ""
}

// TestOrder_Long: long lists, which are indexed, keep their order as well. So do sets and the lists
// of a definition.
func TestOrder_Long(t *testing.T) {
	names := func(prefix string, n int) (list []any, set []any) {
		for i := range n {
			list, set = append(list, merge.Object{"name": fmt.Sprint(prefix, i)}),
				append(set, fmt.Sprint(prefix, i))
		}
		return list, set
	}
	old, oldSet := names("b", 40)
	var patches []merge.Patch
	for i := range 4 {
		added, addedSet := names(fmt.Sprint("p", i, "-"), 3)
		patch := merge.Object{"items": append(added, old[20-i], merge.Object{"name": "p0-1"}),
			"marks": append(addedSet, oldSet[9])}
		if i == 0 {
			patch["items"] = added
		}
		patches = append(patches, merge.Patch{Manager: fmt.Sprint(i), Value: &patch})
	}
	base := merge.Object{"items": old, "marks": oldSet}
	typed, err := planForType(reflect.TypeFor[lists](), schema.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	defined := objectPlan(`{type: object, properties: {
		items: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}}}},
		marks: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}`)
	for _, plan := range []plan[merge.Object]{typed, defined} {
		result, err := plan.Apply(&base, patches, options{Order: "base"}.list()...)
		if err != nil {
			t.Fatal(err)
		}
		wantSet, list := slices.Clone(oldSet), slices.Clone(old)
		for i := range 4 {
			added, addedSet := names(fmt.Sprint("p", i, "-"), 3)
			list, wantSet = append(list, added...), append(wantSet, addedSet...)
		}
		if d := gocmp.Diff(merge.Object{"items": list, "marks": wantSet}, result.Value); d != "" {
			t.Errorf("order (-want +got):\n%s", d)
		}
	}
}
