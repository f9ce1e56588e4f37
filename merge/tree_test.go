package merge_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainweld/trainweld/merge"
	"github.com/trainweld/trainweld/schema"
)

// TestPatched_Many checks that a field has one history however many fields stand next to it. An
// index finds one of many.
func TestPatched_Many(t *testing.T) {
	for _, n := range []int{30, 31, 32, 33, 34, 35, 70} {
		names := make([]string, n)
		structFields := make([]reflect.StructField, n)
		fields, labels := map[string]any{}, map[string]any{}
		items, set := make([]any, n), make([]any, n)
		for i := range n {
			names[i] = fmt.Sprintf("n%03d", i)
			structFields[i] = reflect.StructField{
				Name: fmt.Sprintf("N%03d", i), Type: reflect.TypeFor[string](),
				Tag: reflect.StructTag(fmt.Sprintf(`json:"%s,omitempty"`, names[i]))}
			fields[names[i]], labels[names[i]] = "a", "a"
			items[i], set[i] = map[string]any{"name": names[i], "value": "a"}, names[i]
		}
		values := reflect.StructOf([]reflect.StructField{
			{Name: "Fields", Type: reflect.StructOf(structFields), Tag: `json:"fields"`},
			{Name: "Labels", Type: reflect.TypeFor[map[string]string](),
				Tag: `json:"labels,omitempty"`},
			{Name: "Entries", Type: reflect.TypeFor[map[string]*string](),
				Tag: `json:"entries,omitempty"`},
			{Name: "Items", Type: reflect.TypeFor[[]writtenItem](),
				Tag: `json:"items,omitempty" patchStrategy:"merge" patchMergeKey:"name"`},
			{Name: "Set", Type: reflect.TypeFor[[]string](),
				Tag: `json:"set,omitempty" patchStrategy:"merge"`},
		})
		plan, err := planForType(values, schema.Rules{})
		if err != nil {
			t.Fatal(err)
		}
		patch := merge.Object{"fields": fields, "labels": labels, "entries": labels, "items": items,
			"set": set}
		// The last patch comes in another order, and adds to each.
		more := fromJSON[merge.Object](asJSON(patch))
		for _, key := range []string{"labels", "entries"} {
			more[key].(map[string]any)["more"] = "b"
		}
		slices.Reverse(more["set"].([]any))
		more["set"] = append(more["set"].([]any), "more")
		more["items"] = append(more["items"].([]any), map[string]any{"name": "more", "value": "b"})
		result := applied(t, plan, nil,
			[]merge.Patch{{Manager: "one", Value: &patch}, {Manager: "two", Value: &patch},
				{Manager: "three", Value: &more}})
		want := map[string]string{}
		three := ` one="a" two="a" three="a"`
		for _, name := range names {
			want[".fields."+name] = three
			want[`.labels["`+name+`"]`], want[`.entries["`+name+`"]`] = three, three
			want[`.items[name="`+name+`"]`],
				want[`.items[name="`+name+`"].value`] = ` one=present two=present three=present`,
				three
			want[`.set[="`+name+`"]`] = ` one=present two=present three=present`
		}
		want[`.labels["more"]`], want[`.entries["more"]`], want[`.set[="more"]`] = ` three="b"`,
			` three="b"`, ` three=present`
		want[`.items[name="more"]`], want[`.items[name="more"].value`] = ` three=present`,
			` three="b"`
		got := map[string]string{}
		for path, claims := range result.History.All() {
			line := ""
			for _, c := range claims {
				line += " " + claimText(c)
			}
			if _, again := got[path.String()]; again {
				t.Errorf("%d: %s is there twice", n, path)
			}
			got[path.String()] = line
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%d fields (-want +got):\n%s", n, diff)
		}
	}
}

// TestPatched_Allocations checks that an index of many fields lasts: one more entry costs a
// constant number of allocations.
func TestPatched_Allocations(t *testing.T) {
	plan := must(planFor[written](schema.Rules{}))
	count := func(n int) float64 {
		labels := map[string]any{}
		for i := range n {
			labels[fmt.Sprint("n", i)] = "a"
		}
		patch := merge.Object{"labels": labels}
		layers := []merge.Patch{{Manager: "one", Value: &patch}, {Manager: "two", Value: &patch}}
		return testing.AllocsPerRun(3, func() {
			if _, err := plan.Apply(nil, layers); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := count(200), count(400); many-few > 200*12 {
		t.Errorf("%v allocations for 200 entries, %v for 400", few, many)
	}
}

// TestDisputes_Order shows that a directive reaches the entries of a map in the order of their
// keys.
func TestDisputes_Order(t *testing.T) {
	base := any(fromJSON[*thing](
		`{"labels": {"h": "", "d": "", "a": "", "c": "", "g": "", "b": "", "f": "", "e": ""}}`))
	patch := fromJSON[any](`{"labels": {"$retainKeys": []}}`)
	result := applied(t, must(planForAny(reflect.TypeFor[thing](), schema.Rules{})), &base,
		[]merge.Patch{{Manager: "a", Value: patch}, {Manager: "b", Value: fromJSON[any](
			`{"labels": {"h": "1", "d": "1", "a": "1", "c": "1", "g": "1", "b": "1", "f": "1"}}`)}})
	var got []string
	for _, d := range result.History.Disputes() {
		got = append(got, d.Path.String())
	}
	if !slices.IsSorted(got) || len(got) != 7 {
		t.Errorf("Disputes = %q, want 7 paths in order", got)
	}
}

// TestPatched_EmptyName shows that a field without a name is not one of the fields that a schema
// names, however many are next to it.
func TestPatched_EmptyName(t *testing.T) {
	free := merge.Object{"in": merge.Object{"a": "x"}, "": "y"}
	for i := range 40 {
		free[fmt.Sprint("n", i)] = "z"
	}
	patch := merge.Object{"free": free}
	result := applied(t, objectPlan(shapesSchema), nil,
		[]merge.Patch{{Manager: "a", Value: &patch}, {Manager: "b", Value: &patch}})
	lines := slices.DeleteFunc(claimsOf(result.History), func(line string) bool {
		return strings.Contains(line, "z")
	})
	if diff := cmp.Diff([]string{`.free[""] a="y" b="y"`, `.free.in.a a="x" b="x"`},
		lines); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

// TestDisputes_Allocations checks that the work for a field which one manager empties grows with
// the managers that set something in it, and not with their square.
func TestDisputes_Allocations(t *testing.T) {
	plan := must(planFor[thing](schema.Rules{}))
	count := func(n int) float64 {
		patches := []merge.Patch{{Manager: "none", Value: merge.Object{"inner": nil}}}
		for i := range n {
			patches = append(patches, merge.Patch{Manager: fmt.Sprint("m", i),
				Value: merge.Object{"inner": merge.Object{"name": fmt.Sprint(i)}}})
		}
		result, err := plan.Apply(nil, patches)
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(1, func() {
			if len(result.History.Disputes()) != 1 {
				t.Error("there is not one dispute")
			}
		})
	}
	if few, many := count(20), count(80); many > 6*few {
		t.Errorf("%v allocations for 20 managers, %v for 80", few, many)
	}
}
